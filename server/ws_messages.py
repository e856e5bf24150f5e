"""The messages of the subprotocol graphql-transport-ws: how they are read and written.

What a client sends is taken apart strictly: anything that the protocol does not have is a
:class:`Violation`, which ends the connection with a code and a reason.
"""

from __future__ import annotations

import json
from typing import Any, Final

from schema.request import MOST_VALUES, decode_request
from server.refusals import OperationFailed
from sessiongraph import lossless

SUBPROTOCOL: Final = "graphql-transport-ws"

LONGEST_REASON: Final = 123
"""Bytes that the reason for closing a WebSocket may have."""

ACKNOWLEDGED: Final = '{"type":"connection_ack"}'


class Violation(Exception):
    """The client has broken the protocol; the socket closes with this code and reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason.encode("utf-8")[:LONGEST_REASON].decode("utf-8", "ignore")


def read_message(text: str | None, max_values: int = MOST_VALUES) -> dict[str, Any]:
    """The message in a frame; None stands for a frame that is not text.

    max_values: see :func:`schema.request.decode_request`.

    Raises:
        Violation: it is not a JSON object.
    """
    if text is None:
        raise Violation(4400, "messages are text, not bytes")
    try:
        message = decode_request(text.encode("utf-8"), max_values)
    except ValueError as error:
        raise Violation(4400, f"the message cannot be read as JSON: {error}") from error
    if not isinstance(message, dict):
        raise Violation(4400, "a message is a JSON object")
    return message


def id_of(message: dict[str, Any]) -> str:
    """The id of the operation that a message is about.

    Raises:
        Violation: there is none.
    """
    operation_id = message.get("id")
    if not isinstance(operation_id, str) or not operation_id:
        raise Violation(4400, "`id` must be a string that is not empty")
    return operation_id


def payload_of(message: dict[str, Any]) -> dict[str, Any] | None:
    """The payload of a message, None when it has none.

    Raises:
        Violation: it is not an object.
    """
    payload = message.get("payload")
    if payload is not None and not isinstance(payload, dict):
        raise Violation(4400, "`payload` must be an object")
    return payload


def pong(payload: dict[str, Any] | None) -> str:
    """The answer to a ping, with whatever came with it."""
    if payload is None:
        return '{"type":"pong"}'
    return f'{{"type":"pong","payload":{lossless.encode(payload).decode("utf-8")}}}'


def opening_of_next(operation_id: str) -> bytes:
    """What stands before the payload of every result of an operation; ``}`` stands behind it."""
    return f'{{"id":{json.dumps(operation_id)},"type":"next","payload":'.encode("ascii")


def complete(operation_id: str) -> str:
    """The last message of an operation that has ended well."""
    return f'{{"id":{json.dumps(operation_id)},"type":"complete"}}'


def error(operation_id: str, failure: OperationFailed) -> str:
    """The last message of an operation that has failed."""
    errors = failure.errors_text().decode("utf-8")
    return f'{{"id":{json.dumps(operation_id)},"type":"error","payload":{errors}}}'
