"""Blocks of Claude Code's messages in our vocabulary; those that it lacks are kept as they are."""

from __future__ import annotations

from typing import Any

from providers.recordings.claude_records import text_in
from providers.recordings.images import Images
from sessiongraph import lossless


class Blocks:
    """Tells blocks; the images in them go to files.

    images: those that were met and not taken yet.
    """

    def __init__(self) -> None:
        self.images = Images()

    def told(self, block: Any, call_id: str = "") -> Any:
        """One block; call_id: of the call that it may be."""
        if not isinstance(block, dict):
            return {"type": "unknown", "value": block}
        kind = block.get("type")
        if kind == "thinking":
            rest = {key: block[key] for key in block if key not in ("type", "thinking")}
            return {"type": "reasoning", "text": block.get("thinking") or "", **rest}
        if kind == "tool_use":
            return {
                "type": "tool-call",
                "id": call_id,
                "name": text_in(block.get("name")) or "unknown",
                "arguments": arguments_of(block.get("input")),
            }
        if kind == "image":
            source = block.get("source")
            if isinstance(source, dict) and source.get("type") == "base64":
                media_type, data = source.get("media_type"), source.get("data")
                if isinstance(data, str):
                    image = self.images.block(str(media_type), data)
                    return block if image is None else image
        return block if isinstance(kind, str) else {"type": "unknown", "value": block}

    def of_result(self, content: Any) -> list[Any]:
        """What a tool answered, which may be a mere text."""
        if isinstance(content, list):
            return [self.told(block) for block in content]
        return [{"type": "text", "text": content}] if isinstance(content, str) else []


def call_id_of(uuid: str | None, block: Any, index: int) -> str:
    """The id of a call, made from its record and place where it has none."""
    given = text_in(block.get("id")) if isinstance(block, dict) else None
    return given or f"{uuid or 'call'}.{index}"


def arguments_of(value: Any) -> str:
    """Arguments of a call as the text that they are logged as."""
    if isinstance(value, str):
        return value
    return lossless.encode({} if value is None else value).decode("utf-8", "surrogatepass")


def are_todos(value: Any) -> bool:
    """Whether an argument is a list of todos as everybody writes them."""
    return isinstance(value, list) and all(
        isinstance(item, dict)
        and isinstance(item.get("content"), str)
        and isinstance(item.get("status"), str)
        for item in value
    )
