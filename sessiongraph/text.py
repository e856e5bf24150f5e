"""Semantic text: the words of an event that a person or a search would look for.

One rule for each type, here and nowhere else: the text scan, every index and the documents of a
session all use it (query.md, "What can be searched"). Parts are trimmed, blank ones dropped, the
rest joined by newlines. An event without text is no document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from sessiongraph.event import SessionEvent
from sessiongraph.payloads import (
    Block,
    Data,
    content_of,
    result_error,
    turn_end_error,
    turn_end_reason,
)

_TURN_ENDS_WITH_TEXT: Final = frozenset(
    {"error", "aborted", "max-tokens", "interrupted", "blocked"}
)
_BLOCKING_DECISIONS: Final = frozenset({"block", "deny"})


def semantic_text(event: SessionEvent) -> str:
    """The searchable text of an event, empty when it has none."""
    parts_of = _PARTS.get(event.type)
    if parts_of is None or not isinstance(event.data, dict):
        return ""
    trimmed = (part.strip() for part in parts_of(event.data) if isinstance(part, str))
    return "\n".join(part for part in trimmed if part)


def _user_message(data: Data) -> Iterator[Any]:
    for block in content_of("user/message", data):
        yield from _block_parts(block)


def _assistant_message(data: Data) -> Iterator[Any]:
    for block in content_of("assistant/message", data):
        yield from _block_parts(block)


def _tool_call(data: Data) -> Iterator[Any]:
    yield data.get("name")
    yield data.get("arguments")


def _tool_result(data: Data) -> Iterator[Any]:
    for block in content_of("tool/result", data):
        yield from _block_parts(block)
    yield from result_error(data)


def _block_parts(block: Block) -> Iterator[Any]:
    if not isinstance(block, dict):
        return
    kind = block.get("type")
    if kind in ("text", "reasoning"):
        yield block.get("text")
    elif kind == "tool-call":
        yield block.get("name")
        yield block.get("arguments")
    elif kind == "tool-result" and isinstance(block.get("content"), list):
        for inner in block["content"]:
            yield from _block_parts(inner)


def _todo_write(data: Data) -> Iterator[Any]:
    todos = data.get("todos")
    for item in todos if isinstance(todos, list) else ():
        if isinstance(item, dict):
            yield item.get("status")
            yield item.get("content")


def _turn_end(data: Data) -> Iterator[Any]:
    reason = turn_end_reason(data)
    if reason in _TURN_ENDS_WITH_TEXT:
        yield reason
        yield turn_end_error(data)


def _hook_result(data: Data) -> Iterator[Any]:
    decision = data.get("decision")
    if isinstance(decision, str) and decision in _BLOCKING_DECISIONS:
        yield decision
        yield data.get("stderrSummary")


def _retry(data: Data) -> Iterator[Any]:
    failure = data.get("failure")
    yield failure.get("message") if isinstance(failure, dict) else failure


def _command_done(data: Data) -> Iterator[Any]:
    if data.get("kind") == "error":
        yield data.get("text")
    yield from _error(data)


def _error(data: Data) -> Iterator[Any]:
    error = data.get("error")
    yield error.get("message") if isinstance(error, dict) else error


_PARTS: Final[dict[str, Callable[[Data], Iterator[Any]]]] = {
    "user/message": _user_message,
    "assistant/message": _assistant_message,
    "tool/call": _tool_call,
    "tool/result": _tool_result,
    "todo/write": _todo_write,
    "turn/end": _turn_end,
    "hook/result": _hook_result,
    "llm/retry": _retry,
    "command/done": _command_done,
    "compaction/end": _error,
}

SEMANTIC_TYPES: Final = frozenset(_PARTS)
"""The only event types that can have text."""
