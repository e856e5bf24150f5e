"""Semantic text: the words of an event that a person or a search would look for.

One rule for each type, here and nowhere else: the text scan, every index and the documents of a
session all use it (query.md, "What can be searched"). Parts are trimmed, blank ones dropped, the
rest joined by newlines. An event without text is no document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
    if parts_of is None:
        return ""
    data = event.data
    if not isinstance(data, dict):
        return ""
    parts = [part.strip() for part in parts_of(data) if isinstance(part, str)]
    if len(parts) == 1:
        return parts[0]
    return "\n".join([part for part in parts if part])


def _user_message(data: Data) -> Iterable[Any]:
    return _parts_of_blocks(content_of("user/message", data))


def _assistant_message(data: Data) -> Iterable[Any]:
    return _parts_of_blocks(content_of("assistant/message", data))


def _tool_call(data: Data) -> Iterable[Any]:
    return data.get("name"), data.get("arguments")


def _tool_result(data: Data) -> Iterable[Any]:
    return *_parts_of_blocks(content_of("tool/result", data)), *result_error(data)


def _parts_of_blocks(blocks: Sequence[Block]) -> list[Any]:
    parts: list[Any] = []
    for block in blocks:
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind in ("text", "reasoning"):
            parts.append(block.get("text"))
        elif kind == "tool-call":
            parts += (block.get("name"), block.get("arguments"))
        elif kind == "tool-result" and isinstance(block.get("content"), list):
            parts += _parts_of_blocks(block["content"])
    return parts


def _todo_write(data: Data) -> Iterable[Any]:
    todos = data.get("todos")
    for item in todos if isinstance(todos, list) else ():
        if isinstance(item, dict):
            yield item.get("status")
            yield item.get("content")


def _turn_end(data: Data) -> Iterable[Any]:
    reason = turn_end_reason(data)
    if reason in _TURN_ENDS_WITH_TEXT:
        yield reason
        yield turn_end_error(data)


def _hook_result(data: Data) -> Iterable[Any]:
    decision = data.get("decision")
    if isinstance(decision, str) and decision in _BLOCKING_DECISIONS:
        yield decision
        yield data.get("stderrSummary")


def _retry(data: Data) -> Iterable[Any]:
    failure = data.get("failure")
    yield failure.get("message") if isinstance(failure, dict) else failure


def _command_done(data: Data) -> Iterable[Any]:
    if data.get("kind") == "error":
        yield data.get("text")
    yield from _error(data)


def _error(data: Data) -> Iterable[Any]:
    error = data.get("error")
    yield error.get("message") if isinstance(error, dict) else error


_PARTS: Final[dict[str, Callable[[Data], Iterable[Any]]]] = {
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
