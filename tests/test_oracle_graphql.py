"""The recorded sessions, imported as files into SQLite, against their known answers, by GraphQL.

This is the whole way that a person's sessions go: reader, importer, store, query, resolvers,
schema. Where ours says more on purpose (the oracle's README: reasoning, blocked turns and hooks,
retries, errors of commands and compactions) it is taken out here, by the payload and nothing else.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from providers.sqlite.checkpoints import SqliteCheckpointStore
from providers.sqlite.log_store import SqliteLogStore
from resolvers.context import Services
from schema.response import encode_response
from sessiongraph.corpus import Corpus
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.import_report import ImportReport
from sessiongraph.projections.service import Projections
from sessiongraph.projections.units import first_party_registry
from sessiongraph.query import SessionQuery
from tests.oracle import answers, corpus_answers, needs_oracle, oracle_root
from tests.providers.sqlite.imports import counted, take
from tests.schema.asking import SCHEMA, Answer

pytestmark = needs_oracle

Json = dict[str, Any]
PAGE = 150
IDS = sorted(each["id"] for each in answers("none"))
for_each_session = pytest.mark.parametrize("session_id", IDS)

HEADER = """
    header {
        version sessionId createdAt cwd parentSession seedLength origin delegationDepth agentPreset
    }
"""


class Imported:
    """Files in a store of their own, to be asked about."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.store = SqliteLogStore.open(path)
        self.report: ImportReport = asyncio.run(take(self.store, folder))
        self.faults = asyncio.run(self.store.check())
        self.encoding = folder.name
        query = SessionQuery(Corpus(self.store), CursorCodec(b"k" * KEY_BYTES))
        self._services = Services(query, "1.2.3")
        # Opens the connections that stay.
        self.ask("{ sessions(first: 1) { nodes { projections { asOfSeq } } } }")

    def ask(self, document: str, **variables: Any) -> Any:
        """The data of one operation."""

        async def execute() -> Any:
            checkpoints = SqliteCheckpointStore(self.store)
            registry = first_party_registry()
            projections = Projections(registry, self.store, self.store, checkpoints)
            services = replace(self._services, projections=projections)
            result = await SCHEMA.execute(
                document, variable_values=variables, context_value=services
            )
            await projections.aclose()
            return result

        result = asyncio.run(execute())
        body: Json = {"data": result.data}
        if result.errors:
            body["errors"] = [error.formatted for error in result.errors]
        return Answer(encode_response(body)).data

    def session(self, session_id: str, fields: str, **variables: Any) -> Any:
        document = f"query ($id: ID!) {{ session(id: $id) {{ {fields} }} }}"
        return self.ask(document, id=session_id, **variables)["session"]

    def walk(self, session_id: str, field: str, node: str, filters: str = "[]") -> list[Json]:
        """Every node of a connection of a session, page after page."""
        document = f"""
            query ($id: ID!, $after: Cursor) {{ session(id: $id) {{
                found: {field}(first: {PAGE}, after: $after, filters: {filters}) {{
                    nodes {{ {node} }} pageInfo {{ hasNextPage endCursor }}
                }}
            }} }}
        """
        nodes: list[Json] = []
        after = None
        while True:
            page = self.ask(document, id=session_id, after=after)["session"]["found"]
            nodes += page["nodes"]
            if not page["pageInfo"]["hasNextPage"]:
                return nodes
            after = page["pageInfo"]["endCursor"]

    def close(self) -> None:
        asyncio.run(self.store.close())


@pytest.fixture(scope="module", params=["none", "zstd"])
def imported(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Imported]:
    yield from importing(f"v0/{request.param}", tmp_path_factory.mktemp("oracle"))


def importing(root: str, folder: Path) -> Iterator[Imported]:
    oracle = oracle_root()
    if oracle is None:
        pytest.skip("no oracle")
    found = Imported(folder / "log.db", oracle / root)
    yield found
    found.close()


