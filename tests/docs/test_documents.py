"""What the documents show is what happens."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from graphql import build_ast_schema, parse, validate

from schema.export import sdl
from server.errors_document import errors_document
from sessiongraph.errors import error_classes
from tests.docs.sample_answers import SampleAnswers

ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"```graphql\n(?P<query>.*?)```\n\n?```json\n(?P<answer>.*?)```", re.DOTALL)
QUERY = re.compile(r"```graphql\n")
LINK = re.compile(r"\]\((?!https?:|dsh-session:|#)(?P<target>[^)#]+)(?:#[^)]*)?\)")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("benchmarks/*.md")])


def examples(document: Path) -> list[tuple[str, Any]]:
    text = document.read_text(encoding="utf-8")
    return [(match["query"], json.loads(match["answer"])) for match in EXAMPLE.finditer(text)]


def test_every_example_query_is_answered_as_printed() -> None:
    found = examples(ROOT / "docs" / "graphql.md")
    assert len(found) >= 8

    async def scenario() -> None:
        async with SampleAnswers.open() as answers:
            for query, printed in found:
                assert await answers.ask(query) == printed, query

    asyncio.run(scenario())


def test_no_example_query_is_printed_without_its_answer() -> None:
    text = (ROOT / "docs" / "graphql.md").read_text(encoding="utf-8")
    assert len(QUERY.findall(text)) == len(EXAMPLE.findall(text))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_query_in_a_document_is_valid(document: Path) -> None:
    served = build_ast_schema(parse(sdl()))
    for match in re.finditer(
        r"```graphql\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL
    ):
        assert validate(served, parse(match[1])) == []


def test_every_error_code_is_documented_as_its_class_says() -> None:
    committed = ROOT / "docs" / "errors.md"
    assert committed.read_text(encoding="utf-8") == errors_document(), (
        "write it anew: python -c 'from server.errors_document import errors_document as d; "
        'print(d(), end="")\' > docs/errors.md'
    )


def test_names_in_the_meaning_of_an_error_are_marked_as_in_any_markdown() -> None:
    assert "1 to `page_max`," in errors_document()
    assert "``" not in errors_document()


def test_every_error_class_has_a_code_of_its_own_and_says_what_it_means() -> None:
    codes = [error.code for error in error_classes()]
    assert len(codes) == len(set(codes))
    assert all((error.__doc__ or "").strip() for error in error_classes())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    for match in LINK.finditer(document.read_text(encoding="utf-8")):
        assert (document.parent / match["target"]).exists(), match["target"]


def test_every_dependency_is_explained() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = project.split("\ndependencies = [")[1].split("]")[0]
    explained = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    for name in re.findall(r'"([a-z-]+)', section):
        assert name in explained, name
