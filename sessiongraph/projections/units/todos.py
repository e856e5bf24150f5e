"""``todos``: the latest list; it outlives its turn and goes when the next one starts."""

from __future__ import annotations

from typing import Final, TypedDict

from sessiongraph.event import SessionEvent
from sessiongraph.payloads import Shape, shape_of
from sessiongraph.projections.unit import Projection


class Todo(TypedDict):
    """One item as logged; members that we do not know stay in it."""

    content: str
    status: str


Todos = list[Todo] | None
"""None before the first list, and from the next ``turn/start`` on."""


def _apply(todos: Todos, event: SessionEvent) -> Todos:
    if event.type == "turn/start":
        return None
    if shape_of(event.type, event.data) is not Shape.TODO_WRITE:
        return todos
    latest: list[Todo] = event.data["todos"]
    return latest


TODOS: Final = Projection[Todos](
    key="todos",
    state_version=1,
    init=lambda: None,
    apply=_apply,
    view=lambda todos: todos,
    state_schema=Todos,
    view_schema=Todos,
    event_types=("todo/write", "turn/start"),
)