@pytest.fixture
def answer(imported: Imported, request: pytest.FixtureRequest, session_id: str) -> Json:
    encoding = request.node.callspec.params["imported"]
    (found,) = [each for each in answers(encoding) if each["id"] == session_id]
    return found


def told_header(header: Json) -> Json:
    """A header as the answers spell it."""
    told = {("id" if key == "sessionId" else key): value for key, value in header.items()}
    return {key: value for key, value in told.items() if value is not None}


def told_record(record: Json) -> Json:
    return {
        "header": told_header(record["header"]),
        "live": record["live"],
        "persisted": record["persisted"],
    }


RECORD = f"{HEADER} live persisted"
PLACE = {"CURRENT": "current", "SHADOWED": "shadowed", "LOG_ONLY": "log-only"}


# The corpus


def test_all_files_are_imported_and_sound(imported: Imported) -> None:
    assert counted(imported.report) == (36, 0, 0, 0)
    assert imported.faults == []


def test_sessions_are_listed_in_the_recorded_order_with_their_titles(imported: Imported) -> None:
    listed, after = [], None
    while True:
        page = imported.ask(
            f"""query ($after: Cursor) {{ sessions(first: 10, after: $after) {{
                nodes {{ id title {RECORD} }} pageInfo {{ hasNextPage endCursor }}
            }} }}""",
            after=after,
        )["sessions"]
        listed += page["nodes"]
        if not page["pageInfo"]["hasNextPage"]:
            break
        after = page["pageInfo"]["endCursor"]
    assert [told_record(each) for each in listed] == corpus_answers()["listSessions"]
    assert {each["id"]: each["title"] for each in listed} == {
        each["sessionId"]: each["title"] and each["title"]["title"]
        for each in corpus_answers()["titles"]
        if each["status"] == "fulfilled"
    }


def test_many_sessions_are_observed_at_once_as_recorded(imported: Imported) -> None:
    expected = corpus_answers()["titles"]
    found = imported.ask(
        """query ($ids: [ID!]!) { observeSessions(ids: $ids) {
            __typename
            ... on SessionRecord { id title }
            ... on ObservationFailure { sessionId code }
        } }""",
        ids=[each["sessionId"] for each in expected],
    )["observeSessions"]
    for each, recorded in zip(found, expected, strict=True):
        if recorded["status"] == "fulfilled":
            title = recorded["title"] and recorded["title"]["title"]
            assert (each["id"], each["title"]) == (recorded["sessionId"], title)
        else:
            failure = (recorded["sessionId"], recorded["error"]["code"])
            assert (each["sessionId"], each["code"]) == failure


# One session


@for_each_session
def test_header_title_and_length_are_the_recorded_ones(imported: Imported, answer: Json) -> None:
    found = imported.session(answer["id"], f"title lastSeq {RECORD}")
    assert told_header(found["header"]) == answer["header"]
    assert (found["live"], found["persisted"]) == (False, True)
    assert found["lastSeq"] == answer["lastSeq"]
    assert found["title"] == (answer["title"] and answer["title"]["title"])


@for_each_session
def test_events_stand_on_the_recorded_surfaces(imported: Imported, answer: Json) -> None:
    events = imported.walk(answer["id"], "events", "seq type surface")
    assert [each["seq"] for each in events] == list(range(answer["events"]))
    assert [each["type"] for each in events] == answer["types"]
    assert {str(each["seq"]): PLACE[each["surface"]] for each in events} == answer["surfaces"]


@for_each_session
def test_the_current_surface_is_the_recorded_one(imported: Imported, answer: Json) -> None:
    found = imported.session(
        answer["id"],
        "surface { capturedThroughSeq events(first: 200) { nodes { seq } "
        "pageInfo { hasNextPage } } }",
    )["surface"]
    assert found["capturedThroughSeq"] == answer["lastSeq"]
    assert [each["seq"] for each in found["events"]["nodes"]] == answer["currentSurface"]
    assert not found["events"]["pageInfo"]["hasNextPage"]


