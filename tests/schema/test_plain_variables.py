"""Plain variables have the values that they have the usual way; whatever is not, its errors."""

from __future__ import annotations

from typing import Any

import pytest
from graphql import DocumentNode, Executor, parse
from hypothesis import example, given
from hypothesis import strategies as st

from schema.plain_variables import PlainDocuments
from schema.planned_lists import PlannedLists
from schema.served import build_schema

SCHEMA, OTHER = build_schema(PlannedLists), build_schema(PlannedLists)
DOCUMENTS = {
    name: parse(text)
    for name, text in {
        "id": "query Q($x: ID!) { session(id: $x) { id } }",
        "may be null": """query ($x: ID, $n: Int) {
            session(id: $x) { events(first: $n) { n: __typename } } }""",
        "number": """query Q($n: Int!) { sessions(first: $n) { nodes { ...S } } }
            fragment S on SessionRecord { id }""",
        "default": """query Q($n: Int = 7, $x: String = "d") {
            searchSessions(query: $x, first: $n) { n: __typename } }""",
        "switch": "query Q($b: Boolean!) { sessions @include(if: $b) { n: __typename } }",
        "other kinds": """query Q($o: SessionOrder, $x: ID!) {
            sessions(orderBy: $o) { n: __typename } session(id: $x) { id } }""",
        "list": "query Q($x: [ID!]!) { observeSessions(ids: $x) { n: __typename } }",
        "unknown type": "query Q($x: Nothing) { __typename }",
        "none": "{ __typename }",
        "two": "query Q($x: ID!) { session(id: $x) { id } } query R { __typename }",
    }.items()
}
values = st.one_of(
    st.sampled_from([None, True, False, 0, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 10**30]),
    st.sampled_from([1.0, 1.5, float("inf"), "", "7", "a\ud800", [], ["a"], {}, "CREATED"]),
    st.text(max_size=3),
    st.integers(),
)
given_variables = st.dictionaries(st.sampled_from(["x", "n", "b", "o", "spare"]), values)


def told(kind: type[Executor], document: DocumentNode, name: str | None, given: Any) -> Any:
    executor = kind.build(SCHEMA._schema, document, None, None, given, name)
    if isinstance(executor, list):
        return [error.formatted for error in executor]
    found = executor.variable_values
    sources = {key: (each.signature.name, each.value) for key, each in found.sources.items()}
    types = {key: type(value) for key, value in found.coerced.items()}
    fragments = executor.fragments, executor.fragment_definitions
    return executor.operation, fragments, sources, found.coerced, types, list(found.coerced)


@given(
    st.sampled_from(list(DOCUMENTS)), st.sampled_from([None, "Q", "R", "other"]), given_variables
)
@example("id", "Q", {"x": "a", "spare": 1})
@example("number", None, {"n": 2**31})
@example("switch", "Q", {"b": 1})
@example("default", "Q", {})
def test_variables_are_what_they_are_the_usual_way(
    kind: str, name: str | None, given: dict[str, Any]
) -> None:
    document = DOCUMENTS[kind]
    usual = told(Executor, document, name, dict(given))
    for _ in range(2):
        assert told(PlannedLists, document, name, dict(given)) == usual


@pytest.mark.parametrize(
    ("kind", "given", "is_plain"),
    [
        ("id", {"x": "a"}, True),
        ("number", {"n": 3}, True),
        ("default", {"n": 3, "x": "a"}, True),
        ("none", {}, True),
        ("id", {"x": 3}, False),
        ("number", {"n": True}, False),
        ("default", {"n": 3}, False),
        ("list", {"x": ["a"]}, False),
        ("two", {"x": "a"}, False),
    ],
)
def test_only_what_is_plain_is_not_coerced(
    kind: str, given: dict[str, Any], is_plain: bool
) -> None:
    plain = PlainDocuments().of(SCHEMA._schema, DOCUMENTS[kind], None)
    assert (plain is not None and plain.values(given) is not None) is is_plain


def test_a_document_is_known_for_one_schema() -> None:
    documents = PlainDocuments()
    assert documents.of(SCHEMA._schema, DOCUMENTS["id"], None) is not None
    assert documents.of(OTHER._schema, DOCUMENTS["id"], None) is None
