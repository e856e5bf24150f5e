"""Operations made up from the served schema, sent to a real server: none of them is our fault.

Queries and mutations with arguments of every shape, against a store that has something to find. An
answer may be an error; it may not be an internal one, nor a status of 500 or above. Afterwards the
store is as it must be and the server stops as it should.
"""

from __future__ import annotations

import io
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import graphql
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schema.errors import INTERNAL_CODE
from schema.export import sdl
from tests.conftest import PROFILE
from tests.server.conftest import sample_store
from tests.server.processes import RunningServer, run, serving

__all__ = ["sample_store"]

EXAMPLES = 3000 if PROFILE == "long" else 150

IDS = (
    *("harbor-tour", "harbor-audit", "nobody", "", "made-here", "made-there", "\x00"),
    *("../x", "𝒳", "a" * 300),
)
JSON_TEXTS = (
    *('""', '"text"', "[]", "{}", "null", "1e400", "-0.0", "9007199254740993"),
    '{role: "user", content: [{type: "text", text: "many words here"}]}',
    '{title: "a title", messageSeqs: []}',
    '{title: "a title", messageSeqs: [0, 99999]}',
    '{message: {id: "a", role: "assistant", content: [{type: "tool-call", input: {}}]}}',
    '{turn: 1, step: "x", a: {b: {c: {d: [[[[1]]]]}}}}',
)
WORDS = ("harbor", "the", "船", '"', "AND", "\\", "*", "a b c", "", " ", "dsh-session:harbor-tour")


def literals(*texts: str) -> st.SearchStrategy[graphql.ValueNode]:
    return st.sampled_from([graphql.parse_value(text) for text in texts])


def strings(*texts: str) -> st.SearchStrategy[graphql.ValueNode]:
    known = st.sampled_from([graphql.StringValueNode(value=text) for text in texts])
    made_up = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
    return known | made_up.map(lambda text: graphql.StringValueNode(value=text))


schemathesis.graphql.scalar("JSON", literals(*JSON_TEXTS))
schemathesis.graphql.scalar("Cursor", strings("", "abc", "AAAA"))
numbers = ("0", "-1", "1", "1780000000000", "9007199254740991", "9223372036854775808")
schemathesis.graphql.scalar("EpochMillis", literals(*numbers))
schemathesis.graphql.scalar("SafeInt", literals(*numbers))

operations = schemathesis.graphql.from_file(io.StringIO(sdl()))


def known_words(query: str, choose: st.DataObject) -> str:
    """The query with some of its texts replaced by ids and words that find something."""
    document = graphql.parse(query)

    class Replacing(graphql.Visitor):
        def enter_string_value(
            self, node: graphql.StringValueNode, *_: object
        ) -> graphql.StringValueNode | None:
            if choose.draw(st.booleans()):
                return graphql.StringValueNode(value=choose.draw(st.sampled_from(IDS + WORDS)))
            return None

    return graphql.print_ast(graphql.visit(document, Replacing()))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, sample_store: Path) -> Iterator[RunningServer]:
    data_dir = tmp_path_factory.mktemp("fuzzing") / "data"
    shutil.copytree(sample_store, data_dir)
    with serving(data_dir) as running:
        yield running
        code, _, errors = running.stop()
    assert code == 0
    assert "Traceback" not in errors
    checked = run("check", "--json", "--data-dir", data_dir)
    assert checked.returncode == 0, checked.stdout


@pytest.fixture(scope="module")
def codes() -> Iterator[Counter[str]]:
    """What came of the operations; most must have got past validation, or they prove nothing."""
    counts: Counter[str] = Counter()
    yield counts
    assert counts["answered"] > sum(counts.values()) / 2, counts


@pytest.mark.parametrize("root", ["Query", "Mutation"])
def test_no_operation_is_a_fault_of_ours(
    server: RunningServer, codes: Counter[str], root: str
) -> None:
    fields = [operations[root][name].as_strategy() for name in operations[root]]

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), deadline=None)
    @given(st.one_of(fields), st.data())
    def asked(case: schemathesis.Case, choose: st.DataObject) -> None:
        query = known_words(case.body, choose)
        status, _, body = server.request(
            "POST", "/graphql", json.dumps({"query": query}), {"content-type": "application/json"}
        )
        assert status < 500, (status, query)
        answer = json.loads(body)
        found = [error["extensions"]["code"] for error in answer.get("errors", ())]
        assert INTERNAL_CODE not in found, (query, answer)
        codes["answered" if answer.get("data") or "BAD_USER_INPUT" not in found else "bad"] += 1

    asked()
