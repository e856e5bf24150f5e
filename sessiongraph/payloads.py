"""What the payloads of format generations 0 to 4 mean, in one vocabulary.

Recorders spelled the same facts differently over time: a tool result was a user message around one
``tool-result`` block up to version 3 and is a message of role ``tool`` from 4 on; the earliest logs
had no message wrapper at all. This module alone knows the spellings. It goes by content, never by
the declared version, because forks of the recorder mix them (dsh-formats.md).

A payload that lacks the fields of its type is no error: it has the shape ``GENERIC`` and is shown
as a generic event. Every other function may be called on a payload of the matching shape only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

Data = Mapping[str, Any]
Block = Mapping[str, Any]

HUMAN_SOURCE: Final = "user"
"""The source kind of a message that a person wrote; every other kind is injected."""

REFERENCE_SOURCE: Final = "session-reference"
_COMPACTION_PLUGIN: Final = "compact"
_COMPACTION_SOURCE: Final = "compact-checkpoint"


class Shape(IntEnum):
    """What a payload turned out to be; the numbers are stored and never reused."""

    GENERIC = 0
    USER_MESSAGE = 1
    ASSISTANT_MESSAGE = 2
    TOOL_CALL = 3
    TOOL_RESULT = 4
    TODO_WRITE = 5
    TITLE = 6
    TURN_END = 7


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call; what the recorder does not report is 0."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int


@dataclass(frozen=True, slots=True)
class Citation:
    """One snapshot of another session that a message carries.

    captured_through_seq: how much of the target the snapshot saw; None when its log was empty.
    """

    target_id: str
    label: str
    captured_through_seq: int | None


def shape_of(event_type: str, data: Any) -> Shape:
    """The shape of a payload under its type; ``GENERIC`` when the type's fields are missing."""
    if not isinstance(data, dict):
        return Shape.GENERIC
    check = _SHAPE_CHECKS.get(event_type)
    if check is None:
        return Shape.GENERIC
    shape, is_whole = check
    return shape if is_whole(data) else Shape.GENERIC


def _is_user_message(data: Data) -> bool:
    return _are_blocks(data.get("content")) and _source_kind(data) is not None


def _is_assistant_message(data: Data) -> bool:
    return _are_blocks(_message(data).get("content"))


def _is_tool_call(data: Data) -> bool:
    return all(isinstance(data.get(key), str) for key in ("callId", "name", "arguments"))


def _is_tool_result(data: Data) -> bool:
    return call_id_of(data) is not None and _are_blocks(_result(data).get("content"))


def _is_todo_write(data: Data) -> bool:
    todos = data.get("todos")
    return isinstance(todos, list) and all(
        isinstance(item, dict)
        and isinstance(item.get("content"), str)
        and isinstance(item.get("status"), str)
        for item in todos
    )


def _is_title(data: Data) -> bool:
    return isinstance(data.get("title"), str)


def _is_turn_end(data: Data) -> bool:
    return is_count(data.get("turn")) and turn_end_reason(data) is not None


_SHAPE_CHECKS: Final = {
    "user/message": (Shape.USER_MESSAGE, _is_user_message),
    "assistant/message": (Shape.ASSISTANT_MESSAGE, _is_assistant_message),
    "tool/call": (Shape.TOOL_CALL, _is_tool_call),
    "tool/result": (Shape.TOOL_RESULT, _is_tool_result),
    "todo/write": (Shape.TODO_WRITE, _is_todo_write),
    "session/title": (Shape.TITLE, _is_title),
    "turn/end": (Shape.TURN_END, _is_turn_end),
}

SHAPED_TYPES: Final = frozenset(_SHAPE_CHECKS)
"""The types whose payload is looked into when it is stored; all others are ``GENERIC``."""


def is_count(value: Any) -> bool:
    """Whether a JSON value is an integer that is not a boolean and fits GraphQL's Int."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**31


def _are_blocks(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    for block in value:  # noqa: SIM110 - all() would cost more than the blocks of most messages
        if not (isinstance(block, dict) and isinstance(block.get("type"), str)):
            return False
    return True


def _message(data: Data) -> Data:
    """The message of a payload: wrapped since version 0, bare in the earliest logs."""
    message = data.get("message")
    return message if isinstance(message, dict) else data


def _source_kind(message: Data) -> str | None:
    source = message.get("source")
    kind = source.get("kind") if isinstance(source, dict) else None
    return kind if isinstance(kind, str) else None


def _wrapper_block(message: Data) -> Block | None:
    """The one ``tool-result`` block of a version 0 to 3 tool message, None in other spellings."""
    content = message.get("content")
    block = content[0] if isinstance(content, list) and len(content) == 1 else None
    return block if isinstance(block, dict) and block.get("type") == "tool-result" else None


def _result(data: Data) -> Data:
    """What holds ``content`` and ``isError`` of a tool result, in any spelling."""
    message = _message(data)
    return _wrapper_block(message) or message


def message_source_kind(data: Data) -> str:
    """The declared source of a user message: user, plugin, tool, session-reference, …"""
    return _source_kind(data) or ""


def is_human_prompt(data: Data) -> bool:
    """Whether a person wrote this user message."""
    return _source_kind(data) == HUMAN_SOURCE


def is_compaction_checkpoint(data: Data) -> bool:
    """Whether this user message stands for an earlier, condensed part of the conversation."""
    kind = _source_kind(data)
    if kind == "plugin":
        return bool(data["source"].get("plugin") == _COMPACTION_PLUGIN)
    return kind == _COMPACTION_SOURCE


def content_of(event_type: str, data: Data) -> Sequence[Block]:
    """The content blocks of a message event, those inside a tool result's wrapper included."""
    if event_type == "user/message":
        content = data.get("content")
    elif event_type == "tool/result":
        content = _result(data).get("content")
    else:
        content = _message(data).get("content")
    return content if isinstance(content, list) else ()