@for_each_session
def test_every_event_traces_as_recorded(imported: Imported, answer: Json) -> None:
    fields = "replacedBy replacementChain replacedEventSeqs sourceEventSeqs derivedEventSeqs"
    seqs = [int(seq) for seq in answer["traces"]]
    for start in range(0, len(seqs), PAGE):
        aliased = (f"t{seq}: trace(seq: {seq}) {{ {fields} }}" for seq in seqs[start:][:PAGE])
        for alias, trace in imported.session(answer["id"], "\n".join(aliased)).items():
            if trace["replacedBy"] is None:
                del trace["replacedBy"]
            assert trace == answer["traces"][alias[1:]], alias


@for_each_session
def test_the_lineage_is_the_recorded_one(imported: Imported, answer: Json) -> None:
    found = imported.session(
        answer["id"],
        f"""lineage {{
            target {{ {RECORD} }} ancestors {{ {RECORD} }} complete
            descendants {{ nodes {{ session {{ id {RECORD} }} parentId }} totalCount }}
            ... on CompleteLineage {{ root {{ {RECORD} }} }}
            ... on PartialLineage {{ unresolvedParentId }}
        }}""",
    )["lineage"]
    told: Json = {
        "target": told_record(found["target"]),
        "ancestors": [told_record(each) for each in found["ancestors"]],
        "descendants": told_forest(answer["id"], found["descendants"]["nodes"]),
        "complete": found["complete"],
    }
    if "root" in found:
        told["root"] = told_record(found["root"])
    else:
        told["unresolvedParentId"] = found["unresolvedParentId"]
    assert told == answer["lineage"]["ok"]


def told_forest(root_id: str, nodes: list[Json]) -> list[Json]:
    """The descendants as nested lists."""
    nested: dict[str, list[Json]] = {root_id: []}
    for node in nodes:
        below: list[Json] = []
        nested[node["session"]["id"]] = below
        session = {"session": told_record(node["session"]), "descendants": below}
        nested[node["parentId"]].append(session)
    return nested[root_id]


ADDED_TYPES = {"hook/result", "llm/retry", "command/done", "compaction/end"}


def without_additions(document: Json, data: Json) -> str:
    """The text of a document without what only ours finds."""
    if document["type"] in ADDED_TYPES:
        return ""
    if document["type"] == "turn/end" and data["reason"]["kind"] == "blocked":
        return ""
    text: str = document["text"]
    if document["type"] == "assistant/message":
        kept = []
        for block in data["message"]["content"]:
            if block["type"] == "text":
                kept.append(block["text"])
            elif block["type"] == "tool-call":
                kept += [block["name"], block["arguments"]]
        text = "\n".join(part.strip() for part in kept if part.strip())
    return text


def payloads(imported: Imported, session_id: str) -> dict[int, Json]:
    return {each["seq"]: each["data"] for each in imported.walk(session_id, "events", "seq data")}


@for_each_session
def test_texts_are_the_recorded_ones_and_what_is_added_on_purpose(
    imported: Imported, answer: Json
) -> None:
    data = payloads(imported, answer["id"])
    documents = imported.walk(answer["id"], "documents", "seq type text")
    told = {each["seq"]: without_additions(each, data[each["seq"]]) for each in documents}
    assert {seq: text for seq, text in told.items() if text} == dict(map(tuple, answer["texts"]))


@for_each_session
def test_filters_find_the_recorded_events_and_what_is_added_on_purpose(
    imported: Imported, answer: Json
) -> None:
    data = payloads(imported, answer["id"])
    for asked in answer["filterEvents"]:
        filters = "[" + " ".join(map(spelled, asked["filters"])) + "]"
        words = [each["text"] for each in asked["filters"] if each["kind"] == "text"]
        found = imported.walk(answer["id"], "documents", "seq type surface text", filters)
        told = []
        for each in found:
            text = without_additions(each, data[each["seq"]])
            if text and all(contains_words(text, part) for part in words):
                place = PLACE[each["surface"]]
                told.append({"seq": each["seq"], "type": each["type"], "surface": place})
        assert told == asked["result"]["ok"], filters


