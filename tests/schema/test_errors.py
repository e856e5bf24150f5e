"""What clients see of failures: codes, hints, and nothing of ours."""

from __future__ import annotations

import re
from typing import Any

import pytest
from graphql import GraphQLError
from structlog.testing import capture_logs

from schema.errors import make_public
from sessiongraph.errors import CorruptSession, PersistenceFailed, SessionGraphError, error_classes
from sessiongraph.event import SessionEvent
from tests.schema.asking import Asked
from tests.strategies import event, prompt

READ = "{ sessions { nodes { id events { nodes { seq } } } } }"


@pytest.fixture
def three() -> Asked:
    asked = Asked()
    for session_id in ("a", "b", "c"):
        asked.add(session_id, [prompt(0, "x")])
    return asked


@pytest.mark.parametrize("kind", error_classes())
def test_a_failure_of_the_domain_keeps_its_message_and_says_whether_to_try_again(
    three: Asked, kind: type[SessionGraphError]
) -> None:
    three.store.failures = {("events", "b"): kind("what went wrong")}
    answer = three.ask(READ)
    assert answer.errors == [
        {
            "message": "what went wrong",
            "path": ["sessions", "nodes", 1, "events"],
            "locations": answer.errors[0]["locations"],
            "extensions": {"code": kind.code, "retriable": kind.retriable},
        }
    ]


def test_one_session_that_fails_leaves_its_siblings_alone(three: Asked) -> None:
    three.store.failures = {("events", "b"): CorruptSession("torn")}
    nodes = three.ask(READ).body["data"]["sessions"]["nodes"]
    assert [each["events"] for each in nodes] == [
        {"nodes": [{"seq": 0}]},
        None,
        {"nodes": [{"seq": 0}]},
    ]


def test_an_unexpected_failure_shows_nothing_but_a_reference_to_the_full_log(three: Asked) -> None:
    three.store.failures = {("events", "b"): RuntimeError("secret /path")}
    with capture_logs() as logged:
        answer = three.ask("query Reading " + READ)
    (error,) = answer.errors
    reference = error["extensions"]["reference"]
    assert error["extensions"] == {"code": "INTERNAL_SERVER_ERROR", "reference": reference}
    assert error["message"] == f"Internal server error, reference {reference}"
    assert re.fullmatch("[0-9a-f]{16}", reference)
    assert b"secret" not in answer.text
    (entry,) = logged
    assert entry["reference"] == reference
    assert entry["operation"] == "Reading"
    assert entry["path"] == ["sessions", "nodes", 1, "events"]
    assert str(entry["exc_info"]) == "secret /path"
    assert entry["exc_info"].__traceback__ is not None


def test_each_unexpected_failure_has_a_reference_of_its_own(three: Asked) -> None:
    three.store.failures = {("events", each): RuntimeError() for each in ("a", "b")}
    with capture_logs() as logged:
        answer = three.ask(READ)
    references = [error["extensions"]["reference"] for error in answer.errors]
    assert len(set(references)) == 2
    assert [entry["reference"] for entry in logged] == references


def test_expected_failures_are_not_logged_as_faults(three: Asked) -> None:
    three.store.failures = {("events", "b"): PersistenceFailed("full")}
    with capture_logs() as logged:
        three.ask(READ)
        three.ask("{ nonsense }")
    assert logged == []


