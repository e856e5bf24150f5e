"""What a list knows already is what a store that knows nothing reads."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.sqlite import known_sessions
from providers.sqlite.log_store import SqliteLogStore
from sessiongraph.filters import ALL_SESSIONS
from sessiongraph.ports import SessionOrder, StoredSession
from tests.contracts.log_stage import append, publish, stored
from tests.plain_store import run
from tests.providers.sqlite.stores import sqlite_at
from tests.strategies import event, header, placed, prompt

IDS = ("a", "b", "c")
CHANGES = ("create", "replace", "append", "title", "prompt", "grow", "detach", "delete")


async def listed(store: SqliteLogStore) -> list[StoredSession]:
    async with store.observe() as reader:
        return await reader.sessions(ALL_SESSIONS, SessionOrder.CREATED, limit=100)


async def change(store: SqliteLogStore, kind: str, session_id: str, number: int) -> None:
    """One of everything that changes what a list shows of a session."""
    present = {each.header.session_id for each in await listed(store)}
    name = f"/{kind}/{number}"
    if kind in ("create", "replace"):
        if kind == "replace" or session_id not in present:
            await publish(store, header(session_id, cwd=name), [event(0, "x/y")])
        return
    if session_id not in present:
        return
    session = await stored(store, session_id)
    seq = session.last_seq + 1
    if kind == "delete":
        await store.delete(session_id)
    elif kind == "detach":
        await store.detach(session_id, session.epoch, [name])
    elif kind == "grow":
        growth = await store.stage_growth(session)
        await growth.publish(header(session_id, cwd=name))
    else:
        entry = {
            "append": event(seq, "x/y"),
            "title": event(seq, "session/title", {"title": name}),
            "prompt": prompt(seq, "hello", time=number),
        }[kind]
        log = [event(each, "x/y") for each in range(seq)]
        await append(store, session_id, [placed([*log, entry])[seq:]])


@given(st.lists(st.tuples(st.sampled_from(CHANGES), st.sampled_from(IDS)), max_size=12))
@settings(max_examples=60, deadline=None)
def test_a_list_shows_what_is_there_whatever_it_showed_before(
    changes: list[tuple[str, str]],
) -> None:
    async def scenario(path: Path) -> None:
        async with sqlite_at(path) as store:
            for number, (kind, session_id) in enumerate([("create", "a"), *changes]):
                await change(store, kind, session_id, number)
                shown = await listed(store)
                async with sqlite_at(path, read_only=True) as fresh:
                    assert shown == await listed(fresh)
                assert await listed(store) == shown

    with tempfile.TemporaryDirectory() as folder:
        run(scenario(Path(folder) / "log.db"))


def test_what_is_kept_of_many_and_of_large_sessions_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_sessions, "KEPT_SESSIONS", 3)

    async def scenario() -> None:
        async with sqlite_at(tmp_path / "log.db") as store:
            for number in range(8):
                await store.create(header(f"s{number}", created_at=number))
            await store.create(header("large", created_at=9, cwd="/" + "x" * 5_000))
            first = await listed(store)
            assert [each.header.session_id for each in first] == [
                "large", *(f"s{number}" for number in reversed(range(8)))
            ]  # fmt: skip
            assert await listed(store) == first
            kept = store._observations._known._sessions.values()
            assert len(kept) == 3
            assert "large" not in {each.header.session_id for each in kept}

    run(scenario())
