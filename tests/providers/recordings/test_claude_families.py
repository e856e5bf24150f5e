"""Sessions of Claude Code that come from others: subagents in three layouts, and resumed copies."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.providers.recordings.transcript_writing import (
    CLAUDE,
    SESSION,
    Json,
    answered,
    asked,
    replied,
    tell,
    text,
    tool_use,
    uuid_of,
    write_lines,
)

AGENT = "a0ad4f44468bdf20d"


def agents_records(**members: object) -> list[Json]:
    return [
        asked(20, "search", parentUuid=None, isSidechain=True, **members),
        replied(21, "s1", tool_use("s"), isSidechain=True, **members),
        answered(22, "s", "found", isSidechain=True, **members),
    ]


@pytest.mark.parametrize(
    ("place", "session_id"),
    [
        (f"agent-{AGENT}.jsonl", SESSION),
        (f"{SESSION}/subagents/agent-{AGENT}.jsonl", SESSION),
        (f"{SESSION}/subagents/agent-{AGENT}.jsonl", f"agent-{AGENT}"),
    ],
)
def test_a_subagent_in_a_file_hangs_under_its_parent(
    tmp_path: Path, place: str, session_id: str
) -> None:
    records = agents_records(agentId=AGENT, sessionId=session_id)
    told, further = tell(CLAUDE, write_lines(tmp_path / place, records))
    assert further == []
    header = told.header
    assert (header.session_id, header.parent_session) == (f"{SESSION}:agent-{AGENT}", SESSION)
    assert (header.origin, header.delegation_depth) == ("subagent", 1)
    assert told.types.count("user/message") == 1


def test_the_small_file_beside_a_subagent_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / SESSION / "subagents" / f"agent-{AGENT}.jsonl"
    write_lines(path, agents_records(agentId=AGENT))
    described = {"agentType": "explorer", "spawnDepth": 2}
    path.with_name(f"agent-{AGENT}.meta.json").write_text(json.dumps(described))
    told, _ = tell(CLAUDE, path)
    assert (told.header.agent_preset, told.header.delegation_depth) == ("explorer", 2)


def test_side_chains_between_the_records_are_sessions_of_their_own(tmp_path: Path) -> None:
    first, second = (
        agents_records(),
        [
            {**record, "uuid": uuid_of(40 + n), "parentUuid": uuid_of(39 + n) if n else None}
            for n, record in enumerate(agents_records())
        ],
    )
    records = [
        asked(0, "delegate"),
        replied(1, "m1", tool_use("c1", "Task"), tool_use("c2", "Task")),
        first[0],
        second[0],
        first[1],
        second[1],
        second[2],
        first[2],
        answered(2, "c1", "done", parentUuid=uuid_of(1)),
        replied(3, "m2", text("All done.")),
    ]
    told, further = tell(CLAUDE, write_lines(tmp_path / "log.jsonl", records))
    assert [recorded.line for recorded in told.recorded][-1] == 10
    assert {recorded.line for recorded in told.recorded} == {1, 2, 9, 10}
    lines = [sorted({recorded.line for recorded in part.recorded}) for part in further]
    assert lines == [[3, 5, 8], [4, 6, 7]]
    for part in further:
        assert part.header.parent_session == SESSION
        assert (part.header.origin, part.header.delegation_depth) == ("subagent", 1)
        assert part.header.session_id.startswith(f"{SESSION}:sidechain-")
        assert part.types[:2] == ["turn/start", "user/message"]


def test_a_side_chain_with_an_agents_id_is_named_by_it(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "log.jsonl", [asked(0, "go"), *agents_records(agentId=AGENT)])
    _, (part,) = tell(CLAUDE, path)
    assert part.header.session_id == f"{SESSION}:agent-{AGENT}"


def test_a_resumed_copy_is_a_fork_of_the_session_that_it_repeats(tmp_path: Path) -> None:
    original = [asked(0, "first"), replied(1, "m1", text("one")), asked(2, "never copied")]
    parent = write_lines(tmp_path / f"{SESSION}.jsonl", original)
    os.utime(parent, (1, 1))
    copied = [{**record, "sessionId": "resumed"} for record in original[:2]]
    path = write_lines(
        tmp_path / "resumed.jsonl", [*copied, asked(7, "go on", sessionId="resumed")]
    )
    told, _ = tell(CLAUDE, path)
    first, _ = tell(CLAUDE, parent)
    assert told.header.parent_session == SESSION
    seed = told.header.seed_length
    assert seed is not None
    assert told.events[seed].type == "session/end-seed"
    assert told.events[seed].data == {"inherited": True}
    assert told.types[:seed] == first.types[:seed]
    assert first.header.parent_session is None
    assert told.header.origin is None


def test_a_copy_that_says_nothing_of_its_own_yet_has_a_parent_and_no_end(tmp_path: Path) -> None:
    parent = write_lines(tmp_path / f"{SESSION}.jsonl", [asked(0, "first"), asked(1, "second")])
    os.utime(parent, (1, 1))
    path = write_lines(tmp_path / "resumed.jsonl", [asked(0, "first", sessionId="resumed")])
    told, _ = tell(CLAUDE, path)
    assert (told.header.parent_session, told.header.seed_length) == (SESSION, None)
