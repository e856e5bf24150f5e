"""A session that is damaged on disk says so, by its code, and never disturbs another's answer."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from resolvers.context import Services
from schema.response import encode_response
from sessiongraph.corpus import Corpus
from sessiongraph.cursor import KEY_BYTES, CursorCodec
from sessiongraph.query import SessionQuery
from tests.plain_store import run
from tests.providers.sqlite.raw import change
from tests.providers.sqlite.stores import filled, sqlite_at
from tests.schema.asking import SCHEMA, Answer

DAMAGE = {
    "payload": "UPDATE events SET payload = x'ff' WHERE id = 1 << 32 | 12",
    "compressed payload": "UPDATE events SET payload = x'ff' WHERE id = 1 << 32 | 7",
    "run": "UPDATE events SET payload = x'ff' WHERE id = 1 << 32 | 3",
    "type": "UPDATE events SET lane = lane + (5000 << 2) WHERE id = 1 << 32 | 12",
}
SOURCES = {
    "sources that are no JSON": "UPDATE events SET sources = x'ff' WHERE id = 1 << 32 | 7",
    "sources that are a number": (
        "UPDATE events SET sources = CAST('5' AS BLOB) WHERE id = 1 << 32 | 7"
    ),
}
HEADERS = {
    "notes": "UPDATE logs SET notes = x'ff' WHERE log = 1",
    "recorder": "UPDATE logs SET source_kind = 'nobody' WHERE log = 1",
    "folder": "UPDATE logs SET cwd = x'ff' WHERE log = 1",
}
OTHER = """
    other: session(id: "other") {
        title lastSeq events { nodes { seq data } } surface { events { nodes { seq } } }
        documents { nodes { text } } trace(seq: 3) { replacedEventSeqs }
    }
    """


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "log.db"
    run(filled(path))
    return path


@pytest.fixture
def path(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(template, tmp_path / "log.db"))


def ask(path: Path, document: str) -> Answer:
    async def execute() -> Any:
        async with sqlite_at(path) as store:
            query = SessionQuery(Corpus(store), CursorCodec(b"k" * KEY_BYTES))
            return await SCHEMA.execute(document, context_value=Services(query, "1.2.3"))

    result = asyncio.run(execute())
    body: dict[str, Any] = {"data": result.data}
    if result.errors:
        body["errors"] = [error.formatted for error in result.errors]
    return Answer(encode_response(body))


def assert_corrupt_alone(path: Path, sql: str, field: str) -> None:
    healthy = ask(path, f"{{ {OTHER} }}").data
    assert change(path, sql) == 1
    answer = ask(path, f'{{ full: session(id: "full") {{ {field} }} {OTHER} }}')
    assert answer.body["data"]["other"] == healthy["other"]
    assert set(answer.codes) == {"SESSION_QUERY_CORRUPT_SESSION"}


@pytest.mark.parametrize("case", DAMAGE)
def test_events_that_cannot_be_read_are_a_corrupt_session(path: Path, case: str) -> None:
    assert_corrupt_alone(path, DAMAGE[case], "events { nodes { seq type data } }")


@pytest.mark.parametrize(
    "case",
    [
        "compressed payload",
        "payload",
    ],
)
def test_documents_that_cannot_be_read_are_a_corrupt_session(path: Path, case: str) -> None:
    assert_corrupt_alone(path, DAMAGE[case], "documents { nodes { text } }")


@pytest.mark.parametrize("case", SOURCES)
def test_sources_that_cannot_be_read_are_a_corrupt_session(path: Path, case: str) -> None:
    assert_corrupt_alone(path, SOURCES[case], "events { nodes { seq sourceEventSeqs } }")


@pytest.mark.parametrize("case", HEADERS)
def test_a_header_that_cannot_be_read_hides_no_other_session(path: Path, case: str) -> None:
    healthy = ask(path, f"{{ {OTHER} }}").data
    change(path, HEADERS[case])
    answer = ask(path, f'{{ full: session(id: "full") {{ id }} {OTHER} }}')
    assert answer.body["data"]["other"] == healthy["other"]
    listed = ask(path, "{ sessions { nodes { id } } }").body["data"]["sessions"]
    assert "other" in [each["id"] for each in listed["nodes"]]
