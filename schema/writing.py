"""What a caller writes: sessions to make, events to append, forks; and what is made of it.

Coercion has seen to types and enums. What is refused here has the right type and makes no sense, or
is an event that breaks a rule by itself; the message names the place in the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

import strawberry
from strawberry.types.arguments import InputContext

from schema.declaration import input_type, made_from, one_of
from schema.enums import Durability
from schema.scalars import JSON, EpochMillis
from sessiongraph import lossless
from sessiongraph.errors import BadUserInput, InvalidEvent
from sessiongraph.event import APPEND
from sessiongraph.event import SurfaceOp as LoggedOp
from sessiongraph.header import LATEST_VERSION
from sessiongraph.new_event import NewEvent
from sessiongraph.new_session import NewSession

T = TypeVar("T")


def require_text(name: str, text: str | None) -> None:
    """Refuse a text that JSON cannot carry unchanged; what a client names, all must be able to.

    Raises:
        BadUserInput: there are lone surrogates in it.
    """
    try:
        lossless.require_lossless(text, name)
    except lossless.NotLossless as error:
        raise BadUserInput(str(error)) from error


@input_type
class CreateSessionInput:
    """A session to make. The same again finds the session that was made, while it has no events."""

    id: strawberry.ID | None = strawberry.field(description="Any text; made up when left out.")
    version: int | None = strawberry.field(
        default=LATEST_VERSION,
        description="Format generation of the payloads that will be appended, 0 to 4.",
    )
    cwd: str | None
    created_at: EpochMillis | None = strawberry.field(description="Defaults to now.")
    parent_session: strawberry.ID | None
    origin: str | None
    delegation_depth: int | None
    agent_preset: str | None
    durability: Durability | None = Durability.DURABLE

    def new_session(self) -> NewSession:
        """The session as the writing service takes it.

        Raises:
            BadUserInput: a text cannot be kept unchanged.
        """
        texts = {
            "id": self.id,
            "cwd": self.cwd,
            "parentSession": self.parent_session,
            "origin": self.origin,
            "agentPreset": self.agent_preset,
        }
        for name, text in texts.items():
            require_text(f"input.{name}", text)
        return NewSession(
            session_id=self.id,
            version=_or(self.version, LATEST_VERSION),
            cwd=self.cwd,
            created_at=self.created_at,
            parent_session=self.parent_session,
            origin=self.origin,
            delegation_depth=_or(self.delegation_depth, 0),
            agent_preset=self.agent_preset,
        )


@input_type
class SurfaceRangeInput:
    """The nodes from `start` through `end`, as they stand on the surface now."""

    start: int
    end: int


@one_of
class SurfaceOpInput:
    """How a message enters the surface: at its tail (true), or in the place of a range."""

    append: bool | None
    replace: SurfaceRangeInput | None


def _new_event(members: Mapping[str, Any], place: Sequence[str | int], number: int) -> NewEvent:
    """The event as the writing service takes it, of members that have passed coercion.

    place: of the list of events in the input; number: of the event in it.

    Raises:
        InvalidEvent, BadUserInput: see :class:`EventInput`.
    """
    member = members.get
    sources = member("sourceEventSeqs")
    try:
        return NewEvent.of(
            members["type"],
            members["data"],
            time=member("time"),
            surface_op=_surface_op(member("surfaceOp")),
            source_event_seqs=None if sources is None else tuple(sources),
            ignorable=bool(member("ignorable")),
        )
    except (InvalidEvent, BadUserInput) as error:
        raise type(error)(f"{_place((*place, number))}: {error.message}") from error
    except RecursionError as error:
        where = _place((*place, number))
        raise InvalidEvent(f"{where}: data is nested too deeply") from error


def _surface_op(members: Mapping[str, Any] | None) -> LoggedOp | None:
    if members is None:
        return None
    span = members.get("replace")
    if span is not None:
        return LoggedOp(span["start"], span["end"])
    if not members["append"]:
        raise BadUserInput("surfaceOp.append can only be true; to replace, give `replace`")
    return APPEND


def _place(path: Iterable[str | int]) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


@input_type
class EventInput:
    """An event to append.

    One that breaks a rule by itself is refused with SESSION_LOG_INVALID_EVENT, and the message says
    where in the input it stands.
    """

    type: str = strawberry.field(description="family/name; any is accepted.")
    data: JSON = strawberry.field(
        description=(
            "The payload, an object of lossless JSON: no NaN, infinities, negative zero, integers "
            "beyond 2^53, repeated keys or lone surrogates."
        )
    )
    time: EpochMillis | None = strawberry.field(description="Defaults to now.")
    surface_op: SurfaceOpInput | None = strawberry.field(
        description="Message events only; defaults to append there."
    )
    source_event_seqs: list[int] | None = strawberry.field(
        description="Earlier events that this one cites; message events only."
    )
    ignorable: bool | None = strawberry.field(description="false is the same as leaving out.")


def _append(members: Mapping[str, Any], context: InputContext) -> AppendEventsInput:
    """The input with its events made, all in one go: there may be thousands.

    Raises:
        InvalidEvent, BadUserInput: see :class:`EventInput`.
    """
    place = (*context.path, "events")
    events = [_new_event(event, place, number) for number, event in enumerate(members["events"])]
    durability = context.convert(members.get("durability"), Durability, "durability")
    return AppendEventsInput(
        session_id=members["sessionId"],
        events=cast("list[EventInput]", events),
        expected_seq=members.get("expectedSeq"),
        durability=cast("Durability | None", durability),
    )


@made_from(_append)
@input_type
class AppendEventsInput:
    """Events to append, all or none."""

    session_id: strawberry.ID
    events: list[EventInput]
    expected_seq: int | None = strawberry.field(
        description=(
            "The seq that the first event must get; another value fails with SESSION_LOG_CONFLICT "
            "and appends nothing. Needed for a retry to be safe."
        )
    )
    durability: Durability | None = Durability.DURABLE

    def new_events(self) -> list[NewEvent]:
        """The events as the writing service takes them; they were made with the input."""
        return cast("list[NewEvent]", self.events)


@input_type
class ForkSessionInput:
    """A fork to make. The same again, with an id, finds the fork that was made."""

    source_id: strawberry.ID
    boundary: int | None = strawberry.field(
        description="Inclusive; defaults to the last event. Must not lie inside an open turn."
    )
    id: strawberry.ID | None = strawberry.field(description="Any text; made up when left out.")


def _or(given: T | None, default: T) -> T:
    return default if given is None else given
