"""Events in variables are coerced as they are the usual way, errors included."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from graphql import Executor, GraphQLError, parse
from hypothesis import example, given
from hypothesis import strategies as st

from schema.event_variables import EventVariables
from schema.planned_lists import PlannedLists
from schema.served import build_schema

USUAL, QUICK = build_schema(), build_schema(execution_context_class=PlannedLists)
DOCUMENTS = {
    "list": """mutation M($x: [EventInput!]!) {
        appendEvents(input: {sessionId: "s", events: $x}) { events { seq } } }""",
    "open list": """mutation M($x: [EventInput!]) {
        appendEvents(input: {sessionId: "s", events: []}) { events { seq } } }""",
    "input": """mutation M($x: AppendEventsInput!) {
        appendEvents(input: $x) { events { seq } } } query Q($x: ID!) { session(id: $x) { id } }""",
    "other": "query M($x: ID!) { session(id: $x) { id } }",
}

values = st.sampled_from(
    [None, True, 0, -1, 2**53, 1.5, "", "user/message", [], [{}], {}, {"append": True}]
)
plain = st.fixed_dictionaries(
    {"type": st.just("x/y"), "data": st.just({"a": 1})}, optional={"time": st.just(17)}
)
odd = st.dictionaries(
    st.sampled_from(
        ["type", "data", "time", "surfaceOp", "sourceEventSeqs", "ignorable", "unknown"]
    ),
    values,
    max_size=5,
)
events = st.one_of(
    st.lists(plain, max_size=8),
    st.lists(st.one_of(plain, plain, plain, odd, values), max_size=8),
    values,
)
inputs = st.one_of(
    st.fixed_dictionaries(
        {"sessionId": st.just("s"), "events": events},
        optional={"expectedSeq": values, "durability": values, "unknown": values},
    ),
    values,
)


def told(
    context_class: type[Executor], schema: Any, text: str, name: str, given: dict[str, Any]
) -> Any:
    before = copy.deepcopy(given)
    executor = context_class.build(
        schema._schema, parse(text), None, None, given, operation_name=name
    )
    assert given == before
    if isinstance(executor, list):
        assert all(isinstance(error, GraphQLError) for error in executor)
        return [error.formatted for error in executor]
    found = executor.variable_values
    sources = {name: source.value for name, source in found.sources.items()}
    return found.coerced, sources


def assert_alike(kind: str, value: Any, name: str = "M") -> Any:
    text = DOCUMENTS[kind]
    usual = told(USUAL.execution_context_class, USUAL, text, name, {"x": value, "spare": value})
    quick = told(PlannedLists, QUICK, text, name, {"x": value, "spare": value})
    assert quick == usual
    return quick


@given(st.sampled_from(["list", "open list", "other"]), events)
@example("list", [{"type": "x/y", "data": {}}] * 4)
@example("list", [{"type": "x/y", "data": {}, "time": True}] * 4)
@example("list", [{"type": "x/y", "data": {}, "time": None}] * 4)
@example("list", [{"type": "x/y", "data": {}, "unknown": 1}] * 4)
@example("list", [{"type": "x/y", "data": None}] * 4)
def test_lists_of_events_are_coerced_alike(kind: str, value: Any) -> None:
    assert_alike(kind, value)


@given(inputs)
@example({"sessionId": "s", "events": [{"type": "x/y", "data": [1]}] * 9, "durability": "ACCEPTED"})
def test_events_within_an_input_are_coerced_alike(value: Any) -> None:
    assert_alike("input", value)


@pytest.mark.parametrize("name", ["M", "Q", "nobody"])
def test_the_variables_are_those_of_the_operation_that_is_run(name: str) -> None:
    assert_alike("input", {"sessionId": "s", "events": [{"type": "x", "data": {}}] * 5}, name)


def test_plain_events_are_taken_by_a_look() -> None:
    value = [{"type": "x/y", "data": {"a": 1}, "time": 5}] * 5
    taken = EventVariables.of(parse(DOCUMENTS["list"]), None, {"x": value})
    assert taken.rest == {"x": []}
    coerced, _ = assert_alike("list", value)
    assert coerced == {"x": value}
