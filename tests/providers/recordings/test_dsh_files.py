"""Which file of a folder is the session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from providers.recordings.dsh import DshReader
from providers.recordings.dsh_files import generation_of


def superseded(folder: Path, *names: str) -> dict[str, str]:
    """Losers and winners by name, of files that were modified in the order given."""
    paths = [folder / name for name in names]
    for moment, path in enumerate(paths, 1000):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (moment, moment))
    return {
        str(loser.relative_to(folder)): str(winner.relative_to(folder))
        for loser, winner in DshReader().superseded(paths).items()
    }


def test_the_highest_generation_takes_the_place_of_the_others(tmp_path: Path) -> None:
    names = ("session.v10.jsonl.zstd", "session.v4.jsonl", "session.jsonl")
    winner = "session.v10.jsonl.zstd"
    assert superseded(tmp_path, *names) == {"session.v4.jsonl": winner, "session.jsonl": winner}


@pytest.mark.parametrize("order", [1, -1])
def test_of_one_generation_the_file_modified_last_is_taken(tmp_path: Path, order: int) -> None:
    names = ("session.v3.jsonl", "session.v3.jsonl.zstd")[::order]
    assert superseded(tmp_path, *names) == {names[0]: names[1]}


def test_other_folders_and_other_names_are_left_alone(tmp_path: Path) -> None:
    names = ("a/session.jsonl", "b/session.v4.jsonl", "b/session.1.jsonl", "b/other.v9.jsonl")
    assert superseded(tmp_path, *names) == {}


@pytest.mark.parametrize(
    ("name", "generation"),
    [
        ("session.jsonl", 0),
        ("session.jsonl.zstd", 0),
        ("session.v4.jsonl", 4),
        ("session.v12.jsonl.zstd", 12),
        ("session.v0.jsonl", None),
        ("session.v04.jsonl", None),
        ("session.V4.jsonl", None),
        ("session.v٤.jsonl", None),
        ("session.v4.jsonl.tmp", None),
        ("xsession.jsonl", None),
    ],
)
def test_names_state_their_generation(name: str, generation: int | None) -> None:
    assert generation_of(Path(name)) == generation
