"""Our own units answer like the reference implementation, from every checkpoint on the way."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sessiongraph.event import Entry
from sessiongraph.projections.cells import SessionCells, restored_seeds
from sessiongraph.projections.routes import Routes
from sessiongraph.projections.units import FIRST_PARTY
from tests.oracle import answers, needs_oracle, oracle_root, read_session, session_files

pytestmark = needs_oracle

SHARED = (
    "title",
    "todos",
    "goal",
    "plan",
    "sessionStats",
    "tokenUsage",
    "contextPressure",
    "subagent",
)
"""The keys that the reference answers too."""

ANSWERS = {each["id"]: each["projections"] for each in answers("none")}
ROUTES = Routes(FIRST_PARTY)


def _logs() -> dict[str, list[Entry]]:
    logs = {header.session_id: log for header, log in map(read_session, session_files())}
    return {session_id: logs[session_id] for session_id in ANSWERS}


LOGS = _logs()
each_session = pytest.mark.parametrize("session_id", list(ANSWERS))


def shared(values: dict[str, Any]) -> dict[str, Any]:
    """The values that both sides know, without what ours leaves out on purpose."""
    kept = {key: values[key] for key in SHARED}
    pressure = kept["contextPressure"]
    kept["contextPressure"] = {
        name: value for name, value in pressure.items() if name != "projectedTokens"
    }
    return kept


def folded(log: Sequence[Entry]) -> SessionCells:
    cells = SessionCells("a", ROUTES)
    cells.fold_all(log)
    return cells


@each_session
def test_a_whole_log_gives_the_recorded_values(session_id: str) -> None:
    snapshot = folded(LOGS[session_id]).snapshot()
    assert snapshot.as_of_seq == ANSWERS[session_id]["asOfSeq"]
    assert shared(snapshot.values()) == shared(ANSWERS[session_id]["values"])


@each_session
def test_a_checkpoint_after_any_event_leads_to_the_recorded_values(session_id: str) -> None:
    log = LOGS[session_id]
    whole = folded(log)
    growing = SessionCells("a", ROUTES)
    for place in range(len(log) + 1):
        seeds = restored_seeds(FIRST_PARTY, growing.rows())
        assert len(seeds) == len(FIRST_PARTY)
        restored = SessionCells("a", ROUTES, growing.seq, seeds)
        assert restored.snapshot().views == growing.snapshot().views
        restored.fold_all(log[place:])
        assert shared(restored.snapshot().values()) == shared(ANSWERS[session_id]["values"])
        assert restored.snapshot().views == whole.snapshot().views
        assert restored.checkpoint() == whole.checkpoint()
        if place < len(log):
            growing.fold(log[place])


# Other encodings and generations of the same sessions


def _recorded_elsewhere() -> list[Path]:
    root = oracle_root()
    if root is None:
        return []
    folders = ("v0/zstd", "v3/migrated-zstd")
    files = (file for folder in folders for file in (root / folder).rglob("session*.jsonl*"))
    return sorted(file for file in files if file.parent.name in ANSWERS)


ELSEWHERE = _recorded_elsewhere()


@pytest.mark.parametrize("path", ELSEWHERE, ids=["/".join(path.parts[-4:]) for path in ELSEWHERE])
def test_every_generation_of_a_session_gives_the_values_of_the_first(path: Path) -> None:
    dsh = pytest.importorskip("providers.recordings.dsh")
    log = [recorded.entry for recorded in dsh.DshReader().open(path, None).entries()]
    ours = shared(folded(log).snapshot().values())
    theirs = shared(ANSWERS[path.parent.name]["values"])
    for values in (ours, theirs):
        if values["subagent"] is not None:
            del values["subagent"]["seq"]  # events are numbered anew in every generation
    assert ours == theirs


def test_every_recorded_answer_was_compared() -> None:
    assert len(ANSWERS) == 22
    assert len(ELSEWHERE) >= 60
