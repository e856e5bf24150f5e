"""Reading one log, and observations that stand while others write."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessiongraph.event import (
    DeltaKind,
    Entry,
    EventEnvelope,
    SessionEvent,
    events_of,
)
from sessiongraph.filters import ALL_EVENTS
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import (
    LogStore,
)
from sessiongraph.surface import Surface
from tests.contracts.log_stage import (
    EVERYTHING,
    Stores,
    all_entries,
    answers,
    answers_now,
    append,
    conversation,
    ids_in_order,
    one,
    publish,
    stored,
    told_entry,
    told_event,
    told_placed,
    write,
)
from tests.plain_store import run
from tests.strategies import (
    delta_run,
    event,
    event_selections,
    header,
    logs,
    message,
    placed,
    prompt,
    splits,
    windows,
)


class LogReadsContract:
    """Needs the fixture ``stores``; see :mod:`tests.contracts.log_store`."""

    # Reading one log

    @given(log=logs())
    def test_every_answer_about_a_log_equals_the_plain_one(
        self, stores: Stores, log: list[Entry]
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log)
                await write(plain, header("a"), log)
                assert await answers_now(store, "a") == await answers_now(plain, "a")

        run(scenario())

    @given(batches=logs(min_size=1).flatmap(splits))
    def test_a_log_is_the_same_in_whatever_batches_it_came(
        self, stores: Stores, batches: list[list[Entry]]
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                log = [entry for batch in batches for entry in batch]
                entries = iter(placed(log))
                await store.create(header("a"))
                await append(store, "a", [[next(entries) for _ in batch] for batch in batches])
                await write(plain, header("a"), log)
                assert await answers_now(store, "a") == await answers_now(plain, "a")

        run(scenario())

    @given(log=logs(min_size=3), data=st.data())
    def test_event_windows_equal_the_plain_ones_under_every_filter(
        self, stores: Stores, log: list[Entry], data: st.DataObject
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log)
                await write(plain, header("a"), log)
                async with store.observe() as mine, plain.observe() as theirs:
                    session, model = await one(mine, "a"), await one(theirs, "a")
                    keys = st.integers(-1, session.last_seq + 1)
                    for _ in range(8):
                        selection = data.draw(st.just(ALL_EVENTS) | event_selections())
                        window = data.draw(windows(keys))
                        found = await mine.events(session, selection, window)
                        expected = await theirs.events(model, selection, window)
                        assert [*map(told_placed, found)] == [*map(told_placed, expected)]
                        envelopes = await mine.envelopes(session, selection, window)
                        assert envelopes == [EventEnvelope.of(each) for each in expected]

        run(scenario())

    @given(log=logs(min_size=3), data=st.data())
    def test_surface_windows_equal_the_plain_ones(
        self, stores: Stores, log: list[Entry], data: st.DataObject
    ) -> None:
        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log)
                await write(plain, header("a"), log)
                async with store.observe() as mine, plain.observe() as theirs:
                    session, model = await one(mine, "a"), await one(theirs, "a")
                    for _ in range(6):
                        window = data.draw(windows(st.integers(-1, session.last_seq + 1)))
                        found = await mine.surface(session, window)
                        expected = await theirs.surface(model, window)
                        assert [*map(told_placed, found)] == [*map(told_placed, expected)]

        run(scenario())

    @given(log=logs(min_size=1), data=st.data())
    def test_a_range_of_entries_holds_exactly_the_events_of_the_range(
        self, stores: Stores, log: list[Entry], data: st.DataObject
    ) -> None:
        """Runs at the borders may come whole."""

        async def scenario() -> None:
            events = [each for entry in log for each in events_of(entry)]
            first = data.draw(st.integers(0, len(events)))
            last = data.draw(st.none() | st.integers(0, len(events)))
            bound = len(events) if last is None else last
            async with stores.new() as store:
                await write(store, header("a"), log)
                async with store.observe() as reader:
                    session = await one(reader, "a")
                    found = [e async for page in reader.entries(session, first, last) for e in page]
                members = [each for entry in found for each in events_of(entry)]
                inside = [told_event(e) for e in members if first <= e.seq <= bound]
                assert inside == [told_event(e) for e in events if first <= e.seq <= bound]
                assert all(e.last_seq >= first and e.seq <= bound for e in found)

        run(scenario())

    @pytest.mark.parametrize("kind", DeltaKind)
    def test_a_delta_run_comes_back_as_one_entry(self, stores: Stores, kind: DeltaKind) -> None:
        async def scenario() -> None:
            texts = ["", "\ud800", "\x00", "超时 🚀", "\ufeff"]
            call = {"call_id": "c\x00", "name": "\udfff"} if kind is DeltaKind.TOOL_CALL else {}
            given_run = delta_run(1, texts, kind=kind, gaps=[-5, 0, 7, 1], **call)
            async with stores.new() as store:
                await write(store, header("a"), [prompt(0, "go"), given_run, event(6, "turn/end")])
                async with store.observe() as reader:
                    session = await one(reader, "a")
                    found = await all_entries(reader, session)
                assert told_entry(found[1]) == told_entry(given_run)

        run(scenario())

    def test_payloads_are_kept_to_the_byte(self, stores: Stores) -> None:
        async def scenario() -> None:
            texts = [
                b'{ "b":1,\t"a" : [1.0, 1e2, -0.0, 123456789012345678901234567890] }',
                b'{"lone":"\\ud800","escaped":"\\u00e9","twice":1,"twice":2}',
                '{"plain":"\u2028 \U0001f680 \x7f"}'.encode(),
                b'{"message":{"content":[]},"stream":[ {"type":"chunk"} ], "after":1}',
            ]
            names = ["a/b", "user/note", "custom/thing", "assistant/attempt"]
            log: list[Entry] = [
                SessionEvent(seq, name, 5, text)
                for seq, (name, text) in enumerate(zip(names, texts, strict=True))
            ]
            async with stores.new() as store:
                await write(store, header("a"), log)
                async with store.observe() as reader:
                    session = await one(reader, "a")
                    assert await reader.payloads(session, range(4)) == dict(enumerate(texts))
                    found = await all_entries(reader, session)
                assert [told_entry(entry)[3] for entry in found] == texts

        run(scenario())

    def test_large_events_of_many_logs_are_read_together(self, stores: Stores) -> None:
        async def scenario() -> None:
            dice = random.Random(5)
            logs = {
                f"s{n}": [prompt(0, "a"), prompt(1, dice.randbytes(50_000).hex())]
                for n in range(12)
            }
            async with stores.new() as store:
                for session_id, log in logs.items():
                    await write(store, header(session_id), log)
                async with store.observe() as reader:
                    found = await reader.find(logs)
                    wanted = [(each, seq) for seq in (1, 2, 0, -1) for each in found.values()]
                    events = await reader.each_at(wanted)
            for (session, seq), each in zip(wanted, events, strict=True):
                if seq not in (0, 1):
                    assert each is None
                    continue
                assert each is not None
                session_id = session.header.session_id
                expected = logs[session_id][seq].payload
                assert (each.session_id, each.event.payload) == (session_id, expected)

        run(scenario())

    def test_a_long_log_comes_in_pages(self, stores: Stores) -> None:
        async def scenario() -> None:
            log: list[Entry] = [event(seq, "x/y", {"n": seq}) for seq in range(6_000)]
            async with stores.new() as store:
                await write(store, header("a"), log, batches=6)
                async with store.observe() as reader:
                    session = await one(reader, "a")
                    pages = [[e.seq for e in page] async for page in reader.entries(session)]
                assert len(pages) > 1
                assert [seq for page in pages for seq in page] == list(range(6_000))

        run(scenario())

    def test_a_long_chain_of_replacements_is_followed_to_its_end(self, stores: Stores) -> None:
        async def scenario() -> None:
            length = 1_200
            log: list[Entry] = [message(0)]
            log += [message(n, replaces=(n - 1, n - 1), sources=[n - 1]) for n in range(1, length)]
            async with stores.new() as store:
                await write(store, header("a"), log)
                async with store.observe() as reader:
                    session = await one(reader, "a")
                    chain = await reader.replacement_chain(session, 0)
                    assert chain == list(range(1, length))
                    assert await reader.replacement_chain(session, length - 1) == []

        run(scenario())

    def test_sessions_with_shadowed_events_are_known_together(self, stores: Stores) -> None:
        """And what removed each event is told for many logs at once."""
        whole = conversation(4)
        written = {
            "rewritten": [*whole, message(4, replaces=(0, 1), sources=[0, 1])],
            "whole": whole,
            "again": [*whole, message(4, replaces=(2, 2), sources=[2])],
            "empty": [],
        }

        async def scenario() -> None:
            async with stores.new() as store:
                for session_id, log in written.items():
                    await write(store, header(session_id), log)
                async with store.observe() as reader:
                    assert set(await reader.rewritten(10)) == {"rewritten", "again"}
                    assert len(await reader.rewritten(1)) == 1
                    found = await reader.find(list(written))
                    wanted = [(found[each], seq) for seq in range(-1, 6) for each in written]
                    removed = dict(
                        zip(
                            [(session.header.session_id, seq) for session, seq in wanted],
                            await reader.each_replacer(wanted),
                            strict=True,
                        )
                    )
                assert {key: by for key, by in removed.items() if by is not None} == {
                    ("rewritten", 0): 4,
                    ("rewritten", 1): 4,
                    ("again", 2): 4,
                }

        run(scenario())

    def test_the_nodes_of_the_surface_are_enough_to_go_on_appending(self, stores: Stores) -> None:
        log: list[Entry] = [
            *conversation(4),
            message(4, replaces=(0, 1), sources=[0, 1]),
            message(5, replaces=(4, 2), sources=[4, 2]),
        ]
        more = message(6, replaces=(5, 3), sources=[3, 5])

        async def scenario() -> None:
            async with stores.twins() as (store, plain):
                await write(store, header("a"), log)
                async with store.observe() as reader:
                    session = await one(reader, "a")
                    nodes = await reader.surface_nodes(session)
                surface = Surface(lambda seq: {}, nodes, session.last_seq + 1)
                entry = PlacedEntry(more, surface.advance(more))
                await store.append("a", session.epoch, [entry])
                await write(plain, header("a"), [*log, more])
                assert await answers_now(store, "a") == await answers_now(plain, "a")

        run(scenario())

    def test_the_title_is_that_of_the_last_title_event_that_has_one(self, stores: Stores) -> None:
        titles: list[Entry] = [
            event(0, "session/title", {"title": "first"}),
            event(1, "session/title", {"title": "second \ud800"}),
            event(2, "session/title", {"title": 3}),
            event(3, "session/titled", {"title": "no title event"}),
        ]

        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                seen = []
                for entry in placed(titles):
                    await append(store, "a", [[entry]])
                    seen.append((await stored(store, "a")).title)
                assert seen == ["first", "second \ud800", "second \ud800", "second \ud800"]

        run(scenario())

    def test_prompted_at_is_the_time_of_the_last_message_by_a_person(self, stores: Stores) -> None:
        injected = {"source": {"kind": "plugin"}, "content": []}
        log: list[Entry] = [
            prompt(0, "hello", time=50),
            message(1, "user/message", injected, time=60),
            message(2, "assistant/message", time=70),
            prompt(3, "a clock that ran backwards", time=40),
            message(4, "user/message", {"source": {"kind": "user"}}, time=80),
        ]

        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                seen = []
                for entry in placed(log):
                    await append(store, "a", [[entry]])
                    seen.append((await stored(store, "a")).prompted_at)
                assert seen == [50, 50, 50, 40, 40]

        run(scenario())

    def test_ids_are_any_string(self, stores: Stores) -> None:
        ids = ["\x00", "a\x00b", "a", "\ud800", "\udfff\ud800", "🚀", "é", "e\u0301", " ", "A"]
        ids += ["x" * 100_000, "%", "_", "'; --", "\n"]

        async def scenario() -> None:
            async with stores.new() as store:
                for session_id in ids:
                    await write(store, header(session_id), [prompt(0, repr(session_id)[:99])])
                async with store.observe() as reader:
                    found = await reader.find([*ids, "nobody"])
                    assert set(found) == set(ids)
                    for session_id in ids:
                        (only,) = await reader.events(found[session_id], ALL_EVENTS, EVERYTHING)
                        assert only.session_id == session_id
                        expected = prompt(0, repr(session_id)[:99])
                        assert told_event(only.event) == told_event(expected)
                    assert await ids_in_order(reader) == sorted(ids)

        run(scenario())

    # One observation

    def test_an_observation_does_not_see_what_is_committed_after_it(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(3))
                await write(store, header("b"), conversation(1))
                async with store.observe() as reader:
                    position = reader.position
                    before = (await reader.counts(), await answers(reader, "a"))
                    log = [*conversation(3), message(3, replaces=(0, 2), sources=[0, 1, 2])]
                    await append(store, "a", [placed(log)[3:]])
                    await store.create(header("c"))
                    await store.delete("b")
                    await publish(store, header("d"), conversation(2))
                    assert (await reader.counts(), await answers(reader, "a")) == before
                    assert set(await reader.find(["a", "b", "c", "d"])) == {"a", "b"}
                    assert await ids_in_order(reader) == ["a", "b"]
                    assert await reader.tombstones(["b"]) == set()
                    assert reader.position == position

        run(scenario())

    def test_observations_of_different_moments_stand_side_by_side(self, stores: Stores) -> None:
        async def see_and_go_on(store: LogStore, rest: list[PlacedEntry], epoch: int) -> list[int]:
            async with store.observe() as reader:
                first = (await one(reader, "a")).last_seq
                if not rest:
                    return [first]
                await store.append("a", epoch, rest[:1])
                later = await see_and_go_on(store, rest[1:], epoch)
                assert (await one(reader, "a")).last_seq == first
                return [first, *later]

        async def scenario() -> None:
            async with stores.new() as store:
                await store.create(header("a"))
                epoch = (await stored(store, "a")).epoch
                seen = await see_and_go_on(store, placed(conversation(3)), epoch)
                assert seen == [-1, 0, 1, 2]

        run(scenario())

    def test_questions_of_one_observation_can_be_asked_at_once(self, stores: Stores) -> None:
        async def scenario() -> None:
            async with stores.new() as store:
                await write(store, header("a"), conversation(5))
                expected = await answers_now(store, "a")
                async with store.observe() as reader:
                    found = await asyncio.gather(*(answers(reader, "a") for _ in range(8)))
                assert found == [expected] * 8

        run(scenario())
