"""What a view holds. Its key says which of these functions may be asked; its schema was checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from resolvers.messages import TodoItem
from sessiongraph.payloads import is_count
from sessiongraph.projections.views import View


@dataclass(frozen=True, slots=True)
class TurnLine:
    """One turn of an outline."""

    turn: int
    seq: int
    prompt: str | None
    response: str | None


def member(name: str) -> Callable[[View], Any]:
    """A reader of one member of a view that is an object; None without the object or the member."""

    def read(root: View) -> Any:
        return None if root.value is None else root.value.get(name)

    return read


def goal_member(name: str) -> Callable[[View], Any]:
    """A reader of a member of the goal inside a ``goal`` view."""

    def read(root: View) -> Any:
        return None if root.value is None else root.value["goal"][name]

    return read


def title(root: View) -> Any:
    """Of ``title``: the value itself."""
    return root.value


def todos(root: View) -> list[TodoItem] | None:
    """Of ``todos``: the list, None while there is none."""
    if root.value is None:
        return None
    return [TodoItem(each["content"], each["status"]) for each in root.value]


def rounds_started(root: View) -> int | None:
    """Of ``goal``: its rounds; None beyond what GraphQL's Int holds."""
    rounds: int | None = None if root.value is None else root.value["roundsStarted"]
    return rounds if is_count(rounds) else None


def turns(root: View) -> list[TurnLine]:
    """Of ``turnOutline``: its lines."""
    return [TurnLine(**line) for line in root.value]
