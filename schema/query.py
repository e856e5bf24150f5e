"""The root of everything that reads."""

from __future__ import annotations

from typing import Annotated

import strawberry

from resolvers.references import prepare_message, reference_candidates
from resolvers.search import EventPage, search_events, search_sessions
from resolvers.server import ServerFacts, read_server_facts
from resolvers.sessions import (
    failure_code,
    failure_message,
    list_sessions,
    observe_sessions,
    read_session,
)
from schema.connection import page_request
from schema.declaration import Info, asks_class, field, object_type, resolved
from schema.enums import MatchMode, SessionOrder
from schema.inputs import (
    EventMetadataFilter,
    SessionFilter,
    event_selection,
    session_selection,
)
from schema.reference import (
    PreparedMessage,
    ReferenceCandidate,
    ReferenceInput,
    references_of,
)
from schema.scalars import Cursor, SafeInt
from schema.search import EventSearchConnection, SessionSearchConnection
from schema.selected import is_only_root
from schema.session import SessionConnection, SessionRecord
from schema.writing import require_text
from sessiongraph.corpus import LogicalSession
from sessiongraph.paging import Page
from sessiongraph.query import FailedObservation
from sessiongraph.references.candidates import Candidate
from sessiongraph.references.prepare import PreparedMessage as Prepared
from sessiongraph.search.service import SearchPage, SessionHit


@object_type
class ObservationFailure:
    """Why one of several observed sessions could not be read."""

    session_id: strawberry.ID
    code: str = resolved(failure_code, "One of the codes of `extensions.code`.")
    message: str = resolved(failure_message)

    @staticmethod
    @asks_class
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
        description=(
            "Commits that the index has not reached yet; null when search is off, and for a client "
            "that is confined to directories."
        )
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
        return await read_session(info.context, id, alone=is_only_root(info))

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

    @field(
        list[ReferenceCandidate] | None,
        "Sessions that `sessionId` could reference: same cwd first, then those without one, then "
        "the rest, newest first within each.",
    )
    async def reference_candidates(
        self,
        info: Info,
        session_id: strawberry.ID,
        query: str | None = "",
        limit: int | None = strawberry.UNSET,
    ) -> list[Candidate]:
        wanted = None if limit is strawberry.UNSET else limit
        return await reference_candidates(info.context, session_id, query or "", wanted)

    @field(
        PreparedMessage | None,
        "What sending `text` from `sessionId` would inject. Mentions in the text and `references` "
        "are merged in order. Changes nothing.",
    )
    async def prepare_message(
        self,
        info: Info,
        session_id: strawberry.ID,
        text: str,
        references: list[ReferenceInput] | None = [],  # noqa: B006 - never changed
    ) -> Prepared:
        require_text("text", text)
        found = references_of("references", references)
        return await prepare_message(info.context, session_id, text, found)

    @field(
        SessionSearchConnection | None,
        "Sessions ranked by their strongest matching event. For a client that is confined to "
        "directories all matches are equally strong, so the newest come first.",
    )
    async def search_sessions(
        self,
        info: Info,
        query: str,
        match: MatchMode | None = MatchMode.ALL,
        session_filters: list[SessionFilter] | None = strawberry.UNSET,
        event_filters: list[EventMetadataFilter] | None = strawberry.UNSET,
        include_inherited: Annotated[
            bool | None,
            strawberry.argument(
                description=(
                    "false leaves out the copies that forks inherited, where the original is in "
                    "the corpus."
                )
            ),
        ] = True,
        first: int | None = 20,
        after: Cursor | None = strawberry.UNSET,
    ) -> SearchPage[SessionHit]:
        search = info.context.search  # before anything else is looked at
        return await search_sessions(
            info.context,
            search,
            query,
            match or MatchMode.ALL,
            session_selection(session_filters),
            event_selection(event_filters),
            page_request(first, after),
            include_inherited=include_inherited is not False,
        )

    @field(EventSearchConnection | None, "Events of one session that match, best first.")
    async def search_events(
        self,
        info: Info,
        session_id: strawberry.ID,
        query: str,
        match: MatchMode | None = MatchMode.ALL,
        filters: list[EventMetadataFilter] | None = strawberry.UNSET,
        first: int | None = 20,
        after: Cursor | None = strawberry.UNSET,
    ) -> EventPage:
        search = info.context.search
        return await search_events(
            info.context,
            search,
            session_id,
            query,
            match or MatchMode.ALL,
            event_selection(filters),
            page_request(first, after),
        )

    @field(ServerInfo, "The server and its corpus.")
    async def server(self, info: Info) -> ServerFacts:
        return await read_server_facts(info.context)
