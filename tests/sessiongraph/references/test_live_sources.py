"""References to and from live sessions: what was accepted is carried, and a post is one append."""

from __future__ import annotations

from sessiongraph.event import SurfaceOp
from sessiongraph.new_event import NewEvent
from sessiongraph.payloads import citations_of
from sessiongraph.references.mention import ReferenceInput
from sessiongraph.references.posting import events_to_post
from sessiongraph.references.prepare import ReferenceService
from tests.plain_store import PlainLogStore, run
from tests.sessiongraph.live_engine import ACCEPTED, DURABLE, LAZY, running
from tests.sessiongraph.references.corpora import snapshots_in
from tests.strategies import user_message


def test_what_is_accepted_but_not_on_disk_is_carried_as_the_surface_stands_now() -> None:
    async def post() -> None:
        async with running(PlainLogStore(), LAZY) as engine:
            await engine.begin("source")
            await engine.say("old one", "old two", "kept", to="source")
            condensed = NewEvent.of(
                "user/message",
                user_message("condensed", "compact-checkpoint"),
                surface_op=SurfaceOp(0, 1),
                source_event_seqs=(0, 1),
            )
            await engine.writing.append("source", [condensed], None, ACCEPTED)
            await engine.accept("newest", to="source")
            service = ReferenceService(engine.query)
            message = await service.prepare("target", "", [ReferenceInput("source")])
            (snapshot,) = snapshots_in(message)
            texts = [each["text"] for each in snapshot["conversation"]]
            assert texts == ["condensed", "kept", "newest"]
            assert snapshot["capturedThroughSeq"] == 4
            assert message.context is not None
            assert message.context.references[0].compacted

    run(post())


def test_a_post_is_one_append_and_posting_it_again_finds_it() -> None:
    async def post() -> None:
        async with running(PlainLogStore()) as engine:
            await engine.begin("source")
            await engine.say("words", to="source")
            await engine.begin("target")
            service = ReferenceService(engine.query)
            posted = []
            for _ in range(2):
                message = await service.prepare("target", "see", [ReferenceInput("source")])
                events = events_to_post("target", message, 0)
                posted.append(await engine.writing.append("target", events, 0, DURABLE))
            assert [event.seq for event in posted[0]] == [0, 1]
            assert [event.payload for event in posted[0]] == [event.payload for event in posted[1]]
            logged = await engine.events("target")
            assert len(logged) == 2
            assert [each.target_id for each in citations_of(logged[1].event.data)] == ["source"]
            again = await service.prepare("elsewhere", "", [ReferenceInput("target")])
            (snapshot,) = snapshots_in(again)
            assert [each["text"] for each in snapshot["conversation"]] == ["see"]

    run(post())


def test_later_changes_of_the_source_change_nothing_in_the_target() -> None:
    async def post() -> None:
        async with running(PlainLogStore()) as engine:
            await engine.begin("source")
            await engine.say("words", to="source")
            await engine.begin("target")
            service = ReferenceService(engine.query)
            message = await service.prepare("target", "see", [ReferenceInput("source")])
            await engine.writing.append("target", events_to_post("target", message), None, DURABLE)
            before = [each.event.payload for each in await engine.events("target")]
            await engine.say("more", to="source")
            await engine.writing.delete("source")
            assert [each.event.payload for each in await engine.events("target")] == before

    run(post())
