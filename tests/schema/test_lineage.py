"""Lineage through the API: ancestors, roots, missing parents, circles, and the forest below."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schema.asking import Asked

LINEAGE = """query($id: ID!) { session(id: $id) { lineage { __typename target { id }
    ancestors { id } complete
    ... on CompleteLineage { root { id } } ... on PartialLineage { unresolvedParentId } } } }"""


@pytest.fixture(scope="module")
def family() -> Asked:
    """root with a line of three and a fan; an orphan with a child; a circle of two with a tail."""
    asked = Asked()
    parents = {
        "root": None,
        "line1": "root",
        "line2": "line1",
        "line3": "line2",
        "fan1": "root",
        "fan2": "root",
        "orphan": "gone \ud800",
        "orphan's child": "orphan",
        "circle1": "circle2",
        "circle2": "circle1",
        "tail": "circle1",
        "self": "self",
    }
    for age, (session_id, parent) in enumerate(parents.items()):
        asked.add(session_id, created_at=1000 + age, parent_session=parent)
    return asked


@pytest.mark.parametrize(
    ("session_id", "ancestors", "end"),
    [
        ("root", [], {"__typename": "CompleteLineage", "root": {"id": "root"}}),
        ("line1", ["root"], {"__typename": "CompleteLineage", "root": {"id": "root"}}),
        (
            "line3",
            ["line2", "line1", "root"],
            {"__typename": "CompleteLineage", "root": {"id": "root"}},
        ),
        ("orphan", [], {"__typename": "PartialLineage", "unresolvedParentId": "gone \ud800"}),
        (
            "orphan's child",
            ["orphan"],
            {"__typename": "PartialLineage", "unresolvedParentId": "gone \ud800"},
        ),
    ],
)
def test_a_lineage_is_complete_with_a_root_or_partial_with_the_parent_that_is_not_there(
    family: Asked, session_id: str, ancestors: list[str], end: dict[str, Any]
) -> None:
    assert family.ask(LINEAGE, id=session_id).data["session"]["lineage"] == {
        "target": {"id": session_id},
        "ancestors": [{"id": each} for each in ancestors],
        "complete": end["__typename"] == "CompleteLineage",
        **end,
    }


@pytest.mark.parametrize("session_id", ["circle1", "circle2", "tail", "self"])
def test_a_circle_fails_for_the_lineage_alone(family: Asked, session_id: str) -> None:
    answer = family.ask(LINEAGE, id=session_id)
    assert answer.codes == ["SESSION_QUERY_INVALID_LINEAGE"]
    assert answer.body["data"] == {"session": {"lineage": None}}
    assert answer.errors[0]["path"] == ["session", "lineage"]


def test_circles_leave_the_lineages_of_other_sessions_alone(family: Asked) -> None:
    answer = family.ask("{ sessions { nodes { id lineage { complete } } } }")
    lineages = {each["id"]: each["lineage"] for each in answer.body["data"]["sessions"]["nodes"]}
    failed = {session_id for session_id, lineage in lineages.items() if lineage is None}
    assert failed == {"circle1", "circle2", "tail", "self"}
    assert lineages["line3"] == {"complete": True}
    assert lineages["orphan"] == {"complete": False}
    assert answer.codes == ["SESSION_QUERY_INVALID_LINEAGE"] * 4


FOREST = """query($id: ID!, $n: Int, $after: Cursor) { session(id: $id) { lineage {
    descendants(first: $n, after: $after) { totalCount
        nodes { session { id } parentId depth } edges { cursor node { depth } }
        pageInfo { hasNextPage hasPreviousPage endCursor } } } } }"""


def forest(asked: Asked, session_id: str, size: int | None) -> list[tuple[str, str, int]]:
    def ask_page(after: str | None) -> Any:
        answer = asked.ask(FOREST, id=session_id, n=size, after=after)
        return answer.data["session"]["lineage"]["descendants"]

    return [
        (node["session"]["id"], node["parentId"], node["depth"]) for node in asked.walk(ask_page)
    ]


@pytest.mark.parametrize("size", [None, 1, 2, 2000])
def test_descendants_come_in_pre_order_whatever_the_page_size(
    family: Asked, size: int | None
) -> None:
    assert forest(family, "root", size) == [
        ("line1", "root", 1),
        ("line2", "line1", 2),
        ("line3", "line2", 3),
        ("fan1", "root", 1),
        ("fan2", "root", 1),
    ]


def test_every_page_of_descendants_says_how_many_there_are(family: Asked) -> None:
    page = family.ask(FOREST, id="root", n=2).data["session"]["lineage"]["descendants"]
    assert page["totalCount"] == 5
    assert len(page["nodes"]) == 2
    answer = family.ask(FOREST, id="root", n=1, after=page["edges"][0]["cursor"])
    second = answer.data["session"]["lineage"]["descendants"]
    assert (second["totalCount"], second["nodes"][0]["session"]) == (5, {"id": "line2"})


def test_a_leaf_has_no_descendants(family: Asked) -> None:
    page = family.ask(FOREST, id="fan2").data["session"]["lineage"]["descendants"]
    assert (page["totalCount"], page["nodes"]) == (0, [])


@pytest.mark.parametrize("size", [0, 2001])
def test_a_page_of_descendants_outside_the_limits_is_refused(family: Asked, size: int) -> None:
    assert family.ask(FOREST, id="root", n=size).codes == ["SESSION_QUERY_INVALID_LIMIT"]


def test_a_descendants_cursor_belongs_to_the_session_it_was_asked_of(family: Asked) -> None:
    cursor = family.ask(FOREST, id="root", n=1).data["session"]["lineage"]["descendants"][
        "pageInfo"
    ]["endCursor"]
    assert family.ask(FOREST, id="line1", after=cursor).codes == ["SESSION_QUERY_STALE_CURSOR"]
