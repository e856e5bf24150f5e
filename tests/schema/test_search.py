"""The two searches as clients ask them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.providers.recordings import dsh_writing as dsh
from tests.schema.asking import Asked
from tests.schema.living import Server, in_server, log_only, prompt

SESSIONS = """query($query: String!, $match: MatchMode, $sessions: [SessionFilter!],
        $events: [EventMetadataFilter!], $inherited: Boolean, $first: Int, $after: Cursor) {
    searchSessions(query: $query, match: $match, sessionFilters: $sessions, eventFilters: $events,
            includeInherited: $inherited, first: $first, after: $after) {
        nodes { session { id title lastSeq }
            bestMatch { sessionId seq type time surface snippet highlights { start end }
                event { id seq ... on UserMessageEvent { text } } } }
        edges { cursor node { session { id } } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    } }"""
EVENTS = """query($id: ID!, $query: String!, $match: MatchMode, $filters: [EventMetadataFilter!],
        $first: Int, $after: Cursor) {
    searchEvents(sessionId: $id, query: $query, match: $match, filters: $filters, first: $first,
            after: $after) {
        session { sessionId cwd }
        nodes { sessionId seq surface snippet highlights { start end } event { seq } }
        edges { cursor node { seq } }
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    } }"""


async def search(server: Server, query: str, **more: Any) -> Any:
    return (await server.ask(SESSIONS, query=query, **more)).data["searchSessions"]


async def inside(server: Server, session_id: str, query: str, **more: Any) -> Any:
    return (await server.ask(EVENTS, id=session_id, query=query, **more)).data["searchEvents"]


@in_server(search=True)
async def test_a_hit_says_what_and_where_and_leads_to_its_event(server: Server) -> None:
    await server.create("a", cwd="/work")
    await server.append("a", log_only("session/title", title="Named"), "the 🚀 retry\n\npolicy")
    (hit,) = (await search(server, "policy"))["nodes"]
    assert hit["session"] == {"id": "a", "title": "Named", "lastSeq": 1}
    best = hit["bestMatch"]
    (span,) = best["highlights"]
    assert best["snippet"][span["start"] : span["end"]] == "policy"
    assert (best["snippet"], best["surface"], best["type"]) == (
        "the 🚀 retry policy",
        "CURRENT",
        "user/message",
    )
    assert best["event"]["text"] == "the 🚀 retry\n\npolicy"
    assert best["event"]["id"].endswith("#1")


@in_server(search=True)
async def test_inside_a_session_the_answer_names_it_even_when_nothing_matches(
    server: Server,
) -> None:
    await server.create("a", cwd="/work")
    found = await inside(server, "a", "anything")
    assert found["session"] == {"sessionId": "a", "cwd": "/work"}
    assert (found["nodes"], found["edges"]) == ([], [])
    assert found["pageInfo"] == {
        "hasNextPage": False,
        "hasPreviousPage": False,
        "startCursor": None,
        "endCursor": None,
    }
    answer = await server.ask(EVENTS, id="nobody", query="x")
    assert answer.codes == ["SESSION_QUERY_SESSION_NOT_FOUND"]
    assert answer.body["data"] == {"searchEvents": None}


@in_server(search=True)
async def test_appended_replaced_forked_and_deleted_shows_in_the_very_next_search(
    server: Server,
) -> None:
    await server.create("a")
    for durability in ("DURABLE", "ACCEPTED"):
        await server.append("a", f"word {durability}", durability=durability)
        assert len((await inside(server, "a", durability))["nodes"]) == 1
    replace = {"surfaceOp": {"replace": {"start": 0, "end": 1}}, "sourceEventSeqs": [0, 1]}
    (await server.append("a", {**prompt("a summary"), **replace})).data  # noqa: B018
    surfaces = {hit["seq"]: hit["surface"] for hit in (await inside(server, "a", "word"))["nodes"]}
    assert surfaces == {0: "SHADOWED", 1: "SHADOWED"}
    current = await inside(server, "a", "word", filters=[{"surface": ["CURRENT"]}])
    assert current["nodes"] == []
    fork = 'mutation { forkSession(input: { sourceId: "a", id: "b" }) { session { id } } }'
    (await server.ask(fork)).data  # noqa: B018
    assert {each["session"]["id"] for each in (await search(server, "word"))["nodes"]} == {"a", "b"}
    own = await search(server, "word", inherited=False)
    assert [each["session"]["id"] for each in own["nodes"]] == ["a"]
    (await server.ask('mutation { deleteSession(id: "a") { deletedId } }')).data  # noqa: B018
    assert {each["session"]["id"] for each in (await search(server, "word"))["nodes"]} == {"b"}


@in_server(search=True)
async def test_a_walk_by_cursors_and_what_makes_them_stale(server: Server) -> None:
    for number in range(5):
        await server.create(f"s{number}")
        await server.append(f"s{number}", "word")
    pages = [await search(server, "word", first=2)]
    while pages[-1]["pageInfo"]["hasNextPage"]:
        after = pages[-1]["pageInfo"]["endCursor"]
        pages.append(await search(server, "word", first=2, after=after))
    ids = [each["session"]["id"] for page in pages for each in page["nodes"]]
    assert sorted(ids) == [f"s{number}" for number in range(5)]
    assert pages[-1]["pageInfo"]["endCursor"] is None
    assert [page["pageInfo"]["hasPreviousPage"] for page in pages] == [False, True, True]
    cursor = pages[0]["pageInfo"]["endCursor"]
    assert pages[0]["edges"][1]["cursor"] == cursor
    for changed in ({"query": "other"}, {"first": 3}, {"match": "ANY"}, {"inherited": False}):
        asked = {"query": "word", "first": 2, "after": cursor, **changed}
        assert (await server.ask(SESSIONS, **asked)).codes == ["SESSION_QUERY_STALE_CURSOR"]
    forged = await server.ask(SESSIONS, query="word", first=2, after="forged")
    assert forged.codes == ["SESSION_QUERY_INVALID_CURSOR"]
    (await server.ask('mutation { deleteSession(id: "s0") { deletedId } }')).data  # noqa: B018
    stale = await server.ask(SESSIONS, query="word", first=2, after=cursor)
    assert stale.codes == ["SESSION_QUERY_STALE_CURSOR"]


@in_server(search=True)
async def test_an_import_and_the_growth_of_its_file_are_found(server: Server) -> None:
    def said(seq: int, text: str) -> Any:
        return dsh.row(seq, "user/message", prompt(text)["data"], surfaceOp="append")

    folder = server.path / "recorded"
    folder.mkdir()
    rows = [dsh.header_row(id="s"), said(0, "imported words")]
    file = dsh.write(folder / "session.jsonl", rows)
    await server.take_in(file)
    assert len((await inside(server, "s", "imported"))["nodes"]) == 1
    dsh.write(file, [*rows, said(1, "grown")])
    await server.take_in(file)
    assert [hit["seq"] for hit in (await inside(server, "s", "grown"))["nodes"]] == [1]
    assert len((await inside(server, "s", "imported"))["nodes"]) == 1
    dsh.write(file, [rows[0], said(0, "rewritten")])
    await server.take_in(file)
    assert (await inside(server, "s", "imported"))["nodes"] == []
    assert [hit["seq"] for hit in (await inside(server, "s", "rewritten"))["nodes"]] == [0]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"query": "***"}, "SESSION_QUERY_INVALID_QUERY"),
        ({"query": "a\0b"}, "SESSION_QUERY_INVALID_QUERY"),
        ({"query": "a", "first": 0}, "SESSION_QUERY_INVALID_LIMIT"),
        ({"query": "a", "first": 201}, "SESSION_QUERY_INVALID_LIMIT"),
        ({"query": "a", "events": [{"seq": {"from": 2, "to": 1}}]}, "SESSION_QUERY_INVALID_FILTER"),
        ({"query": "a", "events": [{"text": "b"}]}, "BAD_USER_INPUT"),
        ({"query": "a", "sessions": [{"title": " "}]}, "SESSION_QUERY_INVALID_FILTER"),
    ],
)
@in_server(search=True)
async def test_what_makes_no_sense_is_refused(
    server: Server, arguments: dict[str, Any], code: str
) -> None:
    assert (await server.ask(SESSIONS, **arguments)).codes == [code]


@in_server(search=True)
async def test_the_server_says_how_far_the_index_is(server: Server) -> None:
    await server.create("a")
    await server.append("a", "word")
    await search(server, "word")
    found = (await server.ask("{ server { searchEnabled indexLag } }")).data["server"]
    assert found == {"searchEnabled": True, "indexLag": 0}


def test_turned_off_a_search_fails_before_anything_else_is_looked_at() -> None:
    asked = Asked()
    for document in (
        '{ searchSessions(query: "\\u0000", first: 0, after: "forged") { nodes { __typename } } }',
        '{ searchEvents(sessionId: "nobody", query: "*", first: 0) { nodes { __typename } } }',
    ):
        assert asked.ask(document).codes == ["SESSION_QUERY_SEARCH_DISABLED"]
    assert asked.store.observed == 0
