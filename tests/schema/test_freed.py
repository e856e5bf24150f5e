"""What an operation made is freed with it, not when the collector of circles comes by."""

from __future__ import annotations

import gc
from collections import Counter

from resolvers.loaders import Loaders
from schema.planned_lists import PlannedLists
from tests.schema.living import Server, in_server, prompt

APPEND = """mutation($events: [EventInput!]!) {
    appendEvents(input: {sessionId: "a", events: $events}) { session { lastSeq } } }"""


def left_over() -> Counter[str]:
    kinds = (PlannedLists, Loaders)
    return Counter(type(each).__name__ for each in gc.get_objects() if type(each) in kinds)


@in_server()
async def test_nothing_of_an_operation_is_left_for_the_collector(server: Server) -> None:
    await server.create("a")
    gc.collect()
    before = left_over()
    gc.disable()
    try:
        for number in range(3):
            answer = await server.ask(APPEND, events=[prompt(f"{number}")])
            assert answer.data["appendEvents"]["session"]["lastSeq"] == number
        assert left_over() - before == Counter()
    finally:
        gc.enable()