def text_of(blocks: Sequence[Block]) -> str:
    """The text blocks of a message, joined by newlines."""
    return "\n".join(texts_of(blocks))


def texts_of(blocks: Sequence[Block]) -> Iterator[str]:
    """The text of each text block."""
    for block in blocks:
        if isinstance(block, dict) and block.get("type") == "text":
            text = block.get("text")
            if isinstance(text, str):
                yield text


def call_id_of(data: Data) -> str | None:
    """The call that a tool result answers."""
    message = _message(data)
    wrapper = _wrapper_block(message)
    source = message.get("source")
    candidates = (
        wrapper.get("toolCallId") if wrapper is not None else message.get("toolCallId"),
        source.get("callId") if isinstance(source, dict) else None,
        data.get("callId"),
    )
    return next((call_id for call_id in candidates if isinstance(call_id, str)), None)


def result_is_error(data: Data) -> bool:
    """Whether a tool result reports a failure."""
    return _result(data).get("isError") is True


def result_error(data: Data) -> tuple[str | None, str | None]:
    """Name and code of a tool result's error, None where the log does not say."""
    error = data.get("error")
    if not isinstance(error, dict):
        return None, None
    name, code = error.get("name"), error.get("code")
    return (name if isinstance(name, str) else None, code if isinstance(code, str) else None)


def tool_result_without_content(data: Data) -> dict[str, Any]:
    """A tool result with everything but its content, to compare a replacement with its original."""
    stripped = dict(data)
    message = data.get("message")
    if not isinstance(message, dict):
        stripped.pop("content", None)
        return stripped
    wrapper = _wrapper_block(message)
    rest = {key: value for key, value in message.items() if key != "content"}
    if wrapper is not None:
        rest["wrapper"] = {key: value for key, value in wrapper.items() if key != "content"}
    stripped["message"] = rest
    return stripped


def model_of(data: Data) -> tuple[str | None, str | None]:
    """Provider and model of an assistant message, None where the log does not say."""
    message = _message(data)
    source = message.get("source", message.get("provenance"))
    if not isinstance(source, dict):
        return None, None
    provider, model = source.get("provider"), source.get("model")
    return (
        provider if isinstance(provider, str) else None,
        model if isinstance(model, str) else None,
    )


def usage_of(data: Data) -> Usage | None:
    """The token usage that an assistant message reports, None when it reports none."""
    usage = data.get("usage")
    if not isinstance(usage, dict):
        return None
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    input_tokens, output_tokens, cache_read, cache_write = (_count(usage.get(n)) for n in names)
    return Usage(input_tokens, output_tokens, cache_read, cache_write)


def _count(value: Any) -> int:
    return value if isinstance(value, int) and is_count(value) else 0


def was_interrupted(data: Data) -> bool:
    """Whether an assistant message was cut short."""
    return data.get("interrupted") is True


def turn_end_reason(data: Data) -> str | None:
    """The kind of reason for which a turn ended; early logs wrote the bare word."""
    reason = data.get("reason")
    kind = reason.get("kind") if isinstance(reason, dict) else reason
    return kind if isinstance(kind, str) else None


def turn_end_error(data: Data) -> str | None:
    """The message of the error with which a turn ended."""
    reason = data.get("reason")
    if not isinstance(reason, dict):
        return None
    error = reason.get("error")
    message = error.get("message") if isinstance(error, dict) else reason.get("message")
    return message if isinstance(message, str) else None


def citations_of(data: Data) -> tuple[Citation, ...]:
    """The snapshots of other sessions that a user message carries, in order."""
    if _source_kind(data) != REFERENCE_SOURCE:
        return ()
    references = data["source"].get("references")
    if not isinstance(references, list):
        return ()
    found = []
    for reference in references:
        if isinstance(reference, dict) and isinstance(reference.get("sessionId"), str):
            label = reference.get("label")
            through = reference.get("capturedThroughSeq")
            found.append(
                Citation(
                    reference["sessionId"],
                    label if isinstance(label, str) else reference["sessionId"],
                    through if is_count(through) else None,
                )
            )
    return tuple(found)