def contains_words(text: str, wanted: str) -> bool:
    """Whether a text stands in another literally, in any case, with any white space between."""
    pattern = r"\s+".join(map(re.escape, wanted.split()))
    return re.search(pattern, text, re.IGNORECASE) is not None


def spelled(asked: Json) -> str:
    """A filter of the answers in GraphQL."""
    kind = asked["kind"]
    if kind == "text":
        return f"{{text: {json.dumps(asked['text'])}}}"
    if kind == "surface":
        back = {told: name for name, told in PLACE.items()}
        return f"{{surface: [{' '.join(back[each] for each in asked['values'])}]}}"
    if kind == "type":
        return f"{{type: {json.dumps(asked['values'])}}}"
    assert kind == "seq", "the answers use a filter that this test does not know"
    return f"{{seq: {{from: {asked['from']} to: {asked['to']}}}}}"


# Other roots


@pytest.mark.parametrize("encoding", ["none", "zstd"])
def test_a_session_that_dsh_refuses_is_imported_and_noted(encoding: str, tmp_path: Path) -> None:
    for imported in importing(f"v0/{encoding}-bad", tmp_path):
        assert counted(imported.report) == (2, 0, 0, 0)
        notes = {
            session_id: imported.session(session_id, "header { source { notes } }")
            for session_id in ("b01-good", "b02-required-unknown")
        }
        assert [each["header"]["source"]["notes"] for each in notes.values()] == [
            [],
            ["Types unknown to dsh are kept as opaque events: future/required (1)."],
        ]


ROOTS = {
    "v3/migrated-zstd": (3, 1),
    "v3/native-none": (3, 0),
    "v3/native-zstd": (3, 0),
    "v4-synthetic/none": (4, 1),
    "v4-synthetic/zstd": (4, 1),
}
"""The version that is read, and how many older files lie beside each session's."""


@pytest.mark.parametrize("root", ROOTS)
def test_newer_generations_are_imported_whole(root: str, tmp_path: Path) -> None:
    version, older = ROOTS[root]
    for imported in importing(root, tmp_path):
        sessions = imported.ask(
            "{ sessions(first: 100) { nodes { id lastSeq header { version source { notes } } } } }"
        )["sessions"]["nodes"]
        expected = (len(sessions), 0, len(sessions) * older, 0)
        assert counted(imported.report) == expected != (0, 0, 0, 0)
        assert {each["header"]["version"] for each in sessions} == {version}
        assert imported.faults == []
        for each in sessions:
            events = imported.walk(each["id"], "events", "seq type surface data")
            assert len(events) == each["lastSeq"] + 1
            if "torn" not in each["id"]:
                assert each["header"]["source"]["notes"] == []


# Projections

SHARED_KEYS = (
    "title",
    "todos",
    "goal",
    "plan",
    "sessionStats",
    "tokenUsage",
    "contextPressure",
    "subagent",
)
"""The keys that the reference answers too."""


@for_each_session
def test_the_values_of_a_session_are_the_recorded_ones(imported: Imported, session_id: str) -> None:
    recorded = {each["id"]: each["projections"] for each in answers(imported.encoding)}[session_id]
    keys = ", ".join(f'"{key}"' for key in SHARED_KEYS)
    found = imported.session(
        session_id, f"projections(keys: [{keys}]) {{ asOfSeq views {{ key value }} }}"
    )["projections"]
    assert found["asOfSeq"] == recorded["asOfSeq"]
    values = {view["key"]: view["value"] for view in found["views"]}
    expected = {key: recorded["values"][key] for key in SHARED_KEYS}
    # An estimate that ours leaves out on purpose.
    expected["contextPressure"].pop("projectedTokens", None)
    assert values == expected
