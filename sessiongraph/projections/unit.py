"""One projection: a value folded from a log by pure functions (projections.md, "The unit").

A domain that wants to show something about a session declares three functions and two shapes; the
framework drives them. What the functions owe to it:

* ``apply`` returns **the very same object** for an event that does not concern it. Identity is the
  gate: nothing else happens then, no view, no check, no notification, no write;
* ``apply`` never changes the state that it was given, nor the event's data: both are shared;
* the fold depends on nothing but state and event, so that a fold from a checkpoint and one from
  scratch agree;
* a raised ``state_version`` says that older states can no longer be folded on.

What breaks the first three rules cannot be noticed here; what raises, is asynchronous, or makes
something that is not JSON can, and is refused or contained.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

from sessiongraph.event import DeltaRun, SessionEvent
from sessiongraph.projections.schemas import Schema

S = TypeVar("S")


class InvalidProjection(ValueError):
    """A unit that cannot be registered; the message names the key and the reason."""


@dataclass(frozen=True)
class Projection(Generic[S]):
    """A unit of projection.

    key: names it for clients.
    state_version: raised whenever the fields of the state or the meaning of the fold change.
    view: what clients see; a unit without one is for the host alone and never leaves it.
    state_schema, view_schema: types of state and view, see :mod:`sessiongraph.projections.schemas`.
        Without a ``view_schema`` any JSON may be shown.
    event_types: the only types of events that are passed to ``apply``; None for all.
    apply_run: does for a run of stream deltas at once what ``apply`` does for its members one by
        one, for units that look at ``assistant/chunk``. No run may change such a unit's view.
    """

    key: str
    state_version: int
    init: Callable[[], S]
    apply: Callable[[S, SessionEvent], S]
    view: Callable[[S], Any] | None = None
    state_schema: Any = field(kw_only=True)
    view_schema: Any = field(default=None, kw_only=True)
    event_types: Collection[str] | None = field(default=None, kw_only=True)
    apply_run: Callable[[S, DeltaRun], S] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.event_types is not None and not isinstance(self.event_types, str):
            object.__setattr__(self, "event_types", frozenset(self.event_types))

    def looks_at(self, event_type: str) -> bool:
        """Whether events of a type are passed to it."""
        return self.event_types is None or event_type in self.event_types

    @cached_property
    def state_check(self) -> Schema:
        """The compiled ``state_schema``."""
        return Schema(self.state_schema)

    @cached_property
    def view_check(self) -> Schema:
        """The compiled ``view_schema``."""
        return Schema(Any if self.view_schema is None else self.view_schema)


def require_sound(unit: Projection[Any]) -> None:
    """Refuse what could never work, before it has touched a session.

    Raises:
        InvalidProjection: a function is asynchronous, or a member is not what it should be.
    """
    if not isinstance(unit.key, str) or not unit.key:
        raise InvalidProjection(f"a key is a non-empty string, not {unit.key!r}")
    version = unit.state_version
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        raise InvalidProjection(f"{unit.key}: a state version is not negative, not {version!r}")
    if isinstance(unit.event_types, str):
        raise InvalidProjection(f"{unit.key}: event types are a collection, not one string")
    if unit.view is None and unit.view_schema is not None:
        raise InvalidProjection(f"{unit.key}: a view schema without a view")
    for name in ("init", "apply", "view", "apply_run"):
        function = getattr(unit, name)
        if function is None and name in ("view", "apply_run"):
            continue
        if not callable(function):
            raise InvalidProjection(f"{unit.key}: {name} is not a function")
        if _is_asynchronous(function):
            raise InvalidProjection(f"{unit.key}: {name} must not be asynchronous")
    for name in ("state_check", "view_check"):
        try:
            getattr(unit, name)
        except (TypeError, NameError) as error:
            raise InvalidProjection(f"{unit.key}: its schema is no type: {error}") from error


def _is_asynchronous(function: Any) -> bool:
    """Whether calling it makes a coroutine or a generator instead of a value."""
    while isinstance(function, partial):
        function = function.func
    called = function if inspect.isroutine(function) else type(function).__call__
    return any(
        makes_other(candidate)
        for candidate in (function, called)
        for makes_other in (
            inspect.iscoroutinefunction,
            inspect.isasyncgenfunction,
            inspect.isgeneratorfunction,
        )
    )
