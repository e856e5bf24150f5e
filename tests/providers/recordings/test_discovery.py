"""Recordings are found in a fixed order and known by their content."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from providers.recordings.discovery import find_recordings, first_lines
from providers.recordings.dsh import DshReader
from tests.providers.recordings.dsh_writing import frame, header_row, json_lines, row, write

READER = DshReader()


def found(root: Path, paths: Iterable[Path]) -> list[tuple[str, bool]]:
    """Names of what was found, and whether the reader knows it."""
    return [
        (str(path.relative_to(root)), reader is READER)
        for path, reader in find_recordings(paths, [READER])
    ]


def session(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write(path, [header_row(), row(0)])


def test_folders_are_walked_in_the_order_of_names(tmp_path: Path) -> None:
    names = ("a/z.jsonl", "b.jsonl", "c/d/e.jsonl.zstd", "c/f.jsonl")
    for name in reversed(names):
        session(tmp_path / name)
    assert found(tmp_path, [tmp_path]) == [(name, True) for name in names]


def test_a_recording_that_no_reader_knows_comes_without_one(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"type":"other"}\n')
    (tmp_path / "b.jsonl").write_bytes(b"")
    assert found(tmp_path, [tmp_path]) == [("a.jsonl", False), ("b.jsonl", False)]


def test_files_with_other_endings_are_passed_over_in_folders(tmp_path: Path) -> None:
    session(tmp_path / "session.txt")
    assert found(tmp_path, [tmp_path]) == []


def test_a_file_that_was_named_is_looked_at_whatever_it_is_called(tmp_path: Path) -> None:
    known, unknown = session(tmp_path / "session.txt"), tmp_path / "notes.md"
    unknown.write_bytes(b"# notes\n")
    assert found(tmp_path, [known, unknown]) == [("session.txt", True), ("notes.md", False)]


def test_a_path_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    assert found(tmp_path, [tmp_path / "nowhere"]) == [("nowhere", False)]


def test_no_file_comes_twice_and_loops_of_links_end(tmp_path: Path) -> None:
    path = session(tmp_path / "a/session.jsonl")
    (tmp_path / "a/back").symlink_to(tmp_path)
    (tmp_path / "a/self.jsonl").symlink_to(tmp_path / "a/self.jsonl")
    (tmp_path / "b.jsonl").symlink_to(path)
    assert found(tmp_path, [tmp_path, path]) == [("a/self.jsonl", False), ("a/session.jsonl", True)]


def test_the_first_lines_are_decompressed(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(frame(json_lines([header_row()])) + frame(json_lines([row(0)])))
    assert first_lines(path) == json_lines([header_row(), row(0)]).split(b"\n")[:-1]


def test_only_the_beginning_of_a_long_file_is_looked_at(tmp_path: Path) -> None:
    path = write(tmp_path / "log", [header_row(), *(row(seq) for seq in range(5000))])
    lines = first_lines(path)
    assert 64 * 1024 <= sum(map(len, lines)) < 66 * 1024


def test_a_first_line_longer_than_the_look_is_still_seen(tmp_path: Path) -> None:
    path = write(tmp_path / "log", [header_row(cwd="/" + "x" * 500_000), row(0)])
    assert len(first_lines(path)) == 1


def test_damage_behind_the_beginning_does_not_hide_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(frame(json_lines([header_row()])) + frame(b"xxxx")[:-1] + frame(b"y"))
    assert found(tmp_path, [tmp_path]) == [("log.jsonl", True)]
