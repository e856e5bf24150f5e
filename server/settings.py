"""The settings of one server: every knob of the product, typed, in one object.

A value comes from the first of these that has it: the command line, the environment
(``SESSIONGRAPH_`` and the key in capitals), a file in TOML, the default below. The file is the one
named by ``--config``, else ``sessiongraph.toml`` in the data directory when there is one. Keys are
flat and spelled alike everywhere. A key that nobody knows is refused, never ignored, and the
refusal names the nearest key that exists: a misspelt limit must not be a limit that is off.

``docs/configuration.md`` is written from the fields of :class:`Settings` by
:mod:`server.configuration_document`.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import platformdirs
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)
from typing_extensions import override

from schema.request import MOST_VALUES
from server.web_addresses import Authority, Origin
from sessiongraph.errors import InvalidConfig
from sessiongraph.references.errors import InvalidReferenceConfig

ENVIRONMENT_PREFIX: Final = "SESSIONGRAPH_"
CONFIGURATION_FILE: Final = "sessiongraph.toml"

NOT_SETTINGS: Final = frozenset({"SESSIONGRAPH_RECORDINGS", "SESSIONGRAPH_TEST_PROFILE"})
"""Variables with our prefix that are no settings: they steer the project's own tests."""


_OF_REFERENCES: Final = frozenset({"max_references", "max_reference_bytes", "candidate_limit"})
"""Settings whose refusal has a public code of its own."""


def default_data_directory() -> Path:
    """The user's data directory for this program, as the platform has it."""
    return Path(platformdirs.user_data_dir("sessiongraph", appauthor=False))


def _directory(value: object) -> object:
    """A path as typed by a person: not blank, ``~`` meant as the home directory."""
    if isinstance(value, str):
        if not value.strip():
            raise ValueError("must not be blank")
        return Path(value).expanduser()
    return value


def _switch(value: object) -> object:
    return {"on": True, "off": False}.get(value, value) if isinstance(value, str) else value


def _host(value: str) -> str:
    if Authority.read(value) is None:
        raise ValueError(f"{value!r} is not as a Host header has it: name, name:port or [v6]:port")
    return value


def _origin(value: str) -> str:
    if Origin.read(value) is None:
        raise ValueError(f"{value!r} is no origin: scheme://host or scheme://host:port")
    return value


