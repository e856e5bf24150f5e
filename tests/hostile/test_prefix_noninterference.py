"""Whoever is confined to some directories cannot tell whether there is anything elsewhere.

Two worlds differ by the sessions out of sight and by nothing else (:mod:`tests.hostile.worlds`).
Every field that reads is asked for in both, of every id, with filters and pages of all kinds, and
the answers must be the same to the letter. So must be what is refused when something is written
that is out of sight, and nothing out of sight may have changed afterwards.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostile.worlds import (
    EVERY_ID,
    HIDDEN_IDS,
    IN_SIGHT,
    NOBODY,
    OUT_OF_SIGHT,
    SEEN_IDS,
    Member,
    World,
    comparable,
    populations,
    two_worlds,
)
from tests.schema.living import Stream

_HEADER: Final = """{ sessionId version createdAt cwd parentSession seedLength origin
    delegationDepth agentPreset source { kind path importedAt notes } }"""
_RECORD: Final = f"{{ id uri header {_HEADER} live persisted lastSeq title }}"
_PAGE: Final = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor }"
_EVENT: Final = "{ id sessionId seq type time surface sourceEventSeqs replacedBy data }"
_HIT: Final = f"{{ sessionId seq type time surface snippet event {_EVENT} }}"


def of_every_id(field: str, *ids: str, fragment: str = "") -> str:
    """One operation that asks a field for each of some ids, all unless they are given."""
    asked = [
        f"f{number}: " + field.replace("$id", json.dumps(session_id))
        for number, session_id in enumerate(ids or EVERY_ID)
    ]
    return f"{{ {' '.join(asked)} }} {fragment}"


SESSION: Final = of_every_id(
    "session(id: $id) { ...Whole }",
    fragment=f"""fragment Record on SessionRecord {_RECORD}
fragment Event on SessionEvent {_EVENT}
fragment Citations on CitationConnection {{ {_PAGE} nodes {{ sessionId seq targetId label
    capturedThroughSeq target {{ ...Record }} }} }}
