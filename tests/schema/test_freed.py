"""What an operation made is freed with it, not when the collector of circles comes by."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Iterator

import pytest
from graphql import parse

from resolvers.loaders import Loaders
from schema.planned_lists import PlannedLists
from schema.served import build_schema
from tests.schema.living import Server, in_server, prompt

APPEND = """mutation($events: [EventInput!]!) {
    appendEvents(input: {sessionId: "a", events: $events}) { session { lastSeq } } }"""


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def loaders() -> int:
    return Counter(type(each) for each in gc.get_objects())[Loaders]


@in_server()
async def test_what_gathers_the_questions_of_an_operation_goes_with_it(server: Server) -> None:
    await server.create("a")
    before = loaders()
    for number in range(3):
        answer = await server.ask(APPEND, events=[prompt(f"{number}")])
        assert answer.data["appendEvents"]["session"]["lastSeq"] == number
    assert loaders() == before


def test_what_executes_an_operation_goes_with_it() -> None:
    executor = PlannedLists.build(build_schema()._schema, parse("{ __typename }"))
    assert isinstance(executor, PlannedLists)
    executor.execute_operation()
    left = weakref.ref(executor)
    del executor
    assert left() is None
