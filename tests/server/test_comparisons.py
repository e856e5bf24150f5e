"""Pairs of fields that must be compared, counted before they are."""

from __future__ import annotations

import asyncio

import pytest
from graphql import parse

from schema.served import build_schema
from server.comparisons import too_many_comparisons
from server.documents import Documents
from server.limits import DocumentLimits
from server.refusals import OperationFailed

LIMITS = DocumentLimits(tokens=5000, depth=25, aliases=200)
SCHEMA = build_schema()


@pytest.mark.parametrize(
    ("document", "pairs"),
    [
        ("{ a b c }", 0),
        ("{ a a a }", 3),
        ("{ x: a x: b a }", 1),
        ("{ a { b } a { b } }", 2),
        ("{ a { b b } a { b } }", 4),  # each b of a selection is compared with those of the others
        ("{ a ... { a } ... on T { a } }", 3),
        ("{ a ...f ...f } fragment f on T { a }", 1),
        ("{ ...f ...g } fragment f on T { a { b } } fragment g on T { a { b } }", 2),
    ],
)
def test_pairs_that_answer_under_the_same_name(document: str, pairs: int) -> None:
    parsed = parse(document + " " * 100)
    limits = range(4, 8)  # fewer would be refused for the fields that are walked over
    assert [too_many_comparisons(parsed, most) for most in limits] == [
        pairs > most for most in limits
    ]


HOSTILE = {
    "one field again and again": "{ server { " + "version " * 4000 + "} }",
    "a field with arguments": "{ " + "session(id: 1) { id } " * 400 + "}",
    "fragments that all say the same": "{ "
    + " ".join(f"...f{n}" for n in range(300))
    + " } "
    + " ".join(f"fragment f{n} on Query {{ server {{ version }} }}" for n in range(300)),
}


@pytest.mark.parametrize("document", HOSTILE.values(), ids=HOSTILE)
def test_a_document_that_takes_long_to_check_is_refused_with_the_setting(document: str) -> None:
    with pytest.raises(OperationFailed) as refusal:
        asyncio.run(Documents(LIMITS).read(document, SCHEMA))
    assert "max_query_comparisons" in refusal.value.errors[0].message


def test_a_conflict_is_still_found() -> None:
    with pytest.raises(OperationFailed) as refusal:
        asyncio.run(
            Documents(LIMITS).read('{ a: session(id: "1") { id } a: server { version } }', SCHEMA)
        )
    assert "conflict" in refusal.value.errors[0].message


def test_fragments_in_a_circle_are_refused_as_such() -> None:
    document = (
        "{ session(id: 1) { ...f } } fragment f on SessionRecord { lineage { target { ...f } } }"
    )
    with pytest.raises(OperationFailed) as refusal:
        asyncio.run(Documents(LIMITS).read(document, SCHEMA))
    assert "within itself" in refusal.value.errors[0].message


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{ " + " " * 100_000 + "server { version } }", "max_query_chars"),
        (
            "{ ...f0 }"
            + "".join(f" fragment f{n} on Query {{ ...f{n + 1} }}" for n in range(30))
            + " fragment f30 on Query { __typename }",
            "max_query_depth",
        ),
        ("{ " * 1000 + "a" + " }" * 1000, "Syntax Error"),
        ("{ session(id: " + "[" * 2000 + "]" * 2000 + ") { id } }", "nested too deeply"),
        ("{ sessions(first: " + "9" * 5000 + ") { nodes { id } } }", "too long"),
    ],
)
def test_other_ways_to_be_too_much(document: str, message: str) -> None:
    with pytest.raises(OperationFailed) as refusal:
        asyncio.run(Documents(LIMITS).read(document, SCHEMA))
    (error,) = refusal.value.errors
    assert message in error.message
    assert error.extensions is not None
    assert error.extensions["code"] == "BAD_USER_INPUT"


def test_of_many_errors_in_a_document_few_are_shown() -> None:
    document = "{ " + " ".join(f"nothing{n}" for n in range(1000)) + " }"
    with pytest.raises(OperationFailed) as refusal:
        asyncio.run(Documents(LIMITS).read(document, SCHEMA))
    assert len(refusal.value.errors) <= 21
