"""Blocks of Codex's messages in our vocabulary; those that it lacks are kept as they are."""

from __future__ import annotations

from typing import Any

from providers.recordings.images import Images


class Blocks:
    """Tells blocks; the images in them go to files.

    images: those that were met and not taken yet.
    """

    def __init__(self) -> None:
        self.images = Images()

    def told(self, content: Any) -> list[Any]:
        """The blocks of a message, which may be a mere text."""
        if isinstance(content, str):
            return [{"type": "text", "text": content}]
        return [self._block(block) for block in content] if isinstance(content, list) else []

    def of_urls(self, urls: Any) -> list[Any]:
        """The images that the screen showed with a message, as far as they are in its record."""
        images = map(self.images.block_of_url, urls if isinstance(urls, list) else ())
        return [image for image in images if image is not None]

    def _block(self, block: Any) -> Any:
        if not isinstance(block, dict):
            return {"type": "unknown", "value": block}
        kind = block.get("type")
        if kind in ("input_text", "output_text") and isinstance(block.get("text"), str):
            return {"type": "text", "text": block["text"]}
        if kind == "input_image":
            image = self.images.block_of_url(block.get("image_url"))
            return block if image is None else image
        return block if isinstance(kind, str) else {"type": "unknown", "value": block}
