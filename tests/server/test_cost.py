"""What operations could cost: by hand, and against what is really answered."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from graphql import (
    FragmentDefinitionNode,
    OperationDefinitionNode,
    get_introspection_query,
    is_interface_type,
    is_object_type,
    parse,
)

from schema.costs import INTROSPECTION, READS
from server.cost import Cost, CostLimits, CostModel
from sessiongraph.errors import CostLimitExceeded
from tests.docs.sample_answers import SampleAnswers
from tests.schema.asking import SCHEMA, Asked
from tests.server.random_documents import random_document

ROOT = Path(__file__).parents[2]
LIMITS = CostLimits(
    max_operation_cost=200_000,
    page_max=200,
    read_window_max=50,
    lineage_page_max=2000,
    candidate_limit=50,
)
DOCUMENTS = 80
MODEL = CostModel(SCHEMA._schema, LIMITS)


def estimate(text: str, **variables: Any) -> int:
    document = parse(text)
    fragments = {
        each.name.value: each
        for each in document.definitions
        if isinstance(each, FragmentDefinitionNode)
    }
    operation = next(
        each for each in document.definitions if isinstance(each, OperationDefinitionNode)
    )
    return MODEL.of_operation(operation, fragments).estimate(variables)


def test_every_list_of_the_schema_has_a_length() -> None:
    for served in SCHEMA._schema.type_map.values():
        if (is_object_type(served) or is_interface_type(served)) and served.name[:2] != "__":
            for name in served.fields:
                MODEL.rule(served, name)


@pytest.mark.parametrize(
    ("query", "cost"),
    [
        ("{ session(id: 1) { id title } }", 3),
        ("{ sessions { nodes { id } } }", READS + 1 + 50),
        ("{ sessions(first: 3) { nodes { id title } pageInfo { hasNextPage } } }", READS + 9),
        ("{ sessions(first: 3) { edges { cursor node { id } } } }", READS + 1 + 3 * 3),
        ("{ sessions(first: 1000000) { nodes { id } } }", READS + 1 + 200),
        ("{ sessions(first: -5) { nodes { id } } }", READS + 1),
        ("{ sessions(first: null) { nodes { id } } }", READS + 1 + 50),
        ("{ session(id: 1) { events { nodes { seq } } } }", 1 + READS + 1 + 100),
        ("{ session(id: 1) { events(last: 7) { nodes { seq } } } }", 1 + READS + 1 + 7),
        ("{ session(id: 1) { event(seq: 1) { events { seq } } } }", 1 + 10 + 1 + 1),
        (
            "{ session(id: 1) { event(seq: 1, before: 2, after: 99) { events { seq } } } }",
            1 + 10 + 1 + (1 + 2 + 50),
        ),
        ('{ observeSessions(ids: ["a", "b"]) { ... on SessionRecord { id title } } }', 1 + 2 * 2),
        ('{ observeSessions(ids: "a") { __typename } }', 1 + 1),
        (
            '{ session(id: 1) { projections(keys: ["a", "b"]) { views { key value } } } }',
            1 + 20 + 1 + 2 * 2,
        ),
        ("{ session(id: 1) { projections { views { key } } } }", 1 + 20 + 1 + 20),
        (
            "{ session(id: 1) { lineage { descendants { nodes { depth } totalCount } } } }",
            1 + 20 + READS + 1 + 1 + 2000,
        ),
        ("{ sessions(first: 2) { nodes { id @skip(if: true) title } } }", READS + 1 + 2),
        ("{ session(id: 1) { ...f ...f } } fragment f on SessionRecord { id title }", 5),
        (
            "{ sessions(first: 9) { ...f } } fragment f on SessionConnection { nodes { id } }",
            READS + 1 + 9,
        ),
        ("{ __typename }", 1),
        ("{ __schema { queryType { name } } }", INTROSPECTION * 3),
    ],
)
def test_the_cost_of_an_operation(query: str, cost: int) -> None:
    assert estimate(query) == cost


@pytest.mark.parametrize(
    ("variables", "items"),
    [
        ({"n": 7}, 7),
        ({"n": 7.0}, 7),
        ({"n": None}, 50),
        ({}, 3),
        ({"n": "seven"}, 200),
        ({"n": True}, 200),
        ({"n": float("nan")}, 200),
        ({"n": float("inf")}, 200),
        ({"n": 10**3900}, 200),
        ({"n": -(10**3900)}, 0),
        ({"n": [1]}, 200),
    ],
)
def test_a_page_size_in_a_variable(variables: dict[str, Any], items: int) -> None:
    query = "query ($n: Int = 3) { sessions(first: $n) { nodes { id } } }"
    assert estimate(query, **variables) == READS + 1 + items


def test_lengths_and_conditions_in_variables() -> None:
    observe = "query ($ids: [ID!]!) { observeSessions(ids: $ids) { __typename } }"
    assert estimate(observe, ids=["a", "b", "c"]) == 1 + 3
    assert estimate(observe, ids="a") == 1 + 1
    condition = "query ($yes: Boolean!) { session(id: 1) { id title @include(if: $yes) } }"
    assert [estimate(condition, yes=yes) for yes in (True, False)] == [3, 2]
    assert estimate(condition) == 3
    append = "mutation ($i: AppendEventsInput!) { appendEvents(input: $i) { events { seq type } } }"
    assert estimate(append, i={"events": [1, 2, 3]}) == 1 + 1 + 3 * 2
    assert estimate(append, i="nonsense") == 1 + 1
    inside = (
        "mutation ($e: [EventInput!]!) "
        "{ appendEvents(input: { sessionId: 1, events: $e }) { events { seq } } }"
    )
    assert estimate(inside, e=[1, 2]) == 1 + 1 + 2


def test_of_what_excludes_each_other_the_dearest_counts() -> None:
    query = """{ session(id: 1) { event(seq: 1) { target {
        seq ... on TurnEndEvent { turn reason } ... on TitleEvent { title }
    } } } }"""
    assert estimate(query) == 1 + 10 + 1 + 1 + 2


def test_pages_within_pages_multiply() -> None:
    inner = "nodes { seq }"
    for _ in range(4):
        inner = f"nodes {{ target {{ referencedBy(first: 200) {{ {inner} }} }} }}"
    assert estimate(f"{{ session(id: 1) {{ references(first: 200) {{ {inner} }} }} }}") > 200**5


def test_fragments_that_double_in_every_layer_are_reckoned_once_each() -> None:
    layers = 25
    fragments = "".join(
        f"fragment f{n} on SessionRecord {{ ...f{n + 1} ...f{n + 1} }}\n" for n in range(layers)
    )
    last = f"fragment f{layers} on SessionRecord {{ id }}"
    assert estimate(f"{{ session(id: 1) {{ ...f0 }} }} {fragments} {last}") == 1 + 2**layers


def test_introspection_is_reckoned_as_what_it_answers() -> None:
    query = get_introspection_query()
    answer = asyncio.run(SCHEMA.execute(query, context_value=Asked().services))
    assert answer.errors is None
    assert estimate(query) == INTROSPECTION * members(answer.data)
    assert estimate("query ($n: String!) { __type(name: $n) { name } }", n="Query") > 100


def test_reckoning_about_the_schema_stops_where_it_is_too_much() -> None:
    often = " ".join(f"a{n}: __schema {{ types {{ fields {{ name }} }} }}" for n in range(200))
    assert estimate(f"{{ {often} }}") > LIMITS.max_operation_cost


def test_a_refusal_names_the_estimate_the_limit_and_the_setting() -> None:
    Cost(5, 5).require()
    with pytest.raises(CostLimitExceeded) as refusal:
        Cost(6, 5).require()
    assert "6, more than 5 (max_operation_cost)" in refusal.value.message


def test_all_documented_queries_have_ample_room() -> None:
    text = (ROOT / "docs" / "graphql.md").read_text("utf-8")
    queries = [block.partition("```")[0] for block in text.split("```graphql\n")[1:]]
    assert len(queries) > 10
    assert max(map(estimate, queries)) < LIMITS.max_operation_cost / 5
    assert estimate(get_introspection_query()) < LIMITS.max_operation_cost / 4


def test_all_queries_of_the_example_front_end_have_ample_room() -> None:
    text = (ROOT / "frontend-example" / "src" / "gql" / "gql.ts").read_text("utf-8")
    sources = [
        json.loads(found)
        for found in re.findall(r'export function graphql\(source: ("(?:[^"\\]|\\.)*")', text)
    ]
    fragments = [each for each in sources if each.strip().startswith("fragment")]
    operations = [each for each in sources if each not in fragments]
    assert len(operations) > 10
    ids = [str(n) for n in range(200)]
    costs = [estimate(each + "".join(fragments), ids=ids) for each in operations]
    assert max(costs) < LIMITS.max_operation_cost / 5


def test_no_answer_has_more_fields_than_were_estimated() -> None:
    async def scenario() -> None:
        answered = 0
        async with SampleAnswers.open() as samples:
            for seed in range(DOCUMENTS):
                document = random_document(SCHEMA._schema, seed)
                answer = await samples.ask(document)
                assert "errors" not in answer, (document, answer["errors"])
                fields = members(answer["data"])
                assert fields <= estimate(document), document
                answered += fields
        assert answered > 20 * DOCUMENTS

    asyncio.run(scenario())


def members(answer: Any) -> int:
    """How many fields an answer has; what a scalar has inside is one value."""
    if isinstance(answer, dict):
        inner = [value for name, value in answer.items() if not name.startswith("json_")]
        return len(answer) + sum(map(members, inner))
    if isinstance(answer, list):
        return sum(map(members, answer))
    return 0
