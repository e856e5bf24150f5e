"""One record of Claude Code, and who said what it says.

The envelope of a record is decoded always, its message only where it is told: most records of newer
files are reports of progress that nobody reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from providers.recordings.records import parsed, reader_of, texts_of

FAMILY: Final = "claude-code"

CONVERSATION_TYPES: Final = frozenset({"user", "assistant", "system", "progress", "attachment"})
"""Types of records that stand in the chain of a conversation."""

_INJECTED: Final = (
    "<command-name>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<task-notification>",
    "<system-reminder>",
    "Caveat:",
)
_INTERRUPTED: Final = "[Request interrupted by user"
_INJECTED_ORIGINS: Final = ("task-notification",)
_SYNTHETIC_MODEL: Final = "<synthetic>"

_PASSED_ON: Final = "toolUseResult"
_PASSED_ON_KEY: Final = b'"toolUseResult"'

_ENVELOPE_LEFT_OUT: Final = frozenset(
    {"type", "message", "timestamp", "toolUseResult", "cwd", "userType", "isSidechain", "uuid"}
)


class Envelope(msgspec.Struct, rename="camel"):
    """What is said around a message; members that are missing, or of another type, are None."""

    type: Any = None
    subtype: Any = None
    uuid: Any = None
    parent_uuid: Any = None
    timestamp: Any = None
    session_id: Any = None
    agent_id: Any = None
    is_sidechain: Any = None
    cwd: Any = None
    leaf_uuid: Any = None


_decode_members: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_object: Final = msgspec.json.Decoder(dict[str, Any]).decode
_decode_value: Final = msgspec.json.Decoder().decode

envelope: Final = reader_of(Envelope)
"""The envelope of a line, None where the line is not a JSON object in UTF-8."""


class Envelopes:
    """The envelopes of one file's lines, each decoded once for all who look at it in turn."""

    def __init__(self) -> None:
        self._line: bytes | None = None
        self._envelope: Envelope | None = None

    def look(self, line: bytes) -> Envelope | None:
        """The envelope of a line that somebody else takes after."""
        self._line, self._envelope = line, envelope(line)
        return self._envelope

    def take(self, line: bytes) -> Envelope | None:
        """The envelope of a line that nobody asks for again; it can be large."""
        found = self._envelope if line is self._line else envelope(line)
        self._line = self._envelope = None
        return found


def members_of(line: bytes) -> dict[str, Any] | None:
    """A record with all that it says, None where the line holds none.

    What a tool did besides answering is often the larger half of a record, and only passed on: it
    stays the text that it is.
    """
    try:
        if _PASSED_ON_KEY not in line:
            return _decode_object(line)
        return {
            key: value if key == _PASSED_ON else _decode_value(value)
            for key, value in _decode_members(line).items()
        }
    except (msgspec.DecodeError, RecursionError):
        return parsed(line)


def text_in(value: Any) -> str | None:
    """A member that is a text and not blank, None for every other."""
    return value if isinstance(value, str) and value else None


def around(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says around its message and that is shown nowhere else, kept with it."""
    return {key: value for key, value in record.items() if key not in _ENVELOPE_LEFT_OUT}


def content_of(record: Mapping[str, Any]) -> list[Any] | None:
    """The blocks of a record's message, a bare text as one; None where it has none."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else None


def is_tool_result(block: Any) -> bool:
    """Whether a block of a user record is what a tool answered."""
    return isinstance(block, dict) and block.get("type") == "tool_result"


def is_interruption(content: list[Any]) -> bool:
    """Whether a user record says that the person stopped the model."""
    return texts_of(content, "text").lstrip().startswith(_INTERRUPTED)


def is_from_person(record: Mapping[str, Any], content: list[Any]) -> bool:
    """Whether a person wrote the message of a user record, not Claude Code in the person's name."""
    if record.get("isMeta") is True or any(is_tool_result(block) for block in content):
        return False
    origin = record.get("origin")
    if isinstance(origin, dict) and origin.get("kind") in _INJECTED_ORIGINS:
        return False
    return not texts_of(content, "text").lstrip().startswith((*_INJECTED, _INTERRUPTED))


def is_failure(record: Mapping[str, Any]) -> bool:
    """Whether an assistant record reports that the model could not be reached."""
    message = record.get("message")
    model = message.get("model") if isinstance(message, dict) else None
    return record.get("isApiErrorMessage") is True or model == _SYNTHETIC_MODEL


def usage_of(message: Mapping[str, Any]) -> dict[str, int] | None:
    """The tokens that a message reports, None when it reports none."""
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return None
    return {
        "inputTokens": _count(usage.get("input_tokens")),
        "outputTokens": _count(usage.get("output_tokens")),
        "cacheReadTokens": _count(usage.get("cache_read_input_tokens")),
        "cacheWriteTokens": _count(usage.get("cache_creation_input_tokens")),
    }


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def preserved_in(metadata: Any) -> list[str]:
    """The uuids of the records that a compaction says it kept, as far as it names them."""
    if not isinstance(metadata, dict):
        return []
    messages, segment = metadata.get("preservedMessages"), metadata.get("preservedSegment")
    uuids = messages.get("uuids") if isinstance(messages, dict) else None
    if isinstance(uuids, list):
        return [uuid for uuid in uuids if isinstance(uuid, str)]
    if isinstance(segment, dict):
        ends = (segment.get("headUuid"), segment.get("tailUuid"))
        return [uuid for uuid in ends if isinstance(uuid, str)]
    return []


def queued_prompt_in(record: Mapping[str, Any]) -> list[Any] | None:
    """The blocks of a prompt that was typed while the model worked; None for other attachments."""
    attachment = record.get("attachment")
    if not isinstance(attachment, dict):
        return None
    kind, mode = attachment.get("type"), attachment.get("commandMode")
    prompt = attachment.get("prompt")
    if kind != "queued_command" or mode != "prompt" or not prompt:
        return None
    if isinstance(prompt, str):
        return [{"type": "text", "text": prompt}]
    return prompt if isinstance(prompt, list) else None


def failure_in(record: Mapping[str, Any], content: Sequence[Any]) -> dict[str, str]:
    """What went wrong, of a record for which :func:`is_failure` holds."""
    error = {"message": texts_of(content, "text")}
    code = next((record[key] for key in ("apiErrorStatus", "error") if record.get(key)), None)
    return error if code is None else {**error, "code": str(code)}
