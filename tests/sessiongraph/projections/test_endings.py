"""How a subscription ends: with its session, when its log is read anew, and with the server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from sessiongraph.errors import CorruptSession, LogReplaced, SessionNotFound
from tests.plain_store import run
from tests.sessiongraph.projections.driven import Server, Subscriber, numbered, serving, soon, until
from tests.sessiongraph.projections.test_unit import unit
from tests.strategies import header, placed


async def subscribed(server: Server) -> Subscriber:
    subscriber = Subscriber(server)
    await until(lambda: bool(subscriber.frames) or subscriber.ended)
    return subscriber


async def replace_log(server: Server, *types: str) -> None:
    staged = await server.store.stage(header("a"))
    await staged.append(placed(numbered(*types)))
    await staged.publish(header("a"))
    server.logs["a"] = list(numbered(*types))


def test_the_deletion_of_the_session_ends_it_cleanly() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a"))
            subscriber = await subscribed(server)
            await server.store.delete("a")
            await until(lambda: subscriber.ended)
            assert subscriber.error is None

    run(scenario())


def test_what_was_committed_before_the_deletion_still_arrives() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a"))
            subscriber = await subscribed(server)
            await server.say("b/b")
            await until(lambda: len(subscriber.frames) == 2)
            await server.store.delete("a")
            await until(lambda: subscriber.ended)
            assert subscriber.changes == [(1, "count", 2)]

    run(scenario())


def test_a_log_that_is_read_anew_ends_it_with_an_error() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a"))
            subscriber = await subscribed(server)
            await replace_log(server, "x/x", "y/y", "z/z")
            await until(lambda: subscriber.ended)
            assert isinstance(subscriber.error, LogReplaced)
            again = await subscribed(server)
            assert again.snapshot.values() == {"count": 3}
            await server.say("b/b")
            await until(lambda: again.changes == [(3, "count", 4)])
            await again.leave()

    run(scenario())


def test_one_who_reads_the_new_log_before_its_commit_is_heard_of_is_not_ended_by_it() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a"))
            first = await subscribed(server)
            server.store.telling.clear()
            await server.say("b/b")
            await replace_log(server, "x/x")
            second = await subscribed(server)
            assert not first.ended
            server.store.telling.set()
            await until(lambda: first.ended)
            assert isinstance(first.error, LogReplaced)
            await soon(50)
            assert (second.ended, second.snapshot.values()) == (False, {"count": 1})
            await second.leave()

    run(scenario())


def test_the_new_log_never_goes_on_from_the_old_ones_checkpoint() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a", "b/b", "turn/end"))
            await until(lambda: server.checkpoints.writes > 0)
            await replace_log(server, "x/x")
            await until(lambda: server.checkpoints.writes > 1)
            assert await server.rows() == {"count": 0}
            assert (await server.projections.snapshot("a")).values() == {"count": 1}

    run(scenario())


def test_one_who_watched_a_deleted_session_ends_cleanly_though_its_id_lives_on() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a"))
            first = await subscribed(server)
            server.store.telling.clear()
            await server.store.delete("a")
            await server.begin(numbered("x/x", "y/y"))
            second = await subscribed(server)
            server.store.telling.set()
            await until(lambda: first.ended)
            await soon(50)
            assert first.error is None
            assert (second.ended, second.snapshot.values()) == (False, {"count": 2})
            await server.say("z/z")
            await until(lambda: second.changes == [(2, "count", 3)])
            await second.leave()

    run(scenario())


def test_a_session_that_is_made_again_under_its_id_begins_anew() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a", "b/b"))
            first = await subscribed(server)
            await server.store.delete("a")
            await server.begin(numbered("x/x"))
            await until(lambda: first.ended)
            assert first.error is None
            assert (await server.projections.snapshot("a")).values() == {"count": 1}

    run(scenario())


def test_a_session_that_is_deleted_while_it_is_opened_is_not_found() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a", "b/b"))
            await soon(50)
            async with serving(unit(), store=server.store) as other:
                await between_reads(other, lambda: other.store.delete("a"))
                with pytest.raises(SessionNotFound):
                    await other.projections.snapshot("a")

    run(scenario())


def test_a_log_that_is_read_anew_while_it_is_opened_is_opened_as_it_is_then() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a", "b/b"))
            await soon(50)
            async with serving(unit(), store=server.store) as other:
                await between_reads(other, lambda: replace_log(other, "x/x", "y/y", "z/z"))
                subscriber = await subscribed(other)
                assert subscriber.snapshot.values() == {"count": 3}
                await other.say("w/w")
                await until(lambda: subscriber.changes == [(3, "count", 4)])
                await subscriber.leave()

    run(scenario())


async def between_reads(server: Server, act: Callable[[], Awaitable[object]]) -> None:
    """Have something done once, and told by the feed, when the first page of a log was read."""
    store = server.store
    store.read_seqs.clear()

    async def pause() -> None:
        if store.read_seqs:
            store.paused = None
            await act()
            await soon(30)

    store.paused = pause


def test_the_stop_of_the_server_ends_it_cleanly() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a"))
            subscriber = await subscribed(server)
            server.projections.stop()
            await until(lambda: subscriber.ended)
            assert subscriber.error is None
            late = await subscribed(server)
            await until(lambda: late.ended)
            assert (late.error, len(late.frames)) == (None, 1)

    run(scenario())


def test_there_is_nothing_to_subscribe_to_where_there_is_no_session() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            subscriber = await subscribed(server)
            assert isinstance(subscriber.error, SessionNotFound)

    run(scenario())


def test_a_log_that_turns_out_to_be_damaged_ends_it_with_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a"))
            subscriber = await subscribed(server)
            await server.append(*numbered("a/a", "b/b", "c/c", "d/d")[1:])
            server.store.lose("a", 2)
            await until(lambda: subscriber.ended)
            assert isinstance(subscriber.error, CorruptSession)

    run(scenario())
    assert "cannot be driven" in capsys.readouterr().out


def test_one_who_stops_reading_leaves_nothing_behind() -> None:
    async def scenario() -> None:
        async with serving(unit()) as server:
            await server.begin(numbered("a/a"))
            subscriber = await subscribed(server)
            await subscriber.leave()
            session = server.projections._open("a")
            assert not session.channel.is_watched

    run(scenario())
