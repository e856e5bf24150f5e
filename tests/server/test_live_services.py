"""The live half of a server: what runs beside requests, and the order in which it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from providers.sqlite.checkpoints import SqliteCheckpointStore
from server.data_directory import DataDirectory
from server.live_services import LiveServices
from server.settings import Settings
from server.wiring import Services, open_for_serving, open_for_writing
from sessiongraph.corpus_changes import ChangeKind
from sessiongraph.errors import PersistenceFailed
from sessiongraph.live_sessions import Durability, LiveLimits
from sessiongraph.new_event import NewEvent
from sessiongraph.new_session import NewSession
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import Position
from sessiongraph.projections.checkpointing import CheckpointLimits
from sessiongraph.projections.driving import ProjectionLimits

EVENT = NewEvent.of("custom/thing", {"a": 1})


@asynccontextmanager
async def served(path: Path, **settings: Any) -> AsyncIterator[tuple[Services, LiveServices]]:
    """Services as a server has them; nothing of them runs afterwards."""
    before = asyncio.all_tasks()
    directory = DataDirectory(path)
    directory.create()
    async with open_for_serving(Settings(data_dir=path, **settings), directory) as services:
        assert services.live is not None
        yield services, services.live
    left = asyncio.all_tasks() - before
    assert not left, f"tasks left behind: {left}"


async def last_seq(services: Services, session_id: str) -> int:
    async with services.query.observe() as observation:
        return (await observation.find([session_id]))[session_id].last_seq


def test_what_was_accepted_is_on_disk_after_a_clean_stop(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path, write_delay_ms=60_000) as (_, live):
            await live.writing.create(NewSession(session_id="s"), Durability.ACCEPTED)
            await live.writing.append("s", [EVENT] * 3, None, Durability.ACCEPTED)
        async with open_for_writing(
            Settings(data_dir=tmp_path), DataDirectory(tmp_path)
        ) as services:
            assert services.live is None
            assert await last_seq(services, "s") == 2

    asyncio.run(run())


def test_a_write_whose_client_has_gone_is_finished_before_the_store_is_closed(
    tmp_path: Path,
) -> None:
    async def run() -> None:
        async with served(tmp_path) as (services, live):
            create = live.writing.create(NewSession(session_id="s"), Durability.DURABLE)
            leaving = asyncio.create_task(services.of_operations().writes.run(create))
            await asyncio.sleep(0)
            leaving.cancel()
        async with served(tmp_path) as (services, _):
            assert await last_seq(services, "s") == -1

    asyncio.run(run())


def test_a_session_that_nobody_uses_is_closed_after_a_while(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path, live_idle_close_s=1) as (_, live):
            following = live.changes.follow(None)
            await live.writing.create(NewSession(session_id="s"), Durability.DURABLE)
            async with asyncio.timeout(20):
                async for change in following:
                    if change.kind is ChangeKind.CLOSED:
                        break
            await following.aclose()  # type: ignore[attr-defined]

    asyncio.run(run())


def test_followers_end_when_the_stop_begins(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as (_, live):
            await live.writing.create(NewSession(session_id="s"), Durability.DURABLE)
            await live.writing.append("s", [EVENT], None, Durability.DURABLE)

            async def follow() -> list[int]:
                return [event.seq async for event in live.following.events("s", -1)]

            following = asyncio.create_task(follow())
            await asyncio.sleep(0.01)
            live.end_streams()
            assert await asyncio.wait_for(following, 5) == [0]
            assert [change async for change in live.changes.follow(None)] == []

    asyncio.run(run())


@pytest.mark.parametrize("fails", [True, False], ids=["fails", "hangs"])
def test_a_sick_disk_does_not_hold_up_a_stop_and_the_loss_is_logged(
    tmp_path: Path, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def sick(_session_id: str, _epoch: int, _entries: Sequence[PlacedEntry]) -> Position:
        if fails:
            raise PersistenceFailed("the disk is full")
        await asyncio.Event().wait()
        raise AssertionError

    async def run() -> None:
        loop = asyncio.get_running_loop()
        async with served(tmp_path, shutdown_grace_s=1, write_delay_ms=60_000) as (services, live):
            await live.writing.create(NewSession(session_id="s"), Durability.DURABLE)
            await live.writing.append("s", [EVENT], None, Durability.ACCEPTED)
            monkeypatch.setattr(services.store, "append", sick)
            began = loop.time()
        assert loop.time() - began < 4

    with capture_logs() as logged:
        asyncio.run(run())
    (lost,) = [entry for entry in logged if entry["log_level"] == "error"]
    assert "accepted events are lost" in lost["event"]
    assert lost["sessions"] == 1
    assert lost["octets"] >= len(EVENT.payload)


def test_a_task_that_fails_is_begun_again_and_the_fault_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with served(tmp_path) as (_, live):
            await live.writing.create(NewSession(session_id="s"), Durability.DURABLE)
            monkeypatch.setattr("server.kept_up._RESTART_S", 0)
            serve = live.following._serve
            failing = [True]

            async def fails_once(commits: Any) -> None:
                if failing:
                    failing.clear()
                    raise RuntimeError("a fault of ours")
                await serve(commits)

            monkeypatch.setattr(live.following, "_serve", fails_once)
            await live.writing.append("s", [EVENT], None, Durability.DURABLE)
            async with asyncio.timeout(10):
                while failing:  # noqa: ASYNC110 - the fault tells nobody
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.05)
            following = live.following.events("s", 0)
            waiting = asyncio.create_task(anext(following))  # type: ignore[arg-type]
            await asyncio.sleep(0.01)
            await live.writing.append("s", [EVENT], None, Durability.DURABLE)
            assert (await asyncio.wait_for(waiting, 5)).seq == 1
            await following.aclose()  # type: ignore[attr-defined]

    with capture_logs() as logged:
        asyncio.run(run())
    assert [entry["task"] for entry in logged if entry["log_level"] == "error"] == ["following"]


def test_every_setting_of_the_live_half_reaches_its_place(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(
            tmp_path,
            write_delay_ms=1,
            write_retry_ms=20,
            unwritten_max_bytes=3000,
            follow_ring_events=4,
            corpus_backlog=5,
            live_idle_close_s=0,
            projection_sessions=7,
            checkpoint_events=8,
            checkpoint_ms=90,
        ) as (_, live):
            assert live._sessions._limits == LiveLimits(1, 20, 3000)
            assert live.following._ring_events == 4
            assert live.changes._backlog.maxlen == 5
            assert live.projections._drive._limits == ProjectionLimits(7, CheckpointLimits(8, 90))
            names = {task.get_name() for task in asyncio.all_tasks()}
            assert "following" in names
            assert "closing idle sessions" not in names

    asyncio.run(run())


# Projections


async def stored_title(live: LiveServices, services: Services, session_id: str) -> tuple[int, Any]:
    async with services.store.observe() as reader:
        stored = (await reader.find([session_id]))[session_id]
    snapshot = (await live.projections.stored([stored], ["title"]))[session_id]
    return snapshot.as_of_seq, snapshot.values().get("title")


TITLE = NewEvent.of("session/title", {"title": "half a turn", "messageSeqs": []})


def test_a_clean_stop_writes_what_was_folded(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path, write_delay_ms=60_000) as (_, live):
            await live.writing.create(NewSession(session_id="s"), Durability.DURABLE)
            await live.writing.append("s", [EVENT, TITLE], None, Durability.ACCEPTED)
        async with served(tmp_path) as (services, live):
            assert await stored_title(live, services, "s") == (1, "half a turn")

    asyncio.run(run())


def test_a_start_gives_checkpoints_to_sessions_that_lack_them(tmp_path: Path) -> None:
    async def run() -> None:
        async with served(tmp_path) as (services, live):
            await live.writing.create(NewSession(session_id="s"), Durability.DURABLE)
            await live.writing.append("s", [TITLE], None, Durability.DURABLE)
        async with open_for_writing(
            Settings(data_dir=tmp_path), DataDirectory(tmp_path)
        ) as services:
            await services.store.writer.run(lambda each: each.execute("DELETE FROM checkpoints"))
        async with served(tmp_path) as (services, live), asyncio.timeout(20):
            while await stored_title(live, services, "s") != (0, "half a turn"):  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    asyncio.run(run())


@pytest.mark.parametrize("fails", [True, False], ids=["fails", "hangs"])
def test_checkpoints_that_cannot_be_written_do_not_hold_up_a_stop(
    tmp_path: Path, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def sick(*_: Any) -> None:
        if fails:
            raise PersistenceFailed("the disk is full")
        await asyncio.Event().wait()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        async with served(tmp_path, shutdown_grace_s=1) as (_, live):
            await live.writing.create(NewSession(session_id="s"), Durability.DURABLE)
            monkeypatch.setattr(SqliteCheckpointStore, "write", sick)
            await live.writing.append("s", [TITLE], None, Durability.DURABLE)
            await live.projections.snapshot("s")
            begun = loop.time()
        assert loop.time() - begun < 5
        monkeypatch.undo()
        async with served(tmp_path) as (_, live):
            assert (await live.projections.snapshot("s")).values()["title"] == "half a turn"

    with capture_logs() as logged:
        asyncio.run(run())
    warnings = [each["event"] for each in logged if each["log_level"] == "warning"]
    assert any("checkpoint" in each for each in warnings)