@pytest.mark.parametrize(
    ("document", "variables", "said"),
    [
        ("{ session(id: ", {}, "Syntax Error"),
        ("{ nonsense }", {}, "Cannot query field 'nonsense'"),
        ("{ sessions(colour: 1) { nodes { id } } }", {}, "Unknown argument"),
        ("{ session { id } }", {}, "required"),
        ("query($id: ID!) { session(id: $id) { id } }", {}, "$id"),
        ("query($id: ID!) { session(id: $id) { id } }", {"id": {}}, "$id"),
        ("query($n: Int) { sessions(first: $n) { nodes { id } } }", {"n": 1.5}, "1.5"),
        ("query($n: Int) { sessions(first: $n) { nodes { id } } }", {"n": "1"}, "'1'"),
        ("{ sessions(orderBy: OLDEST) { nodes { id } } }", {}, "OLDEST"),
        ("{ sessions(after: 7) { nodes { id } } }", {}, "Cursor takes a string, not 7"),
        ("query($c: Cursor) { sessions(after: $c) { nodes { id } } }", {"c": 7}, "not 7"),
        (
            "{ sessions(filters: [{createdAt: {from: 1.5}}]) { nodes { id } } }",
            {},
            "EpochMillis takes an integer, not 1.5",
        ),
        (
            "{ sessions(filters: [{createdAt: {from: 9007199254740992}}]) { nodes { id } } }",
            {},
            "2^53 - 1",
        ),
        (
            "query($f: [SessionFilter!]) { sessions(filters: $f) { nodes { id } } }",
            {"f": [{"createdAt": {"from": 10**60}}]},
            "2^53 - 1",
        ),
        (
            "query($f: [SessionFilter!]) { sessions(filters: $f) { nodes { id } } }",
            {"f": [{"id": ["a"], "title": "b"}]},
            "SessionFilter",
        ),
        (
            'query($s: Int = 0) { session(id: "a") { event(seq: $s) { startSeq } } }',
            {"s": None},
            "seq",
        ),
    ],
)
def test_a_request_that_is_not_well_formed_is_bad_input_and_keeps_its_message(
    three: Asked, document: str, variables: dict[str, Any], said: str
) -> None:
    answer = three.ask(document, **variables)
    assert set(answer.codes) == {"BAD_USER_INPUT"}
    assert said in answer.errors[0]["message"]


def test_a_payload_that_cannot_be_decoded_fails_its_own_field_alone() -> None:
    asked = Asked()
    broken = SessionEvent(1, "turn/end", 5, b'{"turn": 1')
    asked.add("broken", [event(0, "turn/end", {"turn": 0, "reason": "x"}), broken])
    asked.add("whole", [prompt(0, "x")], created_at=1)
    answer = asked.ask("""{ sessions { nodes { id lastSeq
        all: events { nodes { data } } envelopes: events { nodes { __typename seq } }
        one: event(seq: 0) { target { seq } } } } }""")
    broken_one, whole = answer.body["data"]["sessions"]["nodes"]
    assert broken_one == {
        "id": "broken",
        "lastSeq": 1,
        "all": None,
        "envelopes": {
            "nodes": [
                {"__typename": "TurnEndEvent", "seq": 0},
                {"__typename": "GenericEvent", "seq": 1},
            ]
        },
        "one": {"target": {"seq": 0}},
    }
    assert len(whole["all"]["nodes"]) == len(whole["envelopes"]["nodes"]) == 1
    assert answer.codes == ["SESSION_QUERY_CORRUPT_SESSION"]
    assert "event 1 of 'broken'" in answer.errors[0]["message"]


@pytest.mark.parametrize(
    "text",
    [b"", b'{"a":1', b'{"a":NaN}', b'{"a":"\xff"}', b"{} {}", b"[" * 200_000 + b"]" * 200_000],
    ids=["nothing", "torn", "NaN", "not UTF-8", "two values", "very deep"],
)
def test_what_is_not_json_never_reaches_a_response(text: bytes) -> None:
    asked = Asked()
    asked.add("s", [SessionEvent(0, "custom/thing", 5, text)])
    envelopes = asked.ask('{ session(id: "s") { events { nodes { __typename time } } } }')
    (envelope,) = envelopes.data["session"]["events"]["nodes"]
    assert envelope == {"__typename": "GenericEvent", "time": 5}
    answer = asked.ask('{ session(id: "s") { lastSeq events { nodes { data } } } }')
    assert answer.body["data"] == {"session": {"lastSeq": 0, "events": None}}
    assert answer.codes == ["SESSION_QUERY_CORRUPT_SESSION"]


def test_an_error_that_has_a_code_already_is_left_alone() -> None:
    error = GraphQLError("too dear", extensions={"code": "COST_LIMIT_EXCEEDED"})
    make_public(error)
    assert error.formatted == {
        "message": "too dear",
        "extensions": {"code": "COST_LIMIT_EXCEEDED"},
    }


def test_what_graphql_finds_wrong_with_our_answers_is_our_fault(
    three: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    three.add("far", parent_session=None, seed_length=2**31)
    three.add("asked nowhere else", parent_session=None)  # addresses are remembered
    monkeypatch.setattr("resolvers.sessions.encode_uri", lambda _id: None)
    with capture_logs() as logged:
        too_large = three.ask('{ session(id: "far") { header { seedLength } } }')
        null = three.ask('{ session(id: "asked nowhere else") { uri } }')
    assert too_large.codes == null.codes == ["INTERNAL_SERVER_ERROR"]
    assert len(logged) == 2
