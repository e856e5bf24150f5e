"""Lists of events of which only envelopes are shown: they say what whole events say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.schema.asking import Asked
from tests.strategies import delta_run, event, message, prompt, user_message

ENVELOPE = ("id", "sessionId", "seq", "type", "time", "surface")
OTHERS = ("data", "replacedBy", "ignorable", "sourceEventSeqs", "surfaceOp { op }", "__typename")
PLACES = {
    "nodes": "nodes {{ {} }}",
    "edges": "edges {{ cursor node {{ {} }} }}",
    "both": "nodes {{ seq }} pageInfo {{ endCursor }} edges {{ node {{ {} }} }}",
    "a fragment": "... on SessionEventConnection {{ nodes {{ {} }} }}",
    "twice": "nodes {{ seq }} nodes {{ {} }}",
}


@pytest.fixture(scope="module")
def asked() -> Asked:
    asked = Asked()
    asked.add("s", [
        prompt(0, "hello"),
        event(1, "session/title", {"title": "t"}),
        delta_run(2, ["a", "b", "c"], gaps=[1, 2]),
        message(5, "user/message", user_message("again", "plugin"), replaces=(0, 0), sources=[0]),
        event(6, "tool/call", {"turn": 1, "step": 1, "id": "c", "name": "n", "arguments": "{}"}),
    ])  # fmt: skip
    return asked


def shown(asked: Asked, place: str, fields: str, arguments: str = "", tail: str = "") -> Any:
    selected = PLACES[place].format(fields)
    query = f"""query {{
        session(id: "s") {{ events{arguments} {{ {selected} }} }} }} {tail}"""
    found = asked.ask(query).data["session"]["events"]
    return found["nodes"] if place in ("nodes", "a fragment", "twice") else [
        edge["node"] for edge in found["edges"]
    ]  # fmt: skip


def reads(asked: Asked, *arguments: str, **named: str) -> list[str]:
    """Which question the store is asked for the events."""
    before = asked.store.calls.copy()
    shown(asked, *arguments, **named)
    calls = asked.store.calls - before
    return [name for name in ("events", "envelopes") if calls[name]]


@pytest.mark.parametrize("place", PLACES)
@given(fields=st.lists(st.sampled_from(ENVELOPE), min_size=1, unique=True))
def test_what_envelopes_say_is_what_whole_events_say(
    asked: Asked, place: str, fields: list[str]
) -> None:
    few = " ".join(fields)
    assert reads(asked, place, few) == ["envelopes"]
    whole = shown(asked, place, f"{few} data")
    for each in whole:
        del each["data"]
    assert shown(asked, place, few) == whole


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("other", OTHERS)
def test_whoever_asks_for_more_gets_whole_events(asked: Asked, place: str, other: str) -> None:
    assert reads(asked, place, f"seq {other}") == ["events"]


@pytest.mark.parametrize(
    ("fields", "tail", "read"),
    [
        ("...Line", "fragment Line on SessionEvent { seq type }", "envelopes"),
        ("...Line", "fragment Line on SessionEvent { seq data }", "events"),
        ("... on SessionEvent { seq ... { time } }", "", "envelopes"),
        ("seq ... on ToolCallEvent { type }", "", "events"),
        ("seq ...Call", "fragment Call on ToolCallEvent { name }", "events"),
        ("renamed: seq data: type", "", "envelopes"),
        ("seq seq: seq", "", "envelopes"),
        ("seq type: data", "", "events"),
        ("seq data @skip(if: true)", "", "events"),
    ],
)
def test_fragments_and_other_names_are_seen_through(
    asked: Asked, fields: str, tail: str, read: str
) -> None:
    assert reads(asked, "nodes", fields, tail=tail) == [read]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_pages_of_every_length_are_read_so(asked: Asked, count: int) -> None:
    arguments = f"(last: {count})"
    assert reads(asked, "nodes", "seq surface", arguments) == ["envelopes"]
    found = shown(asked, "nodes", "seq surface", arguments)
    assert found == [{"seq": seq, "surface": SURFACES[seq]} for seq in range(7 - count, 7)]


SURFACES = ("SHADOWED", *["LOG_ONLY"] * 4, "CURRENT", "LOG_ONLY")


def test_filters_hold_for_envelopes_too(asked: Asked) -> None:
    arguments = '(filters: [{text: "again"}])'
    found = shown(asked, "nodes", "seq type", arguments)
    assert found == [{"seq": 5, "type": "user/message"}]
    assert shown(asked, "nodes", "seq", "(filters: [{type: []}])") == []
