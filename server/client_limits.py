"""The settings that bound what clients may send, hold and ask for; part of ``Settings``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings

from schema.request import MOST_VALUES
from server.setting_values import directory, switch


class ClientLimits(BaseSettings):
    """What one client, or all of them together, may take of the server."""

    max_request_bytes: int = Field(
        default=8 * 1024 * 1024,
        ge=1024,
        description="Largest body of an HTTP request; a larger one is answered with 413 (bytes).",
    )
    max_request_values: int = Field(
        default=MOST_VALUES,
        ge=1000,
        description="Most values of JSON in one request, counted by commas and opening brackets, "
        "those within texts too: in memory each takes up to a hundred times its size. More is "
        "refused with 400, over WebSocket by closing with 4400 (values).",
    )
    max_body_bytes: int = Field(
        default=64 * 1024 * 1024,
        ge=1024 * 1024,
        description="Most that all requests together may hold that are being received or answered, "
        "the first 64 KiB of each aside; as much again for messages over WebSocket. More is "
        "refused with TOO_MANY_REQUESTS, over WebSocket by closing with 1013 (bytes).",
    )
    request_head_timeout_ms: int = Field(
        default=15_000,
        ge=100,
        le=600_000,
        description="Time within which a client that has connected must have sent the head of a "
        "request; then the connection is closed (ms).",
    )
    request_body_timeout_ms: int = Field(
        default=30_000,
        ge=100,
        le=3_600_000,
        description="Time within which the body of a request must have come, 408 after it (ms).",
    )
    keep_alive_s: int = Field(
        default=5,
        ge=1,
        le=600,
        description="How long a connection over HTTP stays open between two requests (seconds).",
    )
    stalled_client_ms: int = Field(
        default=60_000,
        ge=100,
        le=3_600_000,
        description="How long a client may take nothing of what was sent to it; then its "
        "connection is closed, where the system can tell (ms).",
    )
    connection_init_timeout_ms: int = Field(
        default=10_000,
        ge=100,
        le=600_000,
        description="How long a WebSocket may stay without `connection_init`; then it is closed "
        "with 4408 (ms).",
    )
    max_connections: int = Field(
        default=4000,
        ge=10,
        description="Most connections of clients, of any kind; another one is answered with 503 "
        "(connections).",
    )
    max_websockets: int = Field(
        default=2000,
        ge=1,
        description="Most WebSockets; the handshake of another one is answered with 429 "
        "(connections).",
    )
    max_subscriptions: int = Field(
        default=10_000,
        ge=1,
        description="Most subscriptions that run at once, over all connections (subscriptions).",
    )
    max_operations: int = Field(
        default=1000,
        ge=1,
        description="Most queries and mutations that run or wait at once, over all connections; "
        "another one is refused with TOO_MANY_REQUESTS, over HTTP with 429 (operations).",
    )
    max_operations_per_connection: int = Field(
        default=500,
        ge=1,
        description="Most operations of any kind that run at once over one WebSocket (operations).",
    )
    operation_timeout_ms: int = Field(
        default=10_000,
        ge=10,
        le=3_600_000,
        description="Longest that a query may take, or a frame of a subscription; then it is "
        "SESSION_QUERY_ABORTED and its work stops. A mutation begins no further write after it, "
        "and finishes what has begun (ms).",
    )
    max_operation_cost: int = Field(
        default=200_000,
        ge=1000,
        description="Highest cost that an operation may be estimated at before it runs: about the "
        "number of fields that its answer can have. A dearer one is COST_LIMIT_EXCEEDED (cost).",
    )
    max_running_cost: int = Field(
        default=400_000,
        ge=1000,
        description="Highest cost of all operations together that run at once, those that cost at "
        "most 1000 aside; others wait their turn, as long as operation_timeout_ms allows (cost).",
    )
    max_answer_bytes: int = Field(
        default=64 * 1024 * 1024,
        ge=64 * 1024,
        description="Most bytes of events that one operation may take, counted when they are read "
        "and for each field that shows them; then its further fields are COST_LIMIT_EXCEEDED. Also "
        "the longest answer with events (bytes).",
    )
    max_running_bytes: int = Field(
        default=256 * 1024 * 1024,
        ge=1024 * 1024,
        description="Most bytes of events that all operations may hold together until their "
        "answers are sent, the first 64 KiB of each aside; more is TOO_MANY_REQUESTS (bytes).",
    )
    documents: Literal["any", "trusted"] = Field(
        default="any",
        description="Which documents may be run: any, or only those of trusted_documents.",
    )
    trusted_documents: Annotated[Path | None, BeforeValidator(directory)] = Field(
        default=None,
        description="Documents that clients may name by `documentId` instead of sending them: a "
        "file in JSON whose keys are `sha256:` and the digest of the text in hexadecimal, or a "
        "folder of `.graphql` files. Read when the server starts.",
    )
    introspection: Annotated[bool, BeforeValidator(switch)] = Field(
        default=True,
        description="Whether clients may ask for the schema (`__schema`, `__type`): on or off.",
    )
    graphiql: Annotated[bool, BeforeValidator(switch)] = Field(
        default=True,
        description="Whether GraphiQL is served at `/`: on or off.",
    )
    max_query_chars: int = Field(
        default=100_000,
        ge=1000,
        description="Longest text of one GraphQL document; long values belong into variables "
        "(characters).",
    )
    max_query_comparisons: int = Field(
        default=5000,
        ge=100,
        description="Most pairs of fields in one GraphQL document that answer under the same name "
        "and must be compared to be merged (pairs).",
    )
    max_query_tokens: int = Field(
        default=5000, ge=100, description="Most tokens in one GraphQL document (tokens)."
    )
    max_query_depth: int = Field(
        default=25,
        ge=5,
        description="Deepest nesting of fields in one GraphQL operation, introspection aside "
        "(levels).",
    )
    max_query_aliases: int = Field(
        default=200,
        ge=0,
        description="Most aliased fields in one GraphQL operation, each use of a fragment counted "
        "(aliases).",
    )