class Settings(BaseSettings):
    """Every setting, its type, range and default.

    Made from what it is given alone; :func:`load_settings` looks elsewhere.
    """

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    data_dir: Annotated[Path, BeforeValidator(_directory)] = Field(
        default_factory=default_data_directory,
        description="Directory that holds everything the server keeps. Created for its owner alone "
        "(mode 0700); one server at a time may hold it.",
    )
    host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address or name to listen on; any other than loopback needs `auth` to be on.",
    )
    port: int = Field(
        default=8642, ge=0, le=65535, description="TCP port to listen on; 0 picks a free one."
    )
    auth: Literal["on", "off"] = Field(
        default="on",
        description="Whether a token is needed to ask anything. Off is for loopback alone: every "
        "program of every user of this machine may then read and delete everything.",
    )
    allowed_hosts: tuple[Annotated[str, AfterValidator(_host)], ...] = Field(
        default=(),
        description="Further names of this server, as clients have them in the `Host` header: "
        "`name`, `name:port` or `[v6]:port`. The loopback names and the address that it listens "
        "on, each with its port, are always among them.",
    )
    allowed_origins: tuple[Annotated[str, AfterValidator(_origin)], ...] = Field(
        default=(),
        description="Origins whose web pages may ask this server, besides its own: "
        "`scheme://host[:port]`.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least severe message that is logged, to stderr."
    )
    log_format: Literal["auto", "text", "json"] = Field(
        default="auto",
        description="How messages are written: for people, or as one JSON object a line. `auto` "
        "writes for people on a terminal and JSON anywhere else.",
    )
    slow_operation_ms: int = Field(
        default=1000,
        ge=0,
        le=3_600_000,
        description="From which duration on a query or a mutation is logged at the level `info`; "
        "the others are at the level `debug` (ms).",
    )
    otel_endpoint: str = Field(
        default="",
        pattern=r"^(https?://.+)?$",
        description="Address of a collector of OpenTelemetry that takes OTLP over HTTP; spans go "
        "to `/v1/traces` below it. Needs the extra `otel`. Empty: tracing is off, unless "
        "OpenTelemetry's own `OTEL_EXPORTER_OTLP_ENDPOINT` is set.",
    )
    watch: tuple[Annotated[Path, BeforeValidator(_directory)], ...] = Field(
        default=(),
        description="Folders and files of recorders that are followed while the server runs.",
    )
    idle_close_s: float = Field(
        default=300,
        ge=0.1,
        le=86_400,
        description="Time after which a session whose watched file does not grow is no longer live "
        "(seconds).",
    )
    rescan_s: float = Field(
        default=30,
        ge=1,
        le=86_400,
        description="Time between two looks at all watched files, for what the system did not tell "
        "of (seconds).",
    )
    redact: Annotated[bool, BeforeValidator(_switch)] = Field(
        default=False,
        description="Whether secrets in recorders' files (keys of well-known services, and random "
        "text behind names such as `password`) are replaced before anything is stored: on or off.",
    )
    import_processes: int = Field(
        default=1,
        ge=0,
        le=64,
        description="Most processes that read large files of recorders for imports, so that the "
        "server itself has less to do meanwhile; each takes about 50 MB and ends when it was not "
        "needed for a minute. With 0 the server reads them itself (processes).",
    )
    page_max: int = Field(
        default=200, ge=1, le=10_000, description="Most items in one page of a list (items)."
    )
    read_window_max: int = Field(
        default=50,
        ge=0,
        le=10_000,
        description="Most neighbours on either side of an event window (events).",
    )
    lineage_page_max: int = Field(
        default=2000,
        ge=1,
        le=100_000,
        description="Most descendants in one page of a lineage (sessions).",
    )
    write_delay_ms: int = Field(
        default=50,
        ge=0,
        le=60_000,
        description="Time within which events that were only accepted are written to disk (ms).",
    )
    write_retry_ms: int = Field(
        default=500,
        ge=10,
        le=600_000,
        description="Time after which a write that the disk refused is tried again (ms).",
    )
    unwritten_max_bytes: int = Field(
        default=64 * 1024 * 1024,
        ge=1024,
        description="How much of one live session may wait for the disk: payloads, 1 KiB for each "
        "event and 32 bytes for each of its sources; appends beyond it fail until the disk takes "
        "some (bytes).",
    )
    live_idle_close_s: int = Field(
        default=86_400,
        ge=0,
        description="Time after which a live session that nobody appends to is closed; 0 keeps it "
        "live until it is closed or the server stops (seconds).",
    )
    follow_ring_events: int = Field(
        default=1024,
        ge=1,
        le=1_000_000,
        description="Recent events kept in memory for the followers of one session; a slower "
        "follower is fed from the store (events).",
    )
    corpus_backlog: int = Field(
        default=10_000,
        ge=1,
        le=10_000_000,
        description="Changes of the session list kept in memory for those who come back to follow "
        "it (changes).",
    )
    checkpoint_events: int = Field(
        default=200,
        ge=1,
        le=1_000_000,
        description="Events of one session after which the states of its projections are written, "
        "where any has changed; at the end of a turn they always are (events).",
    )
    checkpoint_ms: int = Field(
        default=5000,
        ge=10,
        le=3_600_000,
        description="Time after which changed states are written at the latest (ms).",
    )
    projection_sessions: int = Field(
        default=500,
        ge=1,
        le=1_000_000,
        description="Sessions whose projections stay in memory while nobody follows them; the "
        "others are opened from their checkpoints (sessions).",
    )
    max_references: int = Field(
        default=3, ge=1, description="Most sessions that one message may reference (sessions)."
    )
    max_reference_bytes: int = Field(
        default=65_536,
        ge=1,
        description="Most of one referenced session that a message carries: UTF-8 of its JSON "
        "object (bytes).",
    )
    candidate_limit: int = Field(
        default=50,
        ge=1,
        description="Most sessions offered while a mention is typed (sessions).",
    )
    search: Literal["on", "off"] = Field(
        default="on",
        description="Whether the server keeps a full-text index and answers searches. Off: no "
        "index is opened or written, and the two searches fail with SESSION_QUERY_SEARCH_DISABLED.",
    )
    snippet_chars: int = Field(
        default=240,
        ge=20,
        le=10_000,
        description="Most characters of the snippet that a search hit shows (code points).",
    )
    search_query_max: int = Field(
        default=16_384,
        ge=16,
        le=1_000_000,
        description="Longest text of a search; a longer one is SESSION_QUERY_INVALID_QUERY "
        "(characters).",
    )
    search_commit_ms: int = Field(
        default=2000,
        ge=10,
        le=600_000,
        description="Time within which new events are written to the index on disk; searches find "
        "them before (ms).",
    )
    search_wait_ms: int = Field(
        default=5000,
        ge=0,
        le=600_000,
        description="How long a search waits for the index to reach what was acknowledged before "
        "it; then it fails with SESSION_QUERY_INDEX_FAILED (ms).",
    )
    search_writer_bytes: int = Field(
        default=64 * 1024 * 1024,
        ge=16 * 1024 * 1024,
        le=4 * 1024 * 1024 * 1024,
        description="Memory for documents on their way into the index (bytes).",
    )
    cursor_ttl_s: float = Field(
        default=300,
        ge=0.01,
        le=86_400,
        description="How long the cursors of a search hold, counted from the page that was first "
        "asked for one (seconds).",
    )
    search_walks_max: int = Field(
        default=64,
        ge=1,
        le=10_000,
        description="Most searches whose cursors hold at the same time; the oldest gives way "
        "(searches).",
    )
    search_walk_hits_max: int = Field(
        default=500_000,
        ge=1000,
        description="Most hits that all these searches together may remember; the oldest gives way "
        "(hits).",
    )
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
    trusted_documents: Annotated[Path | None, BeforeValidator(_directory)] = Field(
        default=None,
        description="Documents that clients may name by `documentId` instead of sending them: a "
        "file in JSON whose keys are `sha256:` and the digest of the text in hexadecimal, or a "
        "folder of `.graphql` files. Read when the server starts.",
    )
    introspection: Annotated[bool, BeforeValidator(_switch)] = Field(
        default=True,
        description="Whether clients may ask for the schema (`__schema`, `__type`): on or off.",
    )
    graphiql: Annotated[bool, BeforeValidator(_switch)] = Field(
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
    shutdown_grace_s: float = Field(
        default=10.0,
        ge=1,
        le=600,
        description="Longest that a clean stop may take; requests that still run when four fifths "
        "of it have passed are cancelled (seconds).",
    )

    @classmethod
    @override
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


def load_settings(
    command_line: Mapping[str, Any] | None = None, config: Path | None = None
) -> Settings:
    """The settings in force.

    command_line: what was asked for there, by key; values of None were not.
    config: the file named by ``--config``.

    Raises:
        InvalidConfig: an unknown key, a value of the wrong type or outside its range, a file that
            cannot be read.
        InvalidReferenceConfig: such a value of a setting of references.
    """
    asked = {key: value for key, value in (command_line or {}).items() if value is not None}
    environment = _environment()
    places = {key: f"{ENVIRONMENT_PREFIX}{key.upper()} (environment)" for key in environment}
    places |= {key: f"--{key.replace('_', '-')}" for key in asked}
    chosen = {**environment, **asked}
    path = config or _validated(chosen, places).data_dir / CONFIGURATION_FILE
    if config is None and not path.is_file():
        return _validated(chosen, places)
    from_file = _file(path)
    if config is None and "data_dir" in from_file:
        raise InvalidConfig(f"{path}: data_dir cannot be set in the data directory itself")
    return _validated(
        {**from_file, **chosen}, {key: f"{path}: {key}" for key in from_file} | places
    )


def _validated(values: Mapping[str, Any], places: Mapping[str, str]) -> Settings:
    """``places``: where each value was found, for the refusal of a bad one."""
    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
        key = str(first["loc"][0])
        refused = InvalidReferenceConfig if key in _OF_REFERENCES else InvalidConfig
        raise refused(f"{places[key]}: {message}") from error


def _environment() -> dict[str, Any]:
    names = {f"{ENVIRONMENT_PREFIX}{key.upper()}" for key in Settings.model_fields} | NOT_SETTINGS
    for name in sorted(os.environ):
        if name.upper().startswith(ENVIRONMENT_PREFIX) and name.upper() not in names:
            raise InvalidConfig(f"environment: {_unknown(name, names - NOT_SETTINGS)}")
    return dict(EnvSettingsSource(Settings)())


def _file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InvalidConfig(f"{path}: there is no such configuration file")
    try:
        values = TomlConfigSettingsSource(Settings, toml_file=path).toml_data
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidConfig(f"{path}: {error}") from error
    for key in values:
        if key not in Settings.model_fields:
            raise InvalidConfig(f"{path}: {_unknown(key, Settings.model_fields)}")
    return values


def _unknown(name: str, known: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return f"there is no setting {name!r}; the nearest is {nearest[0]!r}"
