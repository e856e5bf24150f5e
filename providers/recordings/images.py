"""Images in transcripts: the block keeps what an image is, its bytes are kept by their content."""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any

from sessiongraph.recordings import RecordedMedia


class Images:
    """Takes images out of blocks, and hands out what it took."""

    def __init__(self) -> None:
        self._taken: dict[str, RecordedMedia] = {}

    def take(self) -> tuple[RecordedMedia, ...]:
        """What was taken since the last time this was asked."""
        if not self._taken:
            return ()
        taken = tuple(self._taken.values())
        self._taken.clear()
        return taken

    def block(self, media_type: str, encoded: str) -> dict[str, Any] | None:
        """The block for an image in base64; None where the text is not base64."""
        try:
            content = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            return None
        name = hashlib.sha256(content).hexdigest()
        self._taken[name] = RecordedMedia(name, content)
        attachment = {
            "attachmentId": f"sha256:{name}",
            "mediaType": media_type,
            "bytes": len(content),
        }
        return {"type": "image", "attachment": attachment}

    def block_of_url(self, url: Any) -> dict[str, Any] | None:
        """The block for an image in a ``data:`` address, None for any other address."""
        if not isinstance(url, str) or not url.startswith("data:"):
            return None
        head, _, encoded = url[len("data:") :].partition(",")
        media_type, _, encoding = head.partition(";")
        return self.block(media_type, encoded) if encoding == "base64" else None
