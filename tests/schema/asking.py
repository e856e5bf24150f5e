"""Asking the schema as a client does: text in, JSON out, over a store that can be watched.

:class:`Asked` holds a plain store and the query service over it. An answer comes back through
``encode_response`` and a JSON parser that the product does not use, so a test sees what a client
sees. The store counts what it is asked, can be told to fail for a session, and can leave the
streams of payloads out as a real one does.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from resolvers.context import Services
from schema.response import encode_response
from schema.served import build_schema
from sessiongraph.corpus import Corpus
from sessiongraph.cursor import CursorCodec
from sessiongraph.event import Entry, PlacedEvent
from sessiongraph.header import SessionHeader
from sessiongraph.ports import StoredSession
from sessiongraph.query import QueryLimits, SessionQuery
from tests.plain_store import PlainLogStore, PlainReader
from tests.strategies import header, json_text, placed

SCHEMA = build_schema()


class WatchedReader:
    """A plain reader that counts its calls, fails where told to, and leaves streams out."""

    def __init__(self, store: WatchedStore, reader: PlainReader) -> None:
        self._store = store
        self._reader = reader

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._reader, name)

        async def watched(*arguments: Any, **named: Any) -> Any:
            self._store.calls[name] += 1
            # An envelope is part of an event.
            question = "events" if name == "envelopes" else name
            for failing, error in self._store.failures.items():
                if (question, _id_of(arguments[0])) == failing:
                    raise error
            answer = await method(*arguments, **named)
            return _without_streams(answer) if self._store.elides else answer

        return watched


def _id_of(asked: Any) -> str | None:
    if isinstance(asked, StoredSession):
        return asked.header.session_id
    return next(iter(asked), None) if isinstance(asked, Collection) else None


def _without_streams(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_without_streams(each) for each in answer]
    if isinstance(answer, dict):
        return {key: _without_streams(each) for key, each in answer.items()}
    if isinstance(answer, PlacedEvent):
        data = json.loads(answer.event.payload)
        if "stream" in data:
            del data["stream"]
            event = answer.event.with_payload(json_text(data))
            return replace(answer, event=event, elided=True)
    return answer


@dataclass
class WatchedStore(PlainLogStore):
    """A plain store under observation.

    calls: how often each question was asked. observed, open: observations ever made, and now.
    failures: what to raise for (question, session id).
    """

    calls: Counter[str] = field(default_factory=Counter)
    failures: dict[tuple[str, str], Exception] = field(default_factory=dict)
    elides: bool = False
    observed: int = 0
    open: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    @asynccontextmanager
    async def observe(self) -> AsyncIterator[Any]:
        self.observed += 1
        self.open += 1
        try:
            async with super().observe() as reader:
                await asyncio.sleep(0)
                yield WatchedReader(self, reader)
        finally:
            self.open -= 1


@dataclass(frozen=True)
class Answer:
    """One response as a client parses it."""

    text: bytes

    @property
    def body(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.text)
        return parsed

    @property
    def data(self) -> Any:
        """The data of a response without errors."""
        assert "errors" not in self.body, self.body["errors"]
        return self.body["data"]

    @property
    def errors(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.body["errors"]
        return found

    @property
    def codes(self) -> list[str]:
        return [error["extensions"]["code"] for error in self.errors]


class Asked:
    """A corpus and the schema over it."""

    def __init__(self, limits: QueryLimits | None = None) -> None:
        self.store = WatchedStore()
        self._query = SessionQuery(Corpus(self.store), CursorCodec(b"k" * 32), limits)
        self.services = Services(self._query, "1.2.3")

    def add(
        self, session: str | SessionHeader, log: Sequence[Entry] = (), **members: Any
    ) -> SessionHeader:
        """Store one session; ``members`` are of its header."""
        stored = session if isinstance(session, SessionHeader) else header(session, **members)

        async def write() -> None:
            await self.store.create(stored)
            async with PlainLogStore.observe(self.store) as reader:
                epoch = (await reader.find([stored.session_id]))[stored.session_id].epoch
            await self.store.append(stored.session_id, epoch, placed(log))

        asyncio.run(write())
        return stored

    def ask(self, document: str, **variables: Any) -> Answer:
        """Execute one operation."""
        return asyncio.run(self.answer(document, variables))

    async def answer(self, document: str, variables: Mapping[str, Any] | None = None) -> Answer:
        """Execute one operation in a loop that runs already."""
        result = await SCHEMA.execute(
            document, variable_values=dict(variables or {}), context_value=self.services
        )
        body: dict[str, Any] = {"data": result.data}
        if result.errors:
            body["errors"] = [error.formatted for error in result.errors]
        return Answer(encode_response(body))

    def walk(self, ask_page: Callable[[str | None], Any]) -> list[Any]:
        """The nodes of every page of a connection, asked for one after the other."""
        nodes, after = [], None
        while True:
            page = ask_page(after)
            nodes += page["nodes"]
            if not page["pageInfo"]["hasNextPage"]:
                return nodes
            after = page["pageInfo"]["endCursor"]
