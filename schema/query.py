"""The root of everything that reads."""

from __future__ import annotations

from typing import Annotated

import strawberry

from resolvers.server import ServerFacts, read_server_facts
from resolvers.sessions import (
    failure_code,
    failure_message,
    list_sessions,
    observe_sessions,
    read_session,
)
from schema.connection import page_request
from schema.declaration import Info, field, object_type, resolved
from schema.enums import SessionOrder
from schema.inputs import SessionFilter, session_selection
from schema.scalars import Cursor, SafeInt
from schema.session import SessionConnection, SessionRecord
from sessiongraph.corpus import LogicalSession
from sessiongraph.paging import Page
from sessiongraph.query import FailedObservation


@object_type
class ObservationFailure:
    """Why one of several observed sessions could not be read."""

    session_id: strawberry.ID
    code: str = resolved(failure_code, "One of the codes of `extensions.code`.")
    message: str = resolved(failure_message)

    @staticmethod
    def is_type_of(value: object, _info: object) -> bool:
        return isinstance(value, FailedObservation)


SessionObservation = Annotated[
    SessionRecord | ObservationFailure,
    strawberry.union(
        "SessionObservation",
        description=(
            "One result per distinct id, in order of first occurrence; one session's failure "
            "stays its own."
        ),
    ),
]


@object_type
class ServerInfo:
    """The server and its corpus in numbers."""

    version: str
    search_enabled: bool
    index_lag: SafeInt | None = strawberry.field(
        description="Commits that the index has not reached yet; null when search is off."
    )
    sessions: int
    events: SafeInt
    projection_keys: list[str] = strawberry.field(
        description="The keys of all views, ours first, then those of installed packages."
    )


@object_type
class Query:
    """Fields that can fail by design are nullable, so that one failure leaves its siblings alone.
    Errors carry `extensions.code`, and `extensions.retriable` where trying again can help.
    Everything that one operation reads is of the same moment.
    """

    @field(SessionRecord | None, "Null when neither live nor stored.")
    async def session(self, info: Info, id: strawberry.ID) -> LogicalSession | None:
        return await read_session(info.context, id)

    @field(SessionConnection | None, "The whole logical corpus, newest first, ties by id.")
    async def sessions(
        self,
        info: Info,
        filters: list[SessionFilter] | None = strawberry.UNSET,
        order_by: SessionOrder | None = SessionOrder.CREATED,
        first: int | None = 50,
        after: Cursor | None = strawberry.UNSET,
    ) -> Page[LogicalSession]:
        return await list_sessions(
            info.context,
            session_selection(filters),
            order_by or SessionOrder.CREATED,
            page_request(first, after),
        )

    @field(list[SessionObservation] | None, "Each of these sessions, or why it cannot be read.")
    async def observe_sessions(
        self, info: Info, ids: list[strawberry.ID]
    ) -> list[LogicalSession | FailedObservation]:
        return await observe_sessions(info.context, ids)

    @field(ServerInfo, "The server and its corpus.")
    async def server(self, info: Info) -> ServerFacts:
        return await read_server_facts(info.context)
