"""The served schema keeps the contract, and the committed copy is the served one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from schema.contract import contradictions, missing
from schema.export import COMMITTED, sdl

_SPEC = Path(
    os.environ.get(
        "SESSIONGRAPH_SPEC", Path(__file__).parents[3] / "shared" / "spec" / "schema.graphql"
    )
)

STILL_TO_COME: set[str] = set()
"""What is built later. Types that are missing as a whole are not named."""


def contract() -> str:
    if not _SPEC.is_file():
        pytest.skip(f"no contract at {_SPEC}; set SESSIONGRAPH_SPEC")
    return _SPEC.read_text("utf-8")


def test_the_served_schema_contradicts_the_contract_nowhere() -> None:
    assert contradictions(sdl(), contract()) == []


def test_of_the_types_that_are_served_nothing_is_missing_but_what_is_still_to_come() -> None:
    inside = {place for place in missing(sdl(), contract()) if "." in place or " " in place}
    assert inside <= STILL_TO_COME


def test_the_committed_contract_is_the_served_one() -> None:
    assert COMMITTED.read_text("utf-8") == sdl()


def test_every_type_that_is_served_says_what_it_is() -> None:
    undescribed = [
        block for block in sdl().split("\n\n") if block.startswith(("type ", "interface ", "enum "))
    ]
    assert undescribed == []


CONTRACT = """
    interface Node { id: ID! }
    type Thing implements Node { id: ID! name: String! tags(first: Int = 5, of: Kind): [String!] }
    type Other { id: ID! }
    union Either = Thing | Other
    enum Kind { GOOD BAD }
    input One @oneOf { a: Int b: String }
    input Both { a: Int! b: String = "x" }
    scalar Cursor
    type Query { thing(id: ID!, one: One, both: Both): Thing either: Either cursor: Cursor }
"""


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("name: String!", "name: String", "Thing.name"),
        ("name: String!", "name: ID!", "Thing.name"),
        ("[String!]", "[String]", "Thing.tags"),
        ("first: Int = 5", "first: Int = 6", "Thing.tags(first:)"),
        ("first: Int = 5", "first: Int", "Thing.tags(first:)"),
        ("first: Int = 5", "first: Int! = 5", "Thing.tags(first:)"),
        ("one: One", "one: One!", "Query.thing(one:)"),
        ("id: ID!, one", "id: ID, one", "Query.thing(id:)"),
        ("id: ID!, one", "id: ID!, more: Int!, one", "Query.thing(more:)"),
        ("input One @oneOf", "input One", "One"),
        ('b: String = "x"', "b: String! c: Int!", "Both.b"),
        ('b: String = "x"', 'b: String = "x" c: Int!', "Both.c"),
        ("scalar Cursor", "enum Cursor { C }", "Cursor"),
    ],
)
def test_what_clients_would_notice_is_a_contradiction(old: str, new: str, place: str) -> None:
    found = contradictions(CONTRACT.replace(old, new), CONTRACT)
    assert [sentence.split(" is ")[0] for sentence in found][:1] == [place]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("name: String!", "name: String! size: Int"),
        ("GOOD BAD", "GOOD BAD UGLY"),
        ("first: Int = 5", "first: Int = 5, last: Int"),
        ("first: Int = 5", "first: Int = 5, last: Int! = 3"),
        ("scalar Cursor", '"An opaque token." scalar Cursor scalar More'),
        ("type Other { id: ID! }", "type Other { id: ID! } input New { all: Int! }"),
    ],
)
def test_serving_more_is_no_contradiction(old: str, new: str) -> None:
    assert contradictions(CONTRACT.replace(old, new), CONTRACT) == []
    assert missing(CONTRACT.replace(old, new), CONTRACT) == []


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        (" name: String!", "", "Thing.name"),
        (", of: Kind", "", "Thing.tags(of:)"),
        ("GOOD BAD", "GOOD", "Kind.BAD"),
        ("Thing | Other", "Thing", "Either includes Other"),
        ("Thing implements Node", "Thing", "Thing implements Node"),
        (" either: Either", "", "Query.either"),
        ("a: Int b: String }\n", "a: Int }\n", "One.b"),
    ],
)
def test_what_is_not_served_is_missing_and_no_contradiction(old: str, new: str, place: str) -> None:
    served = CONTRACT.replace(old, new)
    assert contradictions(served, CONTRACT) == []
    assert missing(served, CONTRACT) == [place]


def test_of_a_missing_type_its_fields_are_not_listed() -> None:
    served = CONTRACT.replace("union Either = Thing | Other", "").replace(" either: Either", "")
    assert missing(served, CONTRACT) == ["Either", "Query.either"]
