"""What the model's raw output says of a step: when its first token came, and what it used.

Generations 0 and 1 log every stream delta as an ``assistant/chunk``; from 2 on the deltas are kept
as a compact ``stream`` inside the ``assistant/message``, or inside the ``assistant/attempt`` of a
try that led to no message (dsh-formats.md). The rest of the units does not know the difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, Final

from sessiongraph.event import DeltaKind, DeltaRun, SessionEvent
from sessiongraph.header import EpochMillis
from sessiongraph.payloads import Usage, is_count, usage_of

Step = tuple[int, int]
"""Turn and step."""

OUTPUT_TYPES: Final = ("assistant/chunk", "assistant/message", "assistant/attempt")


def step_of(data: Any) -> Step | None:
    """The step that a payload belongs to; None when it does not say."""
    if not isinstance(data, dict):
        return None
    turn: Any = data.get("turn")
    step: Any = data.get("step")
    return (turn, step) if is_count(turn) and is_count(step) else None


def usage_in(event: SessionEvent) -> Usage | None:
    """What an event of :data:`OUTPUT_TYPES` reports: the message itself, else its stream's last."""
    data = event.data
    if not isinstance(data, dict):
        return None
    if event.type == "assistant/chunk":
        return _usage_of_chunk(data.get("chunk"))
    if event.type == "assistant/message":
        usage = usage_of(data)
        if usage is not None:
            return usage
    for record in reversed(_records(data)):
        usage = _usage_of_chunk(record.get("chunk"))
        if usage is not None:
            return usage
    return None


def first_token_in(event: SessionEvent) -> EpochMillis | None:
    """When the first token came, as far as an event of :data:`OUTPUT_TYPES` says."""
    data = event.data
    if not isinstance(data, dict):
        return None
    if event.type == "assistant/chunk":
        return event.time if _is_token(data.get("chunk")) else None
    for record in _records(data):
        time = _first_token_of_record(record)
        if time is not None:
            return time
    return None


def first_token_of_run(run: DeltaRun) -> EpochMillis | None:
    """When the first token of a run of deltas came."""
    if run.kind is DeltaKind.TOOL_CALL and run.name is not None:
        return run.time
    return next((time for time, text in zip(run.times(), run.texts, strict=False) if text), None)


def _records(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    stream = data.get("stream")
    if not isinstance(stream, list):
        return []
    return [record for record in stream if isinstance(record, dict)]


def _first_token_of_record(record: Mapping[str, Any]) -> EpochMillis | None:
    """The first token of one record of a stream: a single chunk, or a run of deltas."""
    kind = record.get("type")
    if kind == "chunk":
        time = record.get("time")
        return time if _is_integer(time) and _is_token(record.get("chunk")) else None
    begin, gaps = record.get("time0"), record.get("dt")
    texts = record.get("args" if kind == DeltaKind.TOOL_CALL else "texts")
    if not _is_integer(begin) or not isinstance(texts, list) or not _are_integers(gaps):
        return None
    if kind == DeltaKind.TOOL_CALL and record.get("name") is not None:
        return begin
    times = accumulate(gaps or (), initial=begin)
    return next((time for time, text in zip(times, texts, strict=False) if text), None)


def _is_token(chunk: Any) -> bool:
    """Whether a chunk is a delta that says something; a named tool call does so by its name."""
    if not isinstance(chunk, dict):
        return False
    kind = chunk.get("type")
    if kind in ("text-delta", "reasoning-delta"):
        return bool(chunk.get("text"))
    return kind == "tool-call-delta" and (
        bool(chunk.get("argumentsDelta")) or chunk.get("name") is not None
    )


def _usage_of_chunk(chunk: Any) -> Usage | None:
    if not isinstance(chunk, dict) or chunk.get("type") != "usage":
        return None
    return usage_of(chunk)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_integers(values: Iterable[Any] | None) -> bool:
    return values is None or (isinstance(values, list) and all(map(_is_integer, values)))
