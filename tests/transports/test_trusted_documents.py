"""Documents by their ids, over every transport, and servers that run no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from server.trusted_documents import TrustedDocuments, document_id
from sessiongraph.errors import InvalidConfig
from tests.transports.clients import OverHTTP, OverSSE, OverWebSocket
from tests.transports.stage import run, staged

ECHO = "query ($text: String!) { echo(text: $text) }"
COUNT = "subscription { countdown(start: 2) }"
TRANSPORTS = [OverHTTP("application/json"), OverSSE(), OverWebSocket()]


async def answers(transport: Any, stage: Any, request: dict[str, Any]) -> list[Any]:
    return [each async for each in transport.responses(stage, request)]


@pytest.mark.parametrize("only", [False, True], ids=["any", "trusted only"])
@pytest.mark.parametrize("transport", TRANSPORTS, ids=lambda each: type(each).__name__)
def test_a_document_is_run_by_its_id(transport: Any, only: bool) -> None:
    async def scenario() -> None:
        async with staged(trusted=TrustedDocuments([ECHO, COUNT], only=only)) as stage:
            by_id = {"documentId": document_id(ECHO), "variables": {"text": "hi"}}
            assert await answers(transport, stage, by_id) == [{"data": {"echo": "hi"}}]
            by_text = {"query": ECHO, "variables": {"text": "hi"}}
            assert await answers(transport, stage, by_text) == [{"data": {"echo": "hi"}}]
            if not isinstance(transport, OverHTTP):
                counted = await answers(transport, stage, {"documentId": document_id(COUNT)})
                assert [each["data"]["countdown"] for each in counted] == [2, 1]
            other = await answers(transport, stage, {"query": "{ echo }"})
            if only:
                assert other[0]["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"
                assert "documents" in other[0]["errors"][0]["message"]
            else:
                assert other == [{"data": {"echo": "hello"}}]
            unknown = await answers(transport, stage, {"documentId": document_id("{ echo }")})
            assert "no trusted document has the id" in unknown[0]["errors"][0]["message"]
            assert unknown[0]["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"

    run(scenario())


def test_documents_are_read_from_a_file_and_from_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "documents.json"
    file.write_text(json.dumps({document_id(ECHO): ECHO}), "utf-8")
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "folder" / "inner" / "echo.graphql").write_text(ECHO, "utf-8")
    for path in (file, tmp_path / "folder"):
        read = TrustedDocuments.read(path, only=True)
        assert read.ids() == [document_id(ECHO)]


@pytest.mark.parametrize(
    "content", ["not json", "[]", json.dumps({"sha256:00": ECHO}), json.dumps({"a": 1})]
)
def test_a_file_that_says_something_else_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "documents.json"
    file.write_text(content, "utf-8")
    with pytest.raises(InvalidConfig, match="trusted_documents"):
        TrustedDocuments.read(file, only=False)
    with pytest.raises(InvalidConfig, match="trusted_documents"):
        TrustedDocuments.read(tmp_path / "nowhere", only=False)
    with pytest.raises(InvalidConfig, match="trusted_documents"):
        TrustedDocuments.read(None, only=True)
