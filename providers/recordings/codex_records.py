"""One record of Codex: a line ``{timestamp, type, payload}``, and what its payload says.

Most of a conversation stands in a file twice: as ``response_item`` in the model's history, and as
``event_msg`` for the screen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from providers.recordings.records import parsed, reader_of, texts_of
from sessiongraph import lossless

FAMILY: Final = "codex"

_INJECTED: Final = (
    "<environment_context>",
    "<user_instructions>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
)
_KINDS_WITHIN: Final = frozenset({"response_item", "event_msg"})
_IDE_CONTEXT: Final = "# Context from my IDE setup:"
_IDE_REQUEST: Final = "## My request for Codex:"


class Record(msgspec.Struct):
    """One line; members that are missing or of another type are None."""

    timestamp: Any = None
    type: Any = None
    payload: Any = None

    @property
    def kind(self) -> str:
        """The type of the record, and that of what it carries."""
        outer, payload = self.type, self.payload
        if not isinstance(outer, str):
            return ""
        if isinstance(payload, dict) and outer in _KINDS_WITHIN:
            inner = payload.get("type")
            if isinstance(inner, str):
                return f"{outer}.{inner}"
        return outer


record_of: Final = reader_of(Record)
"""The record that a line holds, None where the line is not a JSON object in UTF-8."""


def message_text(payload: Mapping[str, Any]) -> str:
    """The text of a message in the model's history."""
    return texts_of(payload.get("content"), "input_text", "output_text", "text")


def request_in(text: str) -> str:
    """What the person wrote, where an editor put its context before it."""
    if not text.lstrip().startswith(_IDE_CONTEXT):
        return text
    _, _, request = text.partition(_IDE_REQUEST)
    return request or text


def is_injected(text: str) -> bool:
    """Whether Codex wrote a text in the person's name.

    The context of an IDE can carry the person's request in its last section; then it is theirs.
    """
    text = text.lstrip()
    if text.startswith(_IDE_CONTEXT):
        return _IDE_REQUEST not in text
    return text.startswith(_INJECTED)


def output_of(output: Any) -> tuple[list[Any], bool, dict[str, Any] | None]:
    """Content of a tool's output, whether it failed, and what else was recorded of it.

    Older outputs are JSON texts with an exit code; newer ones plain texts, blocks or objects.
    """
    if isinstance(output, str):
        old = _old_output(output)
        if old is None:
            return [{"type": "text", "text": output}], False, None
        text, metadata = old
        code = metadata.get("exit_code")
        failed = isinstance(code, int) and code != 0
        return [{"type": "text", "text": text}], failed, metadata
    if isinstance(output, list):
        return output, False, None
    if isinstance(output, dict):
        content = output.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if isinstance(content, list):
            return content, output.get("success") is False, None
        return [dict(output)], False, None
    return [], False, None


def _old_output(output: str) -> tuple[str, dict[str, Any]] | None:
    if not output.startswith("{"):
        return None
    value = parsed(output.encode("utf-8", "surrogatepass"))
    if value is None:
        return None
    text, metadata = value.get("output"), value.get("metadata")
    if not isinstance(text, str) or not isinstance(metadata, dict):
        return None
    return text, metadata


def plan_of(arguments: str) -> list[dict[str, str]] | None:
    """The todos of an ``update_plan``, None where its arguments hold none."""
    value = parsed(arguments.encode("utf-8", "surrogatepass"))
    plan = value.get("plan") if value is not None else None
    if not isinstance(plan, list):
        return None
    todos = []
    for item in plan:
        step = item.get("step") if isinstance(item, dict) else None
        status = item.get("status") if isinstance(item, dict) else None
        if not isinstance(step, str) or not isinstance(status, str):
            return None
        todos.append({"content": step, "status": status})
    return todos


def arguments_of(value: Any) -> str:
    """Arguments of a call as the text that the model wrote."""
    if isinstance(value, str):
        return value
    return lossless.encode({} if value is None else value).decode("utf-8", "surrogatepass")


def called_in(payload: Mapping[str, Any]) -> tuple[str, str]:
    """The name and the arguments of a call."""
    if payload.get("type") == "local_shell_call":
        return "local_shell", arguments_of(payload.get("action"))
    arguments = arguments_of(payload.get("arguments", payload.get("input")))
    return str(payload.get("name") or "unknown"), arguments


def reasoning_in(payload: Mapping[str, Any]) -> str:
    """What the model thought, as far as it can be read."""
    summary = texts_of(payload.get("summary"), "summary_text")
    content = texts_of(payload.get("content"), "reasoning_text", "text")
    return "\n\n".join(part for part in (summary, content) if part)


def error_in(failure: Any) -> dict[str, Any]:
    """The reason of a turn that ended with an error, as far as the record tells."""
    if isinstance(failure, dict) and isinstance(failure.get("error"), Mapping):
        failure = failure["error"]
    if not isinstance(failure, dict):
        return {"kind": "error", "error": {"message": str(failure)}}
    code = failure.get("codex_error_info", failure.get("kind"))
    message = failure.get("message")
    error = {"message": message if isinstance(message, str) else ""}
    if isinstance(code, str):
        error["code"] = code
    return {"kind": "error", "error": error}
