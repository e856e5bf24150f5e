"""What every store of checkpoints must do, whatever it is made of.

A provider passes when it answers like a dictionary that is asked in the same words. Logs are made
through the log store that belongs to it, since a provider may look at them: what it does with rows
of a log that is no longer there is its own business, as long as it never answers them for another.
``test_checkpoint_store.py`` runs this suite on every provider.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.ports import LogStore
from sessiongraph.projections.ports import CheckpointRow, CheckpointStore, LogIdentity
from tests.plain_store import run
from tests.strategies import any_text, event, header, placed

LENGTH = 10
"""Events in every log that is made here."""

KEYS = ("title", "todos", "custom/Ü", "x" * 300)


@dataclass(frozen=True)
class Provider:
    """One implementation of the port, and the log store that it belongs to.

    durable: whether a store that is opened again at the same path has everything.
    """

    name: str
    open: Callable[[Path], tuple[LogStore, CheckpointStore]]
    durable: bool


@dataclass(frozen=True)
class Checkpoints:
    """An open provider."""

    logs: LogStore
    store: CheckpointStore

    async def new_log(self, session_id: str = "a", **members: Any) -> LogIdentity:
        """A stored log; answers what rows of it are bound to."""
        log = [event(seq, "x/y") for seq in range(LENGTH)]
        await self.logs.create(header(session_id, **members), placed(log))
        return await self.identity(session_id)

    async def replace_log(self, session_id: str = "a") -> LogIdentity:
        """The log read anew."""
        staged = await self.logs.stage(header(session_id))
        await staged.append(placed([event(seq, "z/z") for seq in range(LENGTH)]))
        await staged.publish(header(session_id))
        return await self.identity(session_id)

    async def identity(self, session_id: str) -> LogIdentity:
        async with self.logs.observe() as reader:
            return LogIdentity.of((await reader.find([session_id]))[session_id])

    async def rows(self, log: LogIdentity, *keys: str) -> dict[str, CheckpointRow]:
        """The rows of one log by key."""
        found = await self.store.rows([log], keys or KEYS)
        return {row.key: row for row in found.get(log.session_id, [])}


class Stores:
    """Makes providers, each in a folder of its own."""

    def __init__(self, provider: Provider, folder: Path) -> None:
        self.provider = provider
        self._folder = folder
        self._numbers = count()

    @asynccontextmanager
    async def new(self) -> AsyncIterator[Checkpoints]:
        """An empty store, closed at the end."""
        async with self.at(self.new_path()) as checkpoints:
            yield checkpoints

    @asynccontextmanager
    async def at(self, path: Path) -> AsyncIterator[Checkpoints]:
        """The store at a path."""
        logs, store = self.provider.open(path)
        try:
            yield Checkpoints(logs, store)
        finally:
            await logs.close()

    def new_path(self) -> Path:
        """A path with nothing at it."""
        return self._folder / f"{next(self._numbers)}.db"


def durable_or_skip(stores: Stores) -> Iterator[Stores]:
    """The stores of a provider that keeps what it was given."""
    if not stores.provider.durable:
        pytest.skip(f"{stores.provider.name} keeps nothing")
    yield stores


def row(key: str = "title", seq: int = 5, **members: Any) -> CheckpointRow:
    """A row under a key."""
    fields: dict[str, Any] = {"version": 1, "changed_seq": -1, "state": b'{"n":1}'}
    return CheckpointRow(key=key, seq=seq, **{**fields, **members})


rows_of_any_kind = st.builds(
    CheckpointRow,
    key=st.sampled_from(KEYS),
    version=st.sampled_from([0, 1, 2**31, 2**53]),
    seq=st.integers(-1, LENGTH - 1),
    changed_seq=st.integers(-1, LENGTH - 1),
    state=st.binary(max_size=40) | st.just(b"x" * 100_000),
)


class CheckpointStoreContract:
    """The tests; ``stores`` is a fixture."""

    def test_without_rows_nothing_is_answered(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as checkpoints:
                log = await checkpoints.new_log()
                assert await checkpoints.store.rows([log], KEYS) == {}
                assert await checkpoints.store.rows([], KEYS) == {}
                assert await checkpoints.store.rows([log], []) == {}

        run(scenario())

    @given(written=st.lists(rows_of_any_kind, max_size=4, unique_by=lambda each: each.key))
    def test_rows_come_back_as_they_were_written(
        self, stores: Stores, written: list[CheckpointRow]
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as checkpoints:
                log = await checkpoints.new_log()
                await checkpoints.store.write(log, written)
                assert await checkpoints.rows(log) == {each.key: each for each in written}

        run(scenario())

    @given(session_id=any_text.filter(bool), cwd=st.none() | any_text, key=any_text.filter(bool))
    def test_every_text_can_be_an_id_a_cwd_and_a_key(
        self, stores: Stores, session_id: str, cwd: str | None, key: str
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as checkpoints:
                log = await checkpoints.new_log(session_id, cwd=cwd)
                await checkpoints.store.write(log, [row(key)])
                assert await checkpoints.rows(log, key) == {key: row(key)}

        run(scenario())

    @given(data=st.data())
    def test_a_sequence_of_writes_leaves_what_a_dictionary_would_hold(
        self, stores: Stores, data: st.DataObject
    ) -> None:
        steps = data.draw(
            st.lists(
                st.tuples(
                    st.sampled_from("ab"),
                    st.lists(rows_of_any_kind, max_size=3, unique_by=lambda each: each.key),
                    st.lists(st.sampled_from(KEYS), max_size=2),
                ),
                max_size=6,
            )
        )

        async def scenario() -> None:
            async with stores.new() as checkpoints:
                logs = {each: await checkpoints.new_log(each) for each in "ab"}
                held: dict[str, dict[str, CheckpointRow]] = {"a": {}, "b": {}}
                for session_id, written, gone in steps:
                    keys = {each.key for each in written}
                    kept_out = [key for key in gone if key not in keys]
                    await checkpoints.store.write(logs[session_id], written, kept_out)
                    for key in kept_out:
                        held[session_id].pop(key, None)
                    held[session_id] |= {each.key: each for each in written}
                for session_id, log in logs.items():
                    assert await checkpoints.rows(log) == held[session_id]

        run(scenario())

    def test_the_rows_of_many_sessions_are_answered_at_once_under_the_named_keys(
        self, stores: Stores
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as checkpoints:
                logs = [await checkpoints.new_log(f"s{number}") for number in range(12)]
                for number, log in enumerate(logs):
                    if number % 3:
                        rows = [row("title", number % LENGTH), row("todos"), row("custom/Ü")]
                        await checkpoints.store.write(log, rows)
                found = await checkpoints.store.rows(logs, ["title", "custom/Ü", "nobody"])
                assert set(found) == {f"s{number}" for number in range(12) if number % 3}
                for session_id, rows in found.items():
                    number = int(session_id[1:])
                    assert sorted(rows, key=lambda each: each.key) == [
                        row("custom/Ü"),
                        row("title", number % LENGTH),
                    ]

        run(scenario())

    def test_thousands_of_sessions_can_be_asked_for(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as checkpoints:
                log = await checkpoints.new_log()
                await checkpoints.store.write(log, [row()])
                others = [replace(log, session_id=f"nobody {number}") for number in range(3000)]
                found = await checkpoints.store.rows([*others, log], KEYS)
                assert found == {"a": [row()]}

        run(scenario())

    @pytest.mark.parametrize(
        "difference", [{"epoch": 10**6}, {"created_at": 1}, {"cwd": "/elsewhere"}], ids=str
    )
    def test_rows_are_never_answered_for_another_log(
        self, stores: Stores, difference: dict[str, Any]
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as checkpoints:
                log = await checkpoints.new_log(cwd="/here")
                await checkpoints.store.write(log, [row()])
                assert await checkpoints.rows(replace(log, **difference)) == {}
                assert await checkpoints.rows(log) == {"title": row()}

        run(scenario())

    def test_a_log_that_was_read_anew_begins_without_rows(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as checkpoints:
                old = await checkpoints.new_log()
                await checkpoints.store.write(old, [row("title"), row("todos")])
                new = await checkpoints.replace_log()
                assert await checkpoints.rows(new) == {}
                await checkpoints.store.write(new, [row("title", 3)])
                assert await checkpoints.rows(new) == {"title": row("title", 3)}
                assert await checkpoints.rows(old) == {}

        run(scenario())

    def test_a_late_write_for_the_old_log_is_never_answered_for_the_new_one(
        self, stores: Stores
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as checkpoints:
                old = await checkpoints.new_log()
                new = await checkpoints.replace_log()
                await checkpoints.store.write(new, [row("title", 3)])
                await checkpoints.store.write(old, [row("title", 7)])
                assert await checkpoints.rows(new) in ({}, {"title": row("title", 3)})

        run(scenario())

    def test_deleting_removes_every_row_of_the_session_and_of_no_other(
        self, stores: Stores
    ) -> None:
        async def scenario() -> None:
            async with stores.new() as checkpoints:
                logs = [await checkpoints.new_log(each) for each in "ab"]
                for log in logs:
                    await checkpoints.store.write(log, [row("title"), row("todos")])
                await checkpoints.store.delete("a")
                await checkpoints.store.delete("nobody")
                assert await checkpoints.rows(logs[0]) == {}
                assert set(await checkpoints.rows(logs[1])) == {"title", "todos"}
                await checkpoints.store.write(logs[0], [row("title", 9)])
                assert await checkpoints.rows(logs[0]) == {"title": row("title", 9)}

        run(scenario())

    def test_writes_of_many_sessions_at_once_all_arrive(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as checkpoints:
                logs = [await checkpoints.new_log(f"s{number}") for number in range(12)]
                work = [checkpoints.store.write(log, [row(), row("todos")]) for log in logs]
                await asyncio.gather(*work)
                found = await checkpoints.store.rows(logs, KEYS)
                assert {each: len(rows) for each, rows in found.items()} == {
                    log.session_id: 2 for log in logs
                }

        run(scenario())

    def test_what_was_written_is_there_when_the_store_is_opened_again(
        self, durable_stores: Stores
    ) -> None:
        async def scenario() -> None:
            path = durable_stores.new_path()
            async with durable_stores.at(path) as checkpoints:
                log = await checkpoints.new_log()
                await checkpoints.store.write(log, [row()])
            async with durable_stores.at(path) as checkpoints:
                assert await checkpoints.rows(log) == {"title": row()}

        run(scenario())
