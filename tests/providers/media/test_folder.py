"""Media kept by their content."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from providers.media.folder import MediaFolder
from sessiongraph.errors import PersistenceFailed
from sessiongraph.recordings import RecordedMedia


def media(content: bytes) -> RecordedMedia:
    return RecordedMedia(hashlib.sha256(content).hexdigest(), content)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_content_is_kept_once_under_its_digest(tmp_path: Path) -> None:
    store = MediaFolder(tmp_path / "media")
    for content in (b"one", b"two", b"one"):
        store.keep(media(content))
    assert files(tmp_path / "media") == {
        hashlib.sha256(content).hexdigest(): content for content in (b"one", b"two")
    }


def test_nothing_is_made_before_something_is_kept(tmp_path: Path) -> None:
    MediaFolder(tmp_path / "media")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_refuses_is_said_so_and_leaves_nothing_half(tmp_path: Path) -> None:
    (tmp_path / "media").write_bytes(b"not a folder")
    with pytest.raises(PersistenceFailed):
        MediaFolder(tmp_path / "media").keep(media(b"one"))
