"""References as clients use them: candidates, preview, posting, citations in both directions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sessiongraph.references.mention import ReferenceInput, mention_of
from tests.schema.living import Server, eventually, in_server, log_only, prompt

CANDIDATES = """query($id: ID!, $query: String, $limit: Int) {
    referenceCandidates(sessionId: $id, query: $query, limit: $limit) {
        sessionId label cwd createdAt sameCwd mention } }"""
PREPARE = """query($id: ID!, $text: String!, $references: [ReferenceInput!]) {
    prepareMessage(sessionId: $id, text: $text, references: $references) {
        text additionalContext { content bytes references {
            sessionId label capturedThroughSeq compacted originalMessages retainedMessages
            omittedMessages omittedBytes truncated } } } }"""
POST = """mutation($input: PostMessageInput!) { postMessage(input: $input) {
    session { lastSeq }
    message { seq text sourceKind }
    context { seq sourceKind text } } }"""
CITATIONS = """query($id: ID!, $first: Int, $after: Cursor) { session(id: $id) {
    references(first: $first, after: $after) { ...All }
    referencedBy(first: $first) { ...All } } }
    fragment All on CitationConnection {
        nodes { sessionId seq targetId label capturedThroughSeq target { id title } }
        pageInfo { hasNextPage endCursor } }"""


def titled(title: str) -> dict[str, Any]:
    source = {"kind": "user"}
    return log_only("session/title", title=title, messageSeqs=[], source=source)


async def talk(server: Server, session_id: str, *texts: str, **members: Any) -> None:
    await server.create(session_id, **members)
    await server.append(session_id, *texts)


async def candidates(server: Server, session_id: str, **wanted: Any) -> list[str]:
    answer = await server.ask(CANDIDATES, id=session_id, **wanted)
    return [each["sessionId"] for each in answer.data["referenceCandidates"]]


@in_server()
async def test_candidates_are_near_first_and_know_what_is_not_on_disk_yet(server: Server) -> None:
    await server.create("asking", cwd="/here")
    await server.create("far", cwd="/there")
    await server.create("none")
    await server.create("near", cwd="/here", durability="ACCEPTED")
    await server.append("none", titled("Retry Policy 重试"), durability="ACCEPTED")
    assert await candidates(server, "asking") == ["near", "none", "far"]
    assert await candidates(server, "asking", limit=1) == ["near"]
    assert await candidates(server, "asking", query="RETRY p") == ["none"]
    assert await candidates(server, "asking", query="重试") == ["none"]
    (found,) = (await server.ask(CANDIDATES, id="asking", query="ther")).data["referenceCandidates"]
    assert (found["label"], found["cwd"], found["sameCwd"]) == ("far", "/there", False)
    assert found["mention"] == mention_of(ReferenceInput("far", "far"))


@in_server()
async def test_a_title_given_a_moment_ago_is_the_one_that_counts(server: Server) -> None:
    await server.create("asking")
    await server.create("s")
    await server.append("s", titled("before"))
    await server.append("s", titled("after"), durability="ACCEPTED")
    assert await candidates(server, "asking", query="after") == ["s"]
    assert await candidates(server, "asking", query="before") == []


@in_server()
async def test_what_is_previewed_is_what_is_posted(server: Server) -> None:
    await talk(server, "source", "how many retries?", cwd="/p")
    await talk(server, "asking", "hello")
    text = f"as in {mention_of(ReferenceInput('source', 'that one'))}"
    prepared = (await server.ask(PREPARE, id="asking", text=text)).data["prepareMessage"]
    context = prepared["additionalContext"]
    assert prepared["text"] == "as in @that one"
    assert context["bytes"] == len(context["content"].encode())
    assert '"how many retries?"' in context["content"]
    assert context["references"] == [
        {
            "sessionId": "source",
            "label": "that one",
            "capturedThroughSeq": 0,
            "compacted": False,
            "originalMessages": 1,
            "retainedMessages": 1,
            "omittedMessages": 0,
            "omittedBytes": 0,
            "truncated": False,
        }
    ]
    assert (await server.session("asking"))["lastSeq"] == 0
    posted = (await server.ask(POST, input={"sessionId": "asking", "text": text})).data
    assert posted["postMessage"] == {
        "session": {"lastSeq": 2},
        "message": {"seq": 1, "text": "as in @that one", "sourceKind": "user"},
        "context": {"seq": 2, "sourceKind": "session-reference", "text": context["content"]},
    }


@in_server()
async def test_a_message_without_references_has_no_context(server: Server) -> None:
    await server.create("s")
    answer = await server.ask(POST, input={"sessionId": "s", "text": "dsh-session: is a scheme"})
    assert answer.data["postMessage"] == {
        "session": {"lastSeq": 0},
        "message": {"seq": 0, "text": "dsh-session: is a scheme", "sourceKind": "user"},
        "context": None,
    }
    prepared = await server.ask(PREPARE, id="s", text="plain", references=[])
    assert prepared.data["prepareMessage"] == {"text": "plain", "additionalContext": None}


@in_server()
async def test_posting_again_answers_as_the_first_time_though_the_source_has_grown(
    server: Server,
) -> None:
    await talk(server, "source", "one")
    await server.create("asking")
    message = {
        "sessionId": "asking",
        "text": "and?",
        "references": [{"sessionId": "source"}],
        "expectedSeq": 0,
    }
    first = (await server.ask(POST, input=message)).data
    await server.append("source", "two")
    assert (await server.ask(POST, input=message)).data == first
    other = await server.ask(POST, input={**message, "text": "something else"})
    assert other.codes == ["SESSION_LOG_CONFLICT"]
    assert (await server.session("asking"))["lastSeq"] == 1


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"references": [{"sessionId": "asking"}]}, "SESSION_REFERENCE_SELF_REFERENCE"),
        ({"references": [{"sessionId": "nobody"}]}, "SESSION_REFERENCE_READ_FAILED"),
        ({"references": [{"sessionId": str(n)} for n in range(4)]}, "SESSION_REFERENCE_TOO_MANY"),
        ({"text": "dsh-session:AA!"}, "SESSION_REFERENCE_INVALID_REFERENCE"),
        ({"text": "lone \ud800"}, "BAD_USER_INPUT"),
        ({"references": [{"sessionId": "x", "label": "\ud800"}]}, "BAD_USER_INPUT"),
    ],
)
@in_server()
async def test_a_message_is_refused_with_all_of_its_references(
    server: Server, members: dict[str, Any], code: str
) -> None:
    await server.create("asking")
    answer = await server.ask(POST, input={"sessionId": "asking", "text": "", **members})
    assert answer.codes == [code]
    previewed = await server.ask(PREPARE, id="asking", **{"text": "", **members})
    assert previewed.codes == [code]
    assert (await server.session("asking"))["lastSeq"] == -1


@in_server()
async def test_nothing_is_sent_from_a_session_that_does_not_exist(server: Server) -> None:
    expected = ["SESSION_QUERY_SESSION_NOT_FOUND"]
    assert (await server.ask(PREPARE, id="nobody", text="")).codes == expected
    assert (await server.ask(CANDIDATES, id="nobody")).codes == expected
    assert (await server.ask(POST, input={"sessionId": "nobody", "text": ""})).codes == expected


@in_server()
async def test_citations_are_seen_from_both_ends_and_outlive_their_target(server: Server) -> None:
    await talk(server, "a", "one")
    await server.append("a", titled("First"))
    await talk(server, "b", "two")
    await server.create("asking")
    for text in ("both", "again"):
        references = [{"sessionId": "a", "label": "A"}, {"sessionId": "b"}]
        await server.ask(
            POST, input={"sessionId": "asking", "text": text, "references": references}
        )
    found = (await server.ask(CITATIONS, id="asking", first=3)).data["session"]["references"]
    assert found["nodes"][:2] == [
        {
            "sessionId": "asking",
            "seq": 1,
            "targetId": "a",
            "label": "A",
            "capturedThroughSeq": 1,
            "target": {"id": "a", "title": "First"},
        },
        {
            "sessionId": "asking",
            "seq": 1,
            "targetId": "b",
            "label": "b",
            "capturedThroughSeq": 0,
            "target": {"id": "b", "title": None},
        },
    ]
    assert found["pageInfo"]["hasNextPage"]
    after = found["pageInfo"]["endCursor"]
    rest = (await server.ask(CITATIONS, id="asking", after=after)).data["session"]["references"]
    assert [(each["seq"], each["targetId"]) for each in rest["nodes"]] == [(3, "b")]
    assert not rest["pageInfo"]["hasNextPage"]
    cited = (await server.ask(CITATIONS, id="b")).data["session"]["referencedBy"]["nodes"]
    assert [(each["sessionId"], each["seq"]) for each in cited] == [("asking", 1), ("asking", 3)]
    await server.ask('mutation { deleteSession(id: "b") { deletedId } }')
    found = (await server.ask(CITATIONS, id="asking")).data["session"]["references"]["nodes"]
    assert [each["target"] and each["target"]["id"] for each in found] == ["a", None, "a", None]
    await server.ask('mutation { deleteSession(id: "asking") { deletedId } }')
    assert (await server.ask(CITATIONS, id="a")).data["session"]["referencedBy"]["nodes"] == []


@in_server(write_delay_ms=60_000)
async def test_citations_are_seen_once_their_messages_are_committed(
    server: Server,
) -> None:
    await talk(server, "target", "one")
    await server.create("stored")
    await server.create("live", durability="ACCEPTED")
    reference = [{"sessionId": "target"}]
    post = {"text": "x", "references": reference}
    await server.ask(POST, input={"sessionId": "stored", **post})
    for session_id in ("live", "stored"):
        message = {"sessionId": session_id, "durability": "ACCEPTED", **post}
        (await server.ask(POST, input=message)).data  # noqa: B018

    async def citing() -> list[tuple[str, int]]:
        answer = await server.ask(CITATIONS, id="target")
        nodes = answer.data["session"]["referencedBy"]["nodes"]
        return [(each["sessionId"], each["seq"]) for each in nodes]

    async def cited(session_id: str) -> list[int]:
        found = (await server.ask(CITATIONS, id=session_id)).data["session"]["references"]["nodes"]
        return [each["seq"] for each in found]

    assert await citing() == [("stored", 1)]
    assert (await cited("stored"), await cited("live")) == ([1], [])
    for session_id in ("live", "stored"):
        await server.ask(
            "mutation($id: ID!) { flushSession(id: $id) { session { id } } }", id=session_id
        )
    assert sorted(await citing()) == [("live", 1), ("stored", 1), ("stored", 3)]
    assert (await cited("stored"), await cited("live")) == ([1, 3], [1])


@in_server()
async def test_a_snapshot_is_whole_while_its_source_is_written_to_and_compacted(
    server: Server,
) -> None:
    await server.create("source")
    await server.create("asking")
    await server.append("source", *[f"message {number}" for number in range(100)])
    stop = asyncio.Event()

    async def write() -> int:
        number = 100
        while not stop.is_set():
            answer = await server.append("source", f"message {number}")
            number += 1
            answer.data  # noqa: B018
        return number

    writing = asyncio.create_task(write())
    for _ in range(20):
        answer = await server.ask(
            PREPARE, id="asking", text="", references=[{"sessionId": "source"}]
        )
        context = answer.data["prepareMessage"]["additionalContext"]
        (stats,) = context["references"]
        assert stats["originalMessages"] == stats["capturedThroughSeq"] + 1
        assert f'message {stats["capturedThroughSeq"]}"' in context["content"]
        assert f'message {stats["capturedThroughSeq"] + 1}"' not in context["content"]
    stop.set()
    assert await writing > 100


@in_server()
async def test_a_recorded_citation_is_one_like_any_other(server: Server) -> None:
    await talk(server, "target", "one")
    await server.create("recorded")
    message = prompt("<referenced-sessions>…")
    message["data"]["source"] = {
        "kind": "session-reference",
        "version": 1,
        "references": [{"sessionId": "target", "label": "T", "capturedThroughSeq": 0}],
    }
    await server.append("recorded", message)

    async def seen() -> bool:
        answer = await server.ask(CITATIONS, id="target")
        nodes = answer.data["session"]["referencedBy"]["nodes"]
        return [each["sessionId"] for each in nodes] == ["recorded"]

    await eventually(seen)
