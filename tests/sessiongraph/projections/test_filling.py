"""Every session gets a checkpoint, also those that nobody ever opened."""

from __future__ import annotations

from sessiongraph.ports import LogStore
from sessiongraph.projections.filling import fill_checkpoints
from tests.plain_store import run
from tests.sessiongraph.projections.driven import Server, numbered, serving, until
from tests.sessiongraph.projections.test_unit import unit


async def fill(server: Server) -> int:
    logs: LogStore = server.store
    return await fill_checkpoints(server.projections, logs, server.checkpoints)


def test_sessions_without_rows_and_those_behind_are_folded_and_no_others() -> None:
    async def scenario() -> None:
        async with serving(unit()) as first:
            for session_id in ("behind", "current"):
                await first.begin(numbered("a/a", "turn/end"), session_id)
            await until(lambda: first.checkpoints.writes == 2)
        for session_id in ("behind", "missing"):
            if session_id == "missing":
                await first.begin(numbered("a/a"), session_id)
            await first.say("b/b", to=session_id)
        await first.begin([], "empty")
        async with serving(unit(), store=first.store, checkpoints=first.checkpoints) as server:
            writes = server.checkpoints.writes
            assert await fill(server) == 2
            await until(lambda: server.checkpoints.writes == writes + 2)
            assert [await server.rows(each) for each in ("behind", "missing", "current")] == [
                {"count": 2},
                {"count": 1},
                {"count": 1},
            ]
            assert await fill(server) == 0

    run(scenario())


def test_a_unit_that_is_new_or_has_another_version_is_folded_everywhere() -> None:
    async def scenario() -> None:
        async with serving(unit()) as first:
            await first.begin(numbered("a/a", "turn/end"))
            await until(lambda: first.checkpoints.writes == 1)
        newer = unit(state_version=2)
        async with serving(newer, store=first.store, checkpoints=first.checkpoints) as server:
            assert await fill(server) == 1
            await until(lambda: server.checkpoints.writes == 2)
            assert await server.rows() == {"count": 1}

    run(scenario())
