"""What can be asked of one log through the API: pages, windows, documents, the surface, traces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given

from sessiongraph.event import Entry, events_of
from tests.plain_store import plain_fold
from tests.schema.asking import Asked
from tests.strategies import event, logs, message, prompt, user_message

PAGE = """query($f: [EventFilter!], $first: Int, $after: Cursor, $last: Int, $before: Cursor) {
    session(id: "s") {
        events(filters: $f, first: $first, after: $after, last: $last, before: $before) {
        edges { cursor node { seq } } nodes { seq }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } }"""


@pytest.fixture(scope="module")
def numbered() -> Asked:
    """A log of 130 prompts, n mod 3 texts."""
    asked = Asked()
    asked.add("s", [prompt(seq, f"text {'abc'[seq % 3]}", time=1000 + seq) for seq in range(130)])
    asked.add("other", [prompt(0, "x")])
    return asked


def page(asked: Asked, **arguments: Any) -> dict[str, Any]:
    found = asked.ask(PAGE, **arguments).data["session"]["events"]
    assert [edge["node"] for edge in found["edges"]] == found["nodes"]
    assert isinstance(found, dict)
    return found


def seqs(found: dict[str, Any]) -> list[int]:
    return [node["seq"] for node in found["nodes"]]


def test_a_page_of_events_has_the_first_hundred_unless_asked(numbered: Asked) -> None:
    found = page(numbered)
    assert seqs(found) == list(range(100))
    assert (found["pageInfo"]["hasPreviousPage"], found["pageInfo"]["hasNextPage"]) == (False, True)


def test_last_takes_from_the_newest_end_and_before_goes_on_backwards(numbered: Asked) -> None:
    newest = page(numbered, last=3)
    older = page(numbered, last=2, before=newest["pageInfo"]["startCursor"])
    assert (seqs(newest), seqs(older)) == ([127, 128, 129], [125, 126])
    assert (older["pageInfo"]["hasPreviousPage"], older["pageInfo"]["hasNextPage"]) == (True, True)


@pytest.mark.parametrize("size", [1, 13, 100, 200])
def test_walks_in_both_directions_see_every_event_once(numbered: Asked, size: int) -> None:
    filters = [{"type": ["user/message"]}]
    forward = numbered.walk(lambda after: page(numbered, f=filters, first=size, after=after))
    backward: list[int] = []
    cursor = None
    while True:
        found = page(numbered, f=filters, last=size, before=cursor)
        backward = seqs(found) + backward
        if not found["pageInfo"]["hasPreviousPage"]:
            break
        cursor = found["pageInfo"]["startCursor"]
    assert [node["seq"] for node in forward] == backward == list(range(130))


def test_the_last_edges_cursor_can_be_asked_for_what_came_after() -> None:
    asked = Asked()
    asked.add("s", [prompt(0, "x")])
    cursor = page(asked)["pageInfo"]["endCursor"]
    assert seqs(page(asked, after=cursor)) == []


@pytest.mark.parametrize("sizes", [{"first": 0}, {"last": 201}, {"first": 1, "last": 1}])
def test_an_impossible_page_is_refused(numbered: Asked, sizes: dict[str, int]) -> None:
    refused = numbered.ask(PAGE, **sizes)
    assert refused.codes == ["SESSION_QUERY_INVALID_LIMIT"]
    assert refused.body["data"] == {"session": {"events": None}}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ([{"seq": {"from": 3, "to": 5}}], [3, 4, 5]),
        ([{"seq": {"from": 127, "to": None}}], [127, 128, 129]),
        ([{"seq": {"to": 1}}], [0, 1]),
        ([{"time": {"from": 1128}}], [128, 129]),
        ([{"text": "TEXT  c"}, {"seq": {"to": 9}}], [2, 5, 8]),
        ([{"text": "t.xt"}], []),
        ([{"type": []}], []),
        ([{"type": ["turn/end", "user/message"]}, {"seq": {"to": 0}}], [0]),
        ([{"surface": ["SHADOWED", "LOG_ONLY"]}], []),
        ([{"surface": ["CURRENT"]}, {"seq": {"from": 129}}], [129]),
    ],
)
def test_event_filters_are_anded(numbered: Asked, filters: Any, expected: list[int]) -> None:
    assert seqs(page(numbered, f=filters)) == expected


@pytest.mark.parametrize(
    "filters", [[{"seq": {"from": 1, "to": 0}}], [{"time": {"from": 9, "to": 8}}], [{"text": " "}]]
)
def test_an_event_filter_that_makes_no_sense_is_refused(numbered: Asked, filters: Any) -> None:
    assert numbered.ask(PAGE, f=filters).codes == ["SESSION_QUERY_INVALID_FILTER"]


def test_a_cursor_holds_for_its_own_list_and_filters_only(numbered: Asked) -> None:
    cursor = page(numbered, first=1)["pageInfo"]["endCursor"]
    assert numbered.ask(PAGE, f=[{"seq": {"from": 0}}], after=cursor).codes == [
        "SESSION_QUERY_STALE_CURSOR"
    ]
    elsewhere = """query($id: ID!, $c: Cursor) {
        session(id: $id) { events(after: $c) { nodes { seq } } } }"""
    assert numbered.ask(elsewhere, id="other", c=cursor).codes == ["SESSION_QUERY_STALE_CURSOR"]
    for field in ("documents", "surface { events", "lineage { descendants"):
        document = (
            'query($c: Cursor) { session(id: "s") { '
            + f"{field}(after: $c) {{ nodes {{ __typename }} }}"
            + " }" * (1 + field.count("{"))
            + " }"
        )
        assert numbered.ask(document, c=cursor).codes == ["SESSION_QUERY_INVALID_CURSOR"], field
    listed = "query($c: Cursor) { sessions(after: $c) { nodes { id } } }"
    assert numbered.ask(listed, c=cursor).codes == ["SESSION_QUERY_INVALID_CURSOR"]
    for forged in ("", "x", cursor[:-1], cursor + "A", "ü", "\ud800"):
        assert numbered.ask(listed, c=forged).codes == ["SESSION_QUERY_INVALID_CURSOR"], forged


# Windows, documents, surface, traces.


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("seq: 5", [5]),
        ("seq: 5, before: null, after: null", [5]),
        ("seq: 5, before: 2, after: 1", [3, 4, 5, 6]),
        ("seq: 1, before: 50", [0, 1]),
        ("seq: 128, after: 50", [128, 129]),
    ],
)
def test_a_window_is_clipped_at_the_ends_of_the_log(
    numbered: Asked, arguments: str, expected: list[int]
) -> None:
    document = (
        '{ session(id: "s") { event(' + arguments + ") "
        "{ session { sessionId } target { seq } events { seq } startSeq endSeq } } }"
    )
    assert numbered.ask(document).data["session"]["event"] == {
        "session": {"sessionId": "s"},
        "target": {"seq": int(arguments.split()[1].rstrip(","))},
        "events": [{"seq": seq} for seq in expected],
        "startSeq": expected[0],
        "endSeq": expected[-1],
    }


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("seq: 130", "SESSION_QUERY_EVENT_NOT_FOUND"),
        ("seq: -1", "SESSION_QUERY_EVENT_NOT_FOUND"),
        ("seq: 0, before: 51", "SESSION_QUERY_INVALID_WINDOW"),
        ("seq: 0, after: -1", "SESSION_QUERY_INVALID_WINDOW"),
        ("seq: 2147483648", "BAD_USER_INPUT"),
    ],
)
def test_a_window_that_cannot_be_is_refused(numbered: Asked, arguments: str, code: str) -> None:
    document = '{ session(id: "s") { event(' + arguments + ") { startSeq } } }"
    assert numbered.ask(document).codes == [code]


def test_documents_are_the_events_that_say_something() -> None:
    asked = Asked()
    log = [
        event(0, "turn/start", {"turn": 1}),
        prompt(1, "  find  me ", time=7),
        event(2, "turn/end", {"turn": 1, "reason": {"kind": "aborted"}}, time=8),
        event(3, "turn/end", {"turn": 2, "reason": {"kind": "completed"}}),
    ]
    asked.add("s", log)
    document = """query($f: [EventFilter!], $n: Int) { session(id: "s") {
        documents(filters: $f, first: $n) {
            nodes { sessionId seq type time surface text } pageInfo { hasNextPage } } } }"""
    found = {"sessionId": "s", "seq": 1, "type": "user/message", "time": 7, "surface": "CURRENT"}
    ended = {"sessionId": "s", "seq": 2, "type": "turn/end", "time": 8, "surface": "LOG_ONLY"}
    everything = asked.ask(document).data["session"]["documents"]
    assert everything["nodes"] == [{**found, "text": "find  me"}, {**ended, "text": "aborted"}]
    filtered = asked.ask(document, f=[{"text": "FIND me"}], n=None).data["session"]["documents"]
    assert filtered == {
        "nodes": [{**found, "text": "find  me"}],
        "pageInfo": {"hasNextPage": False},
    }
    assert asked.ask(document, n=1).data["session"]["documents"]["pageInfo"]["hasNextPage"]
    assert asked.ask(document, n=201).codes == ["SESSION_QUERY_INVALID_LIMIT"]


@given(logs(min_size=1))
def test_the_surface_is_what_a_fold_from_scratch_leaves(log: Sequence[Entry]) -> None:
    asked = Asked()
    asked.add("s", log)
    events = [each for entry in log for each in events_of(entry)]
    document = """query($n: Int, $after: Cursor) { session(id: "s") { surface {
        session { sessionId } capturedThroughSeq events(first: $n, after: $after) {
            nodes { seq surface } pageInfo { hasNextPage endCursor } } } } }"""

    def surface(after: str | None) -> Any:
        found = asked.ask(document, n=2, after=after).data["session"]["surface"]
        assert found["session"] == {"sessionId": "s"}
        assert found["capturedThroughSeq"] == events[-1].seq
        return found["events"]

    expected = [{"seq": seq, "surface": "CURRENT"} for seq in plain_fold(events).order]
    assert asked.walk(surface) == expected


def test_the_surface_of_an_empty_log_was_captured_through_nothing() -> None:
    asked = Asked()
    asked.add("s")
    found = asked.ask(
        '{ session(id: "s") { surface { capturedThroughSeq events { nodes { seq } } } } }'
    )
    assert found.data["session"]["surface"] == {"capturedThroughSeq": None, "events": {"nodes": []}}


def test_a_trace_follows_replacements_and_citations() -> None:
    asked = Asked()
    log = [
        prompt(0, "a"),
        prompt(1, "b"),
        message(2, data=user_message("c"), replaces=(0, 1), sources=[1, 0]),
        message(3, data=user_message("d"), replaces=(2, 2), sources=[2]),
    ]
    asked.add("s", log)
    document = """query($seq: Int!) { session(id: "s") { trace(seq: $seq) { session { sessionId }
        target { seq surface } replacedBy replacementChain replacedEventSeqs sourceEventSeqs
        derivedEventSeqs } } }"""
    assert asked.ask(document, seq=0).data["session"]["trace"] == {
        "session": {"sessionId": "s"},
        "target": {"seq": 0, "surface": "SHADOWED"},
        "replacedBy": 2,
        "replacementChain": [2, 3],
        "replacedEventSeqs": [],
        "sourceEventSeqs": [],
        "derivedEventSeqs": [2],
    }
    assert asked.ask(document, seq=2).data["session"]["trace"] == {
        "session": {"sessionId": "s"},
        "target": {"seq": 2, "surface": "SHADOWED"},
        "replacedBy": 3,
        "replacementChain": [3],
        "replacedEventSeqs": [0, 1],
        "sourceEventSeqs": [1, 0],
        "derivedEventSeqs": [3],
    }
    assert asked.ask(document, seq=4).codes == ["SESSION_QUERY_EVENT_NOT_FOUND"]