fragment Whole on SessionRecord {{ ...Record
    events(first: 2) {{ {_PAGE} nodes {{ ...Event }} }}
    event(seq: 0, after: 1) {{ session {_HEADER} target {{ ...Event }} events {{ ...Event }} }}
    documents {{ {_PAGE} nodes {{ sessionId seq text }} }}
    surface {{ session {_HEADER} capturedThroughSeq events {{ nodes {{ ...Event }} }} }}
    trace(seq: 0) {{ session {_HEADER} target {{ ...Event }} derivedEventSeqs }}
    references(first: 1) {{ ...Citations }}
    referencedBy(first: 2) {{ ...Citations }}
    lineage {{ complete target {{ ...Record }} ancestors {{ ...Record }}
        ... on CompleteLineage {{ root {{ ...Record }} }}
        ... on PartialLineage {{ unresolvedParentId }}
        descendants(first: 2) {{ totalCount {_PAGE} edges {{ cursor
            node {{ parentId depth session {{ ...Record }} }} }} }} }} }}""",
)
# What a checkpoint says of a session in sight depends on when it was written, in either world.
STORED: Final = of_every_id(
    "session(id: $id) { projections(freshness: STORED) { views { key } } }", *HIDDEN_IDS, NOBODY
)
CURRENT: Final = of_every_id(
    "session(id: $id) { projections { sessionId asOfSeq views { key seq value } } }"
)
CANDIDATES: Final = of_every_id(
    """referenceCandidates(sessionId: $id, query: $part) {
    sessionId label cwd createdAt sameCwd mention }"""
)
PREPARED: Final = """prepareMessage(sessionId: $id, text: "see",
    references: [{sessionId: $other}]) { text additionalContext { content bytes
        references { sessionId label capturedThroughSeq } } }"""
SESSIONS: Final = f"""query($filters: [SessionFilter!], $order: SessionOrder, $first: Int,
    $after: Cursor) {{ sessions(filters: $filters, orderBy: $order, first: $first, after: $after) {{
        {_PAGE} edges {{ cursor node {_RECORD} }} }} }}"""
OBSERVED: Final = f"""query($ids: [ID!]!) {{ observeSessions(ids: $ids) {{ __typename
    ... on SessionRecord {_RECORD} ... on ObservationFailure {{ sessionId code message }} }} }}"""
FOUND: Final = f"""query($query: String!, $match: MatchMode, $filters: [SessionFilter!],
    $own: Boolean, $first: Int, $after: Cursor) {{ searchSessions(query: $query, match: $match,
        sessionFilters: $filters, includeInherited: $own, first: $first, after: $after) {{
        {_PAGE} edges {{ cursor node {{ session {_RECORD} bestMatch {_HIT} }} }} }} }}"""
FOUND_IN: Final = f"""query($id: ID!, $query: String!, $match: MatchMode) {{
    searchEvents(sessionId: $id, query: $query, match: $match, first: 2) {{
        session {_HEADER} {_PAGE} nodes {_HIT} }} }}"""
SERVER: Final = "{ server { version searchEnabled indexLag sessions events projectionKeys } }"
FOLLOWED: Final = f"subscription($id: ID!) {{ sessionEvents(sessionId: $id) {_EVENT} }}"
VIEWS: Final = """subscription($id: ID!) { projections(sessionId: $id) {
    ... on ProjectionSnapshot { sessionId asOfSeq views { key seq value } } } }"""
CHANGES: Final = f"""subscription {{ corpus {{ cursor kind sessionId
    session {{ id title header {_HEADER} }} }} }}"""

_TOLD: Final = "{ session { id live persisted lastSeq title header { cwd parentSession } } }"
WRITES: Final = {
    "append": f"""mutation($id: ID!) {{ appendEvents(input: {{sessionId: $id, expectedSeq: 99,
        events: [{{type: "note", data: {{}}}}]}}) {_TOLD} }}""",
    "post": f"""mutation($id: ID!) {{ postMessage(input: {{sessionId: $id, expectedSeq: 99,
        text: "x"}}) {_TOLD} }}""",
    "rename": f'mutation($id: ID!) {{ renameSession(id: $id, title: "Taken over") {_TOLD} }}',
    "flush": f"mutation($id: ID!) {{ flushSession(id: $id) {_TOLD} }}",
    "fork": f"""mutation($id: ID!) {{ forkSession(input: {{sourceId: $id, boundary: 999,
        id: "child"}}) {_TOLD} }}""",
    "resume": f"mutation($id: ID!) {{ resumeSession(id: $id) {_TOLD} }}",
    "close": f"mutation($id: ID!) {{ closeSession(id: $id) {_TOLD} }}",
    "delete": "mutation($id: ID!) { deleteSession(id: $id) { deletedId } }",
}
CREATE: Final = f"mutation($input: CreateSessionInput!) {{ createSession(input: $input) {_TOLD} }}"
WHOLE: Final = f"""{{ sessions(first: 200) {{ nodes {{ {_RECORD[1:-1]} events {{ nodes {_EVENT} }}
    }} }} }}"""


def filters() -> st.SearchStrategy[list[dict[str, Any]]]:
    ids = st.lists(st.sampled_from(EVERY_ID), max_size=4, unique=True)
    one = st.one_of(
        st.builds(dict, id=ids),
        st.builds(dict, parent=st.lists(st.none() | st.sampled_from(EVERY_ID), max_size=4)),
        st.builds(dict, cwd=st.lists(st.sampled_from((*IN_SIGHT, *OUT_OF_SIGHT)), max_size=4)),
        st.builds(dict, origin=st.lists(st.sampled_from((None, "subagent")), max_size=2)),
        st.builds(dict, source=st.lists(st.sampled_from(("API", "DSH")), max_size=2)),
        st.builds(dict, availability=st.lists(st.sampled_from(("LIVE", "PERSISTED")), max_size=2)),
        st.builds(dict, title=st.sampled_from(("alpha", "in title"))),
        st.builds(dict, createdAt=st.builds(dict, to=st.integers(1000, 1002))),
    )
    return st.lists(one, max_size=2)


async def assert_alike(worlds: list[World], document: str, **variables: Any) -> None:
    whole, alone = [await world.told(document, **variables) for world in worlds]
    assert whole == alone, (document, variables)
    assert "/rec/" not in whole


async def assert_pages_alike(worlds: list[World], document: str, **variables: Any) -> None:
    """Every page, each world walking by its own cursors."""
    after: list[str | None] = [None, None]
    for _ in range(9):
        pages = [
            (await world.ask(document, **variables, after=cursor)).body
            for world, cursor in zip(worlds, after, strict=True)
        ]
        (told,) = {comparable(page) for page in pages}
        if "errors" in told:
            return
        connections = [next(iter(page["data"].values())) for page in pages]
        if not connections[0]["pageInfo"]["hasNextPage"]:
            return
        after = [each["pageInfo"]["endCursor"] for each in connections]


def in_worlds(population: list[Member], check: Callable[[list[World]], Awaitable[None]]) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            async with two_worlds(Path(folder), population) as worlds:
                await check(worlds)

    asyncio.run(asyncio.wait_for(run(), 60))


@settings(max_examples=5, deadline=None)
@given(
    population=populations(),
    lists=st.lists(
        st.tuples(filters(), st.sampled_from(("CREATED", "ACTIVE")), st.integers(1, 3)),
        min_size=6,
        max_size=6,
    ),
)
def test_nothing_that_is_read_tells_of_sessions_out_of_sight(
    population: list[Member], lists: list[tuple[list[dict[str, Any]], str, int]]
) -> None:
    async def check(worlds: list[World]) -> None:
        await assert_alike(worlds, SERVER)
        await assert_alike(worlds, SESSION)
        await assert_alike(worlds, STORED)
        for part in ("", "den-", "alpha"):
            await assert_alike(worlds, CANDIDATES.replace("$part", json.dumps(part)))
        for other in EVERY_ID:
            document = of_every_id(PREPARED).replace("$other", json.dumps(other))
            await assert_alike(worlds, document)
        await assert_alike(worlds, OBSERVED, ids=list(EVERY_ID))
        for filtered, order, first in lists:
            await assert_pages_alike(worlds, SESSIONS, filters=filtered, order=order, first=first)
        await assert_alike(worlds, CURRENT)
        for session_id in (*HIDDEN_IDS, NOBODY):
            for document in (VIEWS, FOLLOWED):
                whole, alone = [await world.begun(document, id=session_id) for world in worlds]
                assert whole == alone

    in_worlds(population, check)


searches = st.fixed_dictionaries(
    {
        "query": st.sampled_from(("alpha", "beta", "alpha beta", "delta gamma", "超时", "absent")),
        "match": st.sampled_from(("ALL", "ANY", "PHRASE")),
    }
)
searches_of_sessions: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict, searches, filters=filters(), own=st.booleans(), first=st.integers(1, 3)
)


@settings(max_examples=5, deadline=None)
@given(
    population=populations(),
    of_sessions=st.lists(searches_of_sessions, min_size=6, max_size=6),
    of_events=searches,
)
def test_no_search_tells_of_sessions_out_of_sight(
    population: list[Member], of_sessions: list[dict[str, Any]], of_events: dict[str, Any]
) -> None:
    """Neither does the order of its hits: words are not weighed by how many documents have them."""

    async def check(worlds: list[World]) -> None:
        for asked in of_sessions:
            await assert_pages_alike(worlds, FOUND, **asked)
        for session_id in EVERY_ID:
            await assert_alike(worlds, FOUND_IN, id=session_id, **of_events)

    in_worlds(population, check)


@settings(max_examples=5, deadline=None)
@given(
    population=populations(),
    made=st.integers(0, 7),
    happening=st.lists(
        st.tuples(
            st.sampled_from([*SEEN_IDS, *HIDDEN_IDS]),
            st.sampled_from(("rename", "delete", "resume")),
        ),
        max_size=5,
    ),
)
def test_the_followed_list_does_not_stir_for_sessions_out_of_sight(
    population: list[Member], made: int, happening: list[tuple[str, str]]
) -> None:
    in_sight = {member.session_id for member in population if member.in_sight}

    async def told_of(world: World, acts: list[Callable[[], Awaitable[Any]]]) -> list[list[str]]:
        """What is told of each act; a session that everybody sees says when it has been.

        What comes first of one act, and which title is there already, depends on the moment.
        """
        await world.server.create("mark", cwd="/p", createdAt=1)
        stream = await world.follow(CHANGES)
        assert isinstance(stream, Stream)
        groups: list[list[str]] = []
        for number, act in enumerate([None, *acts]):
            told: list[str] = []
            coming = asyncio.create_task(stream.next())
            for _ in range(20):
                await asyncio.sleep(0)
            if act is not None:
                await act()
            await world.server.ask(WRITES["rename"].replace("Taken over", f"{number}"), id="mark")
            while True:
                body = (await coming).body
                change = body["data"]["corpus"]
                if change["sessionId"] == "mark" and change["session"]["title"] == f"{number}":
                    break
                if change["sessionId"] != "mark":
                    (change["session"] or {}).pop("title", None)
                    told.append(comparable(body))
                coming = asyncio.create_task(stream.next())
            groups.append(sorted(told))
        await stream.close()
        return [group for group in groups if group]

    async def check(worlds: list[World]) -> None:
        frames = []
        for at, world in enumerate(worlds):
            acts: list[Callable[[], Awaitable[Any]]] = [
                partial(world.make, each) for each in population[made:] if each.in_sight or at == 0
            ]
            acts += [
                partial(world.server.ask, WRITES[what], id=session_id)
                for session_id, what in happening
                if session_id in in_sight or at == 0
            ]
            frames.append(await told_of(world, acts))
        assert frames[0] == frames[1]

    in_worlds(population[:made], check)


@settings(max_examples=5, deadline=None)
@given(population=populations())
def test_what_is_out_of_sight_is_written_to_like_what_is_not_there_and_stays_as_it_was(
    population: list[Member],
) -> None:
    hidden = {member.session_id for member in population if not member.in_sight}

    async def others(world: World) -> list[Any]:
        listed = (await world.server.ask(WHOLE)).data["sessions"]["nodes"]
        return [each for each in listed if each["id"] in hidden]

    async def check(worlds: list[World]) -> None:
        before = await others(worlds[0])
        for document in WRITES.values():
            for session_id in EVERY_ID:
                await assert_alike(worlds, document, id=session_id)
        for cwd in (*OUT_OF_SIGHT, "/p/new"):
            new = {"id": f"new {cwd}", "cwd": cwd, "parentSession": HIDDEN_IDS[0], "createdAt": 1}
            await assert_alike(worlds, CREATE, input=new)
        assert await others(worlds[0]) == before

    in_worlds(population, check)


def test_an_id_that_is_taken_out_of_sight_is_refused_as_any_taken_id_is() -> None:
    """The one thing that can be learnt: that an id which was guessed whole cannot be had."""
    population = [
        Member("hidden-a", "/secret", 1000, None, None, None, "stored", (("say", "alpha"),)),
        Member("seen-a", "/p", 1000, None, None, None, "stored", (("say", "alpha"),)),
    ]

    async def check(worlds: list[World]) -> None:
        fork = """mutation($id: ID!) { forkSession(input: {sourceId: "seen-a", id: $id}) {
            session { id } } }"""
        for document in (CREATE, fork):
            refused = []
            for session_id in ("hidden-a", "seen-a"):
                new = {"input": {"id": session_id, "cwd": "/p"}}
                variables = new if document is CREATE else {"id": session_id}
                answer = await worlds[0].ask(document, **variables)
                assert answer.codes == ["SESSION_LOG_CONFLICT"]
                refused.append(json.dumps(answer.body).replace(session_id, "ID"))
            assert refused[0] == refused[1]

    in_worlds(population, check)


def test_cursors_of_others_are_of_no_use() -> None:
    population = [
        Member(session_id, "/p", 1000, None, None, None, "stored", (("say", "alpha"),))
        for session_id in SEEN_IDS
    ]

    async def check(worlds: list[World]) -> None:
        world = worlds[0]
        found = {"query": "alpha", "first": 1}
        for document, variables in ((SESSIONS, {"first": 1}), (FOUND, found)):
            pages = [
                next(iter((await asked(document, **variables)).data.values()))["pageInfo"]
                for asked in (world.server.ask, world.ask)
            ]
            theirs, ours = (page["endCursor"] for page in pages)
            for asked, cursor in ((world.ask, theirs), (world.server.ask, ours)):
                answer = await asked(document, **variables, after=cursor)
                assert answer.codes == ["SESSION_QUERY_INVALID_CURSOR"]

    in_worlds(population, check)
