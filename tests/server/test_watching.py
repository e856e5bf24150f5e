"""Watched folders: what recorders write there is in the corpus as it happens.

The services of a real server over a real store and real file events; what happens is awaited in the
changes of the session list, never slept for.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from server.data_directory import DataDirectory
from server.settings import Settings
from server.wiring import Services, open_for_serving
from sessiongraph.corpus import LogicalSession
from sessiongraph.corpus_changes import ChangeKind
from sessiongraph.event import Seq
from sessiongraph.filters import Availability, SessionSelection
from sessiongraph.ports import SessionOrder
from tests.providers.recordings.transcript_writing import (
    SESSION,
    Json,
    as_lines,
    asked,
    codex_meta,
    history,
    replied,
    text,
    write_lines,
)

SOON_S = 20


class Server:
    """A server that watches a folder, and what happened to its list of sessions."""

    def __init__(self, services: Services, folder: Path) -> None:
        assert services.live is not None
        self.live = services.live
        self.folder = folder
        self._seen: list[tuple[ChangeKind, str]] = []
        self._news = asyncio.Condition()
        self.collecting = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        async for change in self.live.changes.follow(None):
            async with self._news:
                self._seen.append((change.kind, change.session_id))
                self._news.notify_all()

    async def until(self, kind: ChangeKind, session_id: str = SESSION) -> None:
        """Wait for a change of one session that was not waited for yet."""
        async with asyncio.timeout(SOON_S), self._news:
            await self._news.wait_for(lambda: (kind, session_id) in self._seen)
            self._seen.remove((kind, session_id))

    async def session(self, session_id: str = SESSION) -> LogicalSession:
        async with self.live.corpus.observe() as view:
            return (await view.find([session_id]))[session_id]

    async def listed(self, availability: Availability) -> list[str]:
        selection = SessionSelection(availability=frozenset({availability}))
        async with self.live.corpus.observe() as view:
            found = await view.sessions(selection, SessionOrder.CREATED, limit=10)
        return [each.session_id for each in found]

    async def has_seq(self, seq: Seq, session_id: str = SESSION) -> None:
        """Wait for an event."""
        async with asyncio.timeout(SOON_S):
            async for event in self.live.following.events(session_id, -1):
                if event.seq == seq:
                    return


@asynccontextmanager
async def watching(
    tmp_path: Path, folder: str = "watched", **settings: Any
) -> AsyncIterator[Server]:
    watched = tmp_path / folder
    chosen = Settings(data_dir=tmp_path / "data", watch=(watched,), **settings)
    directory = DataDirectory(chosen.data_dir)
    with directory.hold("test"):
        async with open_for_serving(chosen, directory) as services:
            server = Server(services, watched)
            await asyncio.sleep(0)  # the list is followed from here on
            if watched.exists():
                assert services.watching is not None
                await services.watching.established.wait()
            yield server
            server.live.end_streams()
            await server.collecting


Scenario = Callable[[Server], Awaitable[None]]


def run(tmp_path: Path, scenario: Scenario, **settings: Any) -> None:
    async def whole() -> None:
        async with watching(tmp_path, **settings) as server:
            await scenario(server)

    (tmp_path / "watched").mkdir(exist_ok=True)
    asyncio.run(whole())


def append(path: Path, *records: Json) -> None:
    with path.open("ab") as file:
        file.write(as_lines(records))


def test_what_is_there_at_the_start_is_imported(tmp_path: Path) -> None:
    (tmp_path / "watched").mkdir()
    write_lines(tmp_path / "watched" / "a" / "log.jsonl", [asked(0, "hello")])

    async def scenario(server: Server) -> None:
        await server.until(ChangeKind.IMPORTED)

    run(tmp_path, scenario)


def test_a_new_file_is_a_live_session_and_what_it_gains_reaches_followers(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        path = write_lines(server.folder / "log.jsonl", [asked(0, "hello")])
        await server.until(ChangeKind.RESUMED)
        session = await server.session()
        assert (session.live, session.persisted, session.last_seq) == (True, True, 1)
        assert await server.listed(Availability.LIVE) == [SESSION]
        followed = server.live.following.events(SESSION, 1)
        append(path, replied(1, "m1", text("hi")))
        async with asyncio.timeout(SOON_S):
            types = [(await anext(followed)).type for _ in range(2)]
        assert types == ["step/start", "assistant/message"]

    run(tmp_path, scenario)


def test_a_session_whose_file_does_not_grow_is_closed_and_live_again_when_it_does(
    tmp_path: Path,
) -> None:
    async def scenario(server: Server) -> None:
        path = write_lines(server.folder / "log.jsonl", [asked(0, "hello")])
        await server.until(ChangeKind.RESUMED)
        await server.until(ChangeKind.CLOSED)
        assert not (await server.session()).live
        assert await server.listed(Availability.LIVE) == []
        assert await server.listed(Availability.PERSISTED) == [SESSION]
        append(path, asked(1, "again"))
        await server.until(ChangeKind.RESUMED)
        await server.until(ChangeKind.CLOSED)
        events = (await server.session()).last_seq
        assert events == 4, "nothing was repaired: the turn of the file is open as it is"

    run(tmp_path, scenario, idle_close_s=0.3)


def test_a_file_that_disappears_closes_its_session_and_changes_nothing_else(
    tmp_path: Path,
) -> None:
    async def scenario(server: Server) -> None:
        path = write_lines(server.folder / "log.jsonl", [asked(0, "hello")])
        await server.until(ChangeKind.RESUMED)
        path.unlink()
        await server.until(ChangeKind.CLOSED)
        session = await server.session()
        assert (session.live, session.persisted, session.last_seq) == (False, True, 1)

    run(tmp_path, scenario)


def test_a_folder_that_disappears_closes_the_sessions_in_it(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        write_lines(server.folder / "deep" / "er" / "log.jsonl", [asked(0, "hello")])
        await server.until(ChangeKind.RESUMED)
        await asyncio.to_thread(shutil.rmtree, server.folder / "deep")
        await server.until(ChangeKind.CLOSED)

    run(tmp_path, scenario)


def test_a_renamed_file_goes_on_under_its_new_name(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        path = write_lines(server.folder / "log.jsonl", [asked(0, "hello")])
        await server.until(ChangeKind.RESUMED)
        renamed = path.rename(server.folder / "renamed.jsonl")
        await server.until(ChangeKind.CLOSED)
        append(renamed, asked(1, "again"))
        await server.has_seq(4)
        session = await server.session()
        assert session.header.source.path == str(renamed)
        assert session.last_seq == 4

    run(tmp_path, scenario)


def test_a_rotated_file_is_two_sessions(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        path = write_lines(server.folder / "log.jsonl", [asked(0, "hello")])
        await server.until(ChangeKind.RESUMED)
        path.rename(server.folder / "log.1.jsonl")
        write_lines(
            path, [asked(0, "other", sessionId="second"), asked(1, "b", sessionId="second")]
        )
        await server.until(ChangeKind.IMPORTED, "second")
        assert (await server.session()).last_seq == 1
        assert (await server.session("second")).last_seq == 4

    run(tmp_path, scenario)


def test_a_truncated_file_takes_the_place_of_its_session(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        records = [asked(0, "hello"), asked(1, "again"), asked(2, "more")]
        path = write_lines(server.folder / "log.jsonl", records)
        await server.until(ChangeKind.RESUMED)
        os.truncate(path, len(as_lines(records[:2])))
        await server.until(ChangeKind.REPLACED)
        assert (await server.session()).last_seq == 4
        append(path, asked(9, "a new end"))
        await server.has_seq(7)

    run(tmp_path, scenario)


def test_a_file_of_nobody_and_a_torn_one_stop_nothing(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        (server.folder / "bad.jsonl").write_bytes(b"\x00\n" * 9)
        write_lines(server.folder / "c.jsonl", [codex_meta("c"), history(1, "user", "go")])
        await server.until(ChangeKind.IMPORTED, "c")
        path = server.folder / "log.jsonl"
        content = as_lines([asked(0, "hello"), asked(1, "again")])
        path.write_bytes(content[: len(content) // 2 + 9])
        await server.until(ChangeKind.IMPORTED)
        with path.open("ab") as file:
            file.write(content[len(content) // 2 + 9 :])
        await server.has_seq(4)

    run(tmp_path, scenario)


def test_a_folder_that_is_made_later_is_watched(tmp_path: Path) -> None:
    async def scenario(server: Server) -> None:
        write_lines(server.folder / "log.jsonl", [asked(0, "hello")])
        await server.until(ChangeKind.IMPORTED)

    run(tmp_path, scenario, folder="later", rescan_s=1)


def test_thousands_of_files_are_watched_and_growth_is_seen_among_them(tmp_path: Path) -> None:
    (tmp_path / "watched").mkdir()
    for number in range(2000):
        folder = tmp_path / "watched" / f"p{number % 20}"
        path = write_lines(folder / f"{number}.jsonl", [asked(0, "old", sessionId=f"s{number}")])
        os.utime(path, (1_700_000_000, 1_700_000_000))

    async def scenario(server: Server) -> None:
        path = server.folder / "p7" / "7.jsonl"
        append(path, asked(1, "new", sessionId="s7"))
        await server.until(ChangeKind.IMPORTED, "s7")
        await server.has_seq(4, "s7")

    run(tmp_path, scenario)
