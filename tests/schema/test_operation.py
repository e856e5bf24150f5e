"""One operation is one observation, and asks the store no more often than it must."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sessiongraph.errors import PersistenceFailed
from tests.schema.asking import SCHEMA, Asked
from tests.strategies import message, prompt

LISTED = "id uri header { createdAt cwd source { kind } } title lastSeq live persisted"


@pytest.fixture
def hundred() -> Asked:
    """A hundred sessions in lines of four."""
    asked = Asked()
    for number in range(100):
        parent = f"s{number - 1}" if number % 4 else None
        asked.add(f"s{number}", [prompt(0, "x")], parent_session=parent)
    asked.store.calls.clear()
    asked.store.observed = 0
    return asked


def test_a_page_of_sessions_with_header_and_title_is_one_question(hundred: Asked) -> None:
    document = "{ sessions(first: 100) { nodes { " + LISTED + " } } }"
    assert len(hundred.ask(document).data["sessions"]["nodes"]) == 100
    assert hundred.store.calls == {"sessions": 1}


def test_the_lineages_of_a_page_are_one_question_more(hundred: Asked) -> None:
    document = (
        "{ sessions(first: 100) { nodes { "
        + LISTED
        + " lineage { ancestors { id title } complete ... on CompleteLineage { root { id } } }"
        + " } } }"
    )
    nodes = hundred.ask(document).data["sessions"]["nodes"]
    assert {len(node["lineage"]["ancestors"]) for node in nodes} == {0, 1, 2, 3}
    assert hundred.store.calls == {"sessions": 1, "ancestors": 1}


def test_sessions_by_id_are_found_together_and_once(hundred: Asked) -> None:
    document = """{ a: session(id: "s1") { id } b: session(id: "s2") { id lineage { complete } }
        c: session(id: "s1") { title lineage { complete } } d: session(id: "no") { id } }"""
    assert hundred.ask(document).data["c"] == {"title": None, "lineage": {"complete": True}}
    assert hundred.store.calls == {"find": 1, "ancestors": 1}


def test_observing_many_sessions_is_one_question(hundred: Asked) -> None:
    ids = [f"s{number}" for number in range(120)]
    document = "query($ids: [ID!]!) { observeSessions(ids: $ids) { __typename } }"
    assert len(hundred.ask(document, ids=ids).data["observeSessions"]) == 120
    assert hundred.store.calls == {"find": 1}


def test_cursors_that_nobody_asks_for_are_never_made(
    hundred: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    monkeypatch.setattr(
        "sessiongraph.cursor.CursorCodec.issue",
        lambda _self, brand, _bound, _key: made.append(brand) or "cursor",
    )
    hundred.ask("{ sessions { nodes { id } edges { node { id } } pageInfo { hasNextPage } } }")
    assert made == []
    hundred.ask("{ sessions { pageInfo { endCursor } } }")
    assert made == ["sessions"]


def test_everything_in_one_operation_shares_one_observation_that_is_given_back(
    hundred: Asked,
) -> None:
    hundred.ask("""{ sessions { nodes { lineage { complete } events { nodes { seq data } } } }
        session(id: "s1") { surface { events { nodes { seq } } } } server { events } }""").data  # noqa: B018
    assert (hundred.store.observed, hundred.store.open) == (1, 0)


@pytest.mark.parametrize(
    "document",
    ["{ __typename }", "{ __schema { queryType { name } } }", "{ nonsense }", "{", ""],
)
def test_an_operation_that_reads_nothing_observes_nothing(hundred: Asked, document: str) -> None:
    try:
        hundred.ask(document)
    except Exception as error:  # noqa: BLE001
        assert type(error).__name__ == "MissingQueryError"
    assert hundred.store.observed == 0


def test_the_observation_is_given_back_when_fields_fail(hundred: Asked) -> None:
    hundred.store.failures = {
        ("events", "s1"): PersistenceFailed("disk"),
        ("at", "s1"): ValueError(),
    }
    hundred.ask('{ session(id: "s1") { events { nodes { seq } } trace(seq: 0) { replacedBy } } }')
    assert (hundred.store.observed, hundred.store.open) == (1, 0)


def test_the_observation_is_given_back_when_the_client_goes_away(hundred: Asked) -> None:
    hundred.store.elides = True
    hundred.add("slow", [message(0, "assistant/message", {"content": [], "stream": []})])
    waiting = asyncio.Event()

    async def never(*_: Any) -> Any:
        waiting.set()
        await asyncio.Event().wait()

    async def cancelled() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tests.plain_store.PlainReader.payloads", never)
            document = '{ session(id: "slow") { events { nodes { data } } } }'
            asking = asyncio.create_task(hundred.answer(document))
            await waiting.wait()
            assert hundred.store.open == 1
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        assert hundred.store.open == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(cancelled())


def test_a_client_that_is_slow_to_take_its_result_holds_no_observation(hundred: Asked) -> None:
    async def run() -> None:
        document = '{ session(id: "s1") { events { nodes { seq } } } }'
        results = await SCHEMA.stream(document, context_value=hundred.services)
        async for result in results:
            assert result.data == {"session": {"events": {"nodes": [{"seq": 0}]}}}
            assert (hundred.store.observed, hundred.store.open) == (1, 0)

    asyncio.run(run())


def test_operations_that_run_together_have_an_observation_each(hundred: Asked) -> None:
    async def both() -> None:
        await asyncio.gather(
            *(hundred.answer('{ session(id: "s1") { lineage { complete } } }') for _ in range(3))
        )

    asyncio.run(both())
    assert (hundred.store.observed, hundred.store.open) == (3, 0)


def test_a_store_that_cannot_be_observed_fails_each_field_with_its_code(hundred: Asked) -> None:
    @asynccontextmanager
    async def broken() -> AsyncIterator[Any]:
        raise PersistenceFailed("the disk is gone")
        yield

    hundred.store.observe = broken  # type: ignore[method-assign]
    answer = hundred.ask('{ session(id: "s1") { id } sessions { nodes { id } } }')
    assert answer.body["data"] == {"session": None, "sessions": None}
    assert answer.codes == ["SESSION_QUERY_PERSISTENCE_FAILED"] * 2


def test_introspection_tells_the_one_of_inputs() -> None:
    document = """{ a: __type(name: "SessionFilter") { isOneOf }
        b: __type(name: "SeqRange") { isOneOf } }"""
    found = Asked().ask(document).data
    assert (found["a"]["isOneOf"], found["b"]["isOneOf"]) == (True, False)
