"""A packed row is one run, and the run is exactly the events that the row stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.event import DeltaRun
from tests.providers.recordings.dsh_writing import (
    Json,
    header_row,
    logical_events,
    packed_row,
    read,
    row,
    write,
)
from tests.strategies import any_text

KINDS = ("text-chunks", "reasoning-chunks", "tool-call-chunks")


@st.composite
def packed_rows(draw: st.DrawFn) -> Json:
    kind = draw(st.sampled_from(KINDS))
    texts = draw(st.lists(any_text, min_size=1, max_size=6))
    gaps = st.lists(st.integers(-9, 99), min_size=len(texts) - 1, max_size=len(texts) - 1)
    members: Json = {"dt": draw(gaps), "turn": draw(st.integers(0, 9))}
    if kind == "tool-call-chunks":
        members["id"] = draw(any_text)
        if draw(st.booleans()):
            members["name"] = draw(any_text)
    return packed_row(0, texts, kind, **members)


@given(packed_rows())
def test_a_run_has_exactly_the_events_that_its_row_stands_for(
    tmp_path_factory: pytest.TempPathFactory, packed: Json
) -> None:
    path = write(tmp_path_factory.mktemp("run") / "log.jsonl", [header_row(), packed])
    reading = read(path)
    assert reading.events == logical_events([packed])


@pytest.mark.parametrize("kind", KINDS)
def test_a_packed_row_is_never_expanded(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / "log.jsonl", [header_row(), packed_row(0, "abcde", kind), row(5)])
    run, event = read(path).entries
    assert isinstance(run, DeltaRun)
    assert (run.kind, list(run.texts), run.last_seq) == (kind, list("abcde"), 4)
    assert event.seq == 5


@pytest.mark.parametrize(
    "change",
    [
        {"dt": [1]},
        {"texts": []},
        {"texts": ["a", 1, "c"]},
        {"turn": "1"},
        {"id": "call"},
        {"dt": [1, None]},
        {"dt": [2**53, 1]},
    ],
)
def test_a_packed_row_that_contradicts_itself_is_broken(tmp_path: Path, change: Any) -> None:
    path = write(tmp_path / "log.jsonl", [header_row(), row(0), packed_row(1, "abc", **change)])
    reading = read(path)
    assert len(reading.entries) == 1
    assert "Line 3 is broken" in reading.notes[0]


def test_a_packed_row_after_version_1_is_read_and_noted(tmp_path: Path) -> None:
    path = write(tmp_path / "log.jsonl", [header_row(3), packed_row(0, "ab"), packed_row(2, "cd")])
    reading = read(path)
    assert len(reading.entries) == 2
    assert reading.notes == (
        "Unofficial: version 3 with packed rows, which end with version 1; read by its content.",
    )


def test_an_unknown_key_in_a_packed_row_is_noted(tmp_path: Path) -> None:
    packed = {**packed_row(0, "ab", extra=1), "meta": {}}
    reading = read(write(tmp_path / "log.jsonl", [header_row(), packed]))
    assert reading.events == logical_events([packed_row(0, "ab")])
    assert reading.notes == ("Row keys unknown to dsh are left out: data.extra (1), meta (1).",)
