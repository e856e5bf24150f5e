"""Sessions through the API: one, lists of them, filters, pages, several observed at once."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from sessiongraph.header import SessionHeader, SessionSource, SourceKind
from tests.schema.asking import Asked
from tests.strategies import event, header, prompt

T0 = 1_780_000_000_000

ODD_IDS = [
    "plain",
    " ",
    "a/b?c#d",
    "\x00\x1f\u2028",
    "📎 über 会话",
    'quote " and \\',
    "lone \ud800 surrogate",
    "x" * 3000,
]


def titled(title: str) -> list[Any]:
    return [event(0, "session/title", {"title": title})]


def listing(filters: str) -> str:
    return "{ sessions(filters: " + filters + ") { nodes { id } } }"


def ids_of(asked: Asked, filters: str = "null") -> list[str]:
    return [node["id"] for node in asked.ask(listing(filters)).data["sessions"]["nodes"]]


@pytest.mark.parametrize("session_id", ODD_IDS)
def test_a_session_is_found_by_its_id_whatever_its_characters(session_id: str) -> None:
    asked = Asked()
    asked.add(session_id)
    found = asked.ask(
        "query($id: ID!) { session(id: $id) { id header { sessionId } } }", id=session_id
    )
    assert found.data == {"session": {"id": session_id, "header": {"sessionId": session_id}}}


@pytest.mark.parametrize("session_id", ["", "no such session", "\ud800"])
def test_an_id_that_nobody_has_is_null_and_no_error(session_id: str) -> None:
    asked = Asked()
    asked.add("other")
    assert asked.ask("query($id: ID!) { session(id: $id) { id } }", id=session_id).data == {
        "session": None
    }


def test_an_integer_is_an_id_too() -> None:
    asked = Asked()
    asked.add("42")
    assert asked.ask("{ session(id: 42) { id } }").data == {"session": {"id": "42"}}


@pytest.mark.parametrize("session_id", ODD_IDS)
def test_the_uri_is_base64url_of_the_json_string_of_the_id(session_id: str) -> None:
    asked = Asked()
    asked.add(session_id)
    uri = asked.ask("query($id: ID!) { session(id: $id) { uri } }", id=session_id).data["session"][
        "uri"
    ]
    scheme, _, body = uri.partition(":")
    assert scheme == "dsh-session"
    assert "=" not in body
    assert json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))) == session_id


def test_every_field_of_a_session_is_what_was_stored() -> None:
    asked = Asked()
    source = SessionSource(SourceKind.CLAUDE_CODE, "/logs/a.jsonl", 2**53 - 1, ("a note", "\ud800"))
    asked.add(
        SessionHeader(3, "s", T0, "/home", "p", 0, "subagent", 2, "fast", source),
        [prompt(0, "hello"), event(1, "session/title", {"title": "A \udfff title"})],
    )
    asked.add("empty", created_at=T0 - 1)
    found = asked.ask("""{ sessions { nodes {
        id live persisted lastSeq title
        header { sessionId version createdAt cwd parentSession seedLength origin delegationDepth
                 agentPreset source { kind path importedAt notes } }
    } } }""")
    assert found.data["sessions"]["nodes"] == [
        {
            "id": "s",
            "live": False,
            "persisted": True,
            "lastSeq": 1,
            "title": "A \udfff title",
            "header": {
                "sessionId": "s",
                "version": 3,
                "createdAt": T0,
                "cwd": "/home",
                "parentSession": "p",
                "seedLength": 0,
                "origin": "subagent",
                "delegationDepth": 2,
                "agentPreset": "fast",
                "source": {
                    "kind": "CLAUDE_CODE",
                    "path": "/logs/a.jsonl",
                    "importedAt": 2**53 - 1,
                    "notes": ["a note", "\ud800"],
                },
            },
        },
        {
            "id": "empty",
            "live": False,
            "persisted": True,
            "lastSeq": -1,
            "title": None,
            "header": {
                "sessionId": "empty",
                "version": 4,
                "createdAt": T0 - 1,
                "cwd": None,
                "parentSession": None,
                "seedLength": None,
                "origin": None,
                "delegationDepth": 0,
                "agentPreset": None,
                "source": {"kind": "API", "path": None, "importedAt": None, "notes": []},
            },
        },
    ]


def test_sessions_come_newest_first_and_ties_by_id() -> None:
    asked = Asked()
    for session_id, created_at in [
        ("b", T0),
        ("é", T0),
        ("a", T0),
        ("old", T0 - 5),
        ("new", T0 + 5),
    ]:
        asked.add(session_id, created_at=created_at)
    assert ids_of(asked) == ["new", "a", "b", "é", "old"]


def test_active_puts_the_latest_prompt_of_a_person_first() -> None:
    asked = Asked()
    asked.add("newer and silent", created_at=T0 + 9)
    asked.add("early prompt", [prompt(0, "x", time=T0 + 1)])
    asked.add("late prompt", [prompt(0, "x", time=T0 + 2)], created_at=T0 - 9)
    ordered = asked.ask("{ sessions(orderBy: ACTIVE) { nodes { id } } }").data["sessions"]["nodes"]
    assert [node["id"] for node in ordered] == ["late prompt", "early prompt", "newer and silent"]


@pytest.mark.parametrize("size", [1, 2, 7, 200])
def test_a_walk_by_end_cursors_sees_every_session_once_in_order(size: int) -> None:
    asked = Asked()
    for number in range(7):
        asked.add(f"s{number}", created_at=T0 + number // 2)
    document = """query($n: Int, $after: Cursor) { sessions(first: $n, after: $after) {
        nodes { id } pageInfo { hasNextPage endCursor } } }"""
    walked = asked.walk(lambda after: asked.ask(document, n=size, after=after).data["sessions"])
    assert [node["id"] for node in walked] == ["s6", "s4", "s5", "s2", "s3", "s0", "s1"]


def test_a_page_tells_what_lies_beyond_it_and_edges_carry_its_cursors() -> None:
    asked = Asked()
    for number in range(3):
        asked.add(f"s{number}", created_at=T0 - number)
    document = """query($after: Cursor) { sessions(first: 1, after: $after) {
        edges { cursor node { id } } nodes { id }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }"""
    first = asked.ask(document).data["sessions"]
    second = asked.ask(document, after=first["pageInfo"]["endCursor"]).data["sessions"]
    third = asked.ask(document, after=second["edges"][0]["cursor"]).data["sessions"]
    beyond = [
        (page["pageInfo"]["hasPreviousPage"], page["pageInfo"]["hasNextPage"])
        for page in (first, second, third)
    ]
    assert beyond == [(False, True), (True, True), (True, False)]
    assert second["nodes"] == [{"id": "s1"}]
    (edge,) = second["edges"]
    assert edge["node"] == {"id": "s1"}
    assert edge["cursor"] == second["pageInfo"]["startCursor"] == second["pageInfo"]["endCursor"]


def test_an_empty_page_has_no_cursors() -> None:
    page = Asked().ask(
        "{ sessions { edges { cursor } nodes { id } pageInfo { startCursor endCursor } } }"
    )
    assert page.data["sessions"] == {
        "edges": [],
        "nodes": [],
        "pageInfo": {"startCursor": None, "endCursor": None},
    }


def test_the_default_page_has_fifty_sessions_and_null_means_the_default() -> None:
    asked = Asked()
    for number in range(51):
        asked.add(f"s{number}")
    document = "query($n: Int, $f: [SessionFilter!], $o: SessionOrder, $a: Cursor) {"
    document += " sessions(first: $n, filters: $f, orderBy: $o, after: $a) { nodes { id } } }"
    assert len(ids_of(asked)) == 50
    explicit = asked.ask(document, n=None, f=None, o=None, a=None).data["sessions"]["nodes"]
    assert len(explicit) == 50


@pytest.mark.parametrize("first", [0, -1, 201, 2**31 - 1])
def test_a_page_size_outside_the_limits_is_refused(first: int) -> None:
    asked = Asked()
    refused = asked.ask("query($n: Int) { sessions(first: $n) { nodes { id } } }", n=first)
    assert refused.codes == ["SESSION_QUERY_INVALID_LIMIT"]
    assert refused.body["data"] == {"sessions": None}


@pytest.fixture(scope="module")
def varied() -> Asked:
    """Five sessions, newest first: root, child, orphan, agent, api."""
    asked = Asked()
    dsh = SessionSource(SourceKind.DSH)
    asked.add(header("root", T0, cwd="/a", source=dsh), titled("Fix the  RETRY policy"))
    asked.add(header("child", T0 - 1, cwd="/b", parent_session="root", source=dsh), titled("retry"))
    asked.add(
        header("orphan", T0 - 2, parent_session="gone", source=SessionSource(SourceKind.CODEX))
    )
    asked.add(header("agent", T0 - 3, cwd="/a", parent_session="root", origin="subagent"))
    asked.add(header("api", T0 - 4))
    return asked


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ("[]", ["root", "child", "orphan", "agent", "api"]),
        ('[{id: ["api", "root", "nobody"]}]', ["root", "api"]),
        ("[{id: []}]", []),
        ('[{cwd: ["/a"]}]', ["root", "agent"]),
        ('[{cwd: [null, "/b"]}]', ["child", "orphan", "api"]),
        ('[{cwd: "/b"}]', ["child"]),
        ("[{parent: [null]}]", ["root", "api"]),
        ('[{parent: ["root"]}]', ["child", "agent"]),
        ('[{parent: ["gone", null]}]', ["root", "orphan", "api"]),
        ("[{origin: [null]}]", ["root", "child", "orphan", "api"]),
        ('[{origin: ["subagent"]}]', ["agent"]),
        ("[{source: [DSH]}]", ["root", "child"]),
        ("[{source: [CODEX, API]}]", ["orphan", "agent", "api"]),
        ("[{availability: [PERSISTED]}]", ["root", "child", "orphan", "agent", "api"]),
        ("[{availability: [LIVE]}]", []),
        ("[{availability: []}]", []),
        ('[{title: "retry"}]', ["root", "child"]),
        ('[{title: " the retry "}]', ["root"]),
        ('[{title: ".*"}]', []),
        (f"[{{createdAt: {{from: {T0 - 2}, to: {T0 - 1}}}}}]", ["child", "orphan"]),
        (f"[{{createdAt: {{from: {T0 - 1}, to: null}}}}]", ["root", "child"]),
        (f"[{{createdAt: {{to: {T0 - 3}}}}}]", ["agent", "api"]),
        ("[{createdAt: {}}]", ["root", "child", "orphan", "agent", "api"]),
        ('[{parent: ["root"]}, {cwd: ["/a"]}]', ["agent"]),
        ('[{title: "retry"}, {title: "policy"}]', ["root"]),
        ('[{cwd: ["/a"]}, {cwd: ["/b"]}]', []),
    ],
)
def test_filters_are_anded_and_their_values_ored(
    varied: Asked, filters: str, expected: list[str]
) -> None:
    assert ids_of(varied, filters) == expected


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ("[{createdAt: {from: 2, to: 1}}]", "reversed"),
        ('[{title: " \\n "}]', "blank"),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(varied: Asked, filters: str, reason: str) -> None:
    refused = varied.ask(listing(filters))
    assert refused.codes == ["SESSION_QUERY_INVALID_FILTER"]
    assert reason in refused.errors[0]["message"]


@pytest.mark.parametrize(
    "filters",
    [
        [{}],
        [{"id": None}],
        [{"id": ["a"], "title": "b"}],
        [{"id": ["a"], "title": None}],
        [{"colour": "red"}],
        [{"source": ["PAPER"]}],
        [{"id": [None]}],
        [None],
        [{"createdAt": {"from": 1.5}}],
        [{"createdAt": {"from": "1"}}],
        [{"createdAt": {"from": True}}],
        [{"createdAt": {"to": 2**53}}],
        [{"createdAt": {"to": -(2**53)}}],
    ],
)
def test_a_filter_of_another_form_is_bad_input(varied: Asked, filters: Any) -> None:
    refused = varied.ask(
        "query($f: [SessionFilter!]) { sessions(filters: $f) { nodes { id } } }", f=filters
    )
    assert set(refused.codes) == {"BAD_USER_INPUT"}


@pytest.mark.parametrize("filters", ["[{}]", "[{id: null}]", '[{id: ["a"], title: "b"}]'])
def test_a_literal_filter_takes_exactly_one_member(varied: Asked, filters: str) -> None:
    refused = varied.ask(listing(filters))
    assert set(refused.codes) == {"BAD_USER_INPUT"}


def test_several_sessions_are_observed_in_the_order_of_their_ids_each_once() -> None:
    asked = Asked()
    for session_id in ("a", "b", "c"):
        asked.add(session_id)
    document = """query($ids: [ID!]!) { observeSessions(ids: $ids) { __typename
        ... on SessionRecord { id lastSeq }
        ... on ObservationFailure { sessionId code message } } }"""
    found = asked.ask(document, ids=["c", "gone", "a", "c", "", "gone"]).data["observeSessions"]
    assert [(each["__typename"], each.get("id", each.get("sessionId"))) for each in found] == [
        ("SessionRecord", "c"),
        ("ObservationFailure", "gone"),
        ("SessionRecord", "a"),
        ("ObservationFailure", ""),
    ]
    assert found[1]["code"] == "SESSION_QUERY_SESSION_NOT_FOUND"
    assert "gone" in found[1]["message"]


def test_no_ids_observe_nothing() -> None:
    assert Asked().ask("{ observeSessions(ids: []) { __typename } }").data == {
        "observeSessions": []
    }


def test_the_server_counts_its_corpus() -> None:
    asked = Asked()
    asked.add("a", [prompt(0, "x"), prompt(1, "y")])
    asked.add("b", [prompt(0, "z")])
    found = asked.ask("{ server { version searchEnabled indexLag sessions events } }")
    assert found.data["server"] == {
        "version": "1.2.3",
        "searchEnabled": False,
        "indexLag": None,
        "sessions": 2,
        "events": 3,
    }
