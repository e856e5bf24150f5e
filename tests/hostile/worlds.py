"""Two servers that are told the same of the sessions in sight, and one of them of others as well.

A :class:`Member` is a session as it is to be made; those out of sight come between the others, so
that every number the server counts for itself differs between the two worlds. What both are asked
is asked with the same grant, and their answers are compared as text.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from hypothesis import strategies as st

from schema.response import encode_response
from sessiongraph.access import Grant, Scope
from sessiongraph.directories import place_of
from sessiongraph.event import Entry
from sessiongraph.header import SessionHeader, SessionSource, SourceKind
from tests.schema.asking import Answer
from tests.schema.living import SCHEMA, Server, Stream, answered, server_over
from tests.strategies import citing, event, placed, prompt

GRANT: Final = Grant(Scope.ADMIN, ("/p", "/work/deep"))
IN_SIGHT: Final = ("/p", "/p/q", "//p/./q", "/p/q/../r", "/work/deep/er")
OUT_OF_SIGHT: Final = (None, "/pq", "/", "/p/..", "p/q", "/work", "/secret")
SEEN_IDS: Final = ("seen-a", "seen-b", "seen-c", "seen-d")
HIDDEN_IDS: Final = ("hidden-a", "hidden-b", "hidden-c")
NOBODY: Final = "nobody"
EVERY_ID: Final = (*SEEN_IDS, *HIDDEN_IDS, NOBODY)
SAID: Final = ("alpha", "beta", "gamma delta", "alpha alpha beta", "超时 alpha")

Happening = tuple[str, Any]
"""What goes into a log: something said, a title, or the sessions that a message cites."""


@dataclass(frozen=True)
class Member:
    """One session of a world.

    way: stored, live with everything on disk, or live with nothing on disk yet.
    """

    session_id: str
    cwd: str | None
    created_at: int
    parent: str | None
    seed_length: int | None
    origin: str | None
    way: str
    log: tuple[Happening, ...]

    @property
    def in_sight(self) -> bool:
        return GRANT.visibility.admits_directory(self.cwd)

    def header(self) -> SessionHeader:
        source = SessionSource()
        if self.way == "stored":
            notes = (f"Detached from /rec/{self.parent}.jsonl.", "A line was torn.")
            source = SessionSource(SourceKind.DSH, f"/rec/{self.parent}/x.jsonl", 1, notes)
        return SessionHeader(
            4,
            self.session_id,
            self.created_at,
            self.cwd,
            self.parent,
            self.seed_length if self.way == "stored" else None,
            self.origin,
            source=source,
        )

    def entries(self) -> list[Entry]:
        entries: list[Entry] = []
        for seq, (kind, what) in enumerate(self.log):
            time = 1000 + seq
            if kind == "say":
                entries.append(prompt(seq, what, time=time))
            elif kind == "title":
                entries.append(event(seq, "session/title", {"title": what}, time=time))
            else:
                entries.append(citing(seq, *what, time=time))
        return entries


def happenings() -> st.SearchStrategy[tuple[Happening, ...]]:
    said = st.tuples(st.just("say"), st.sampled_from(SAID))
    titled = st.tuples(st.just("title"), st.sampled_from(("Alpha", "beta in title")))
    cited = st.tuples(st.just("cite"), st.lists(st.sampled_from(EVERY_ID), max_size=2).map(tuple))
    return st.lists(said | said | titled | cited, max_size=4).map(tuple)


def members(session_id: str) -> st.SearchStrategy[Member]:
    cwds = IN_SIGHT if session_id in SEEN_IDS else OUT_OF_SIGHT
    return st.builds(
        Member,
        st.just(session_id),
        st.sampled_from(cwds),
        st.integers(1000, 1002),
        st.none() | st.sampled_from(EVERY_ID),
        st.none() | st.integers(0, 2),
        st.sampled_from((None, "subagent")),
        st.sampled_from(("stored", "stored", "durable", "accepted")),
        happenings(),
    )


@st.composite
def populations(draw: st.DrawFn) -> list[Member]:
    """Everybody, in the order in which they are made."""
    order = draw(st.permutations([*SEEN_IDS, *HIDDEN_IDS]))
    return [draw(members(session_id)) for session_id in order]


class World:
    """One server and who lives in it."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.services = replace(server.services, grant=GRANT)

    async def make(self, member: Member) -> None:
        """Make a session, by whoever sees everything; only a recorder's can be of no place."""
        is_of_no_place = member.cwd is not None and place_of(member.cwd) is None
        if member.way == "stored" or is_of_no_place:
            await self.server.store.create(member.header())
            if member.log:
                epoch = await self._epoch(member.session_id)
                entries = placed(member.entries())
                await self.server.store.append(member.session_id, epoch, entries)
            return
        durability = member.way.upper()
        await self.server.create(
            member.session_id,
            cwd=member.cwd,
            createdAt=member.created_at,
            parentSession=member.parent,
            origin=member.origin,
            durability=durability,
        )
        events = [
            {"type": each.type, "data": json.loads(each.payload), "time": each.time}
            for each in member.entries()
            if not isinstance(each, list) and hasattr(each, "payload")
        ]
        if events:
            await self.server.append(member.session_id, *events, durability=durability)

    async def _epoch(self, session_id: str) -> int:
        async with self.server.store.observe() as reader:
            return (await reader.find([session_id]))[session_id].epoch

    async def ask(self, document: str, **variables: Any) -> Answer:
        """Execute one operation with the grant."""
        return await answered(self.services, document, variables)

    async def told(self, document: str, **variables: Any) -> str:
        """An answer as text that can be compared."""
        return comparable((await self.ask(document, **variables)).body)

    async def begun(self, document: str, **variables: Any) -> str:
        """The first frame of a subscription, or why there is none."""
        stream = await self.follow(document, **variables)
        if not isinstance(stream, Stream):
            return comparable(stream.body)
        try:
            return comparable((await stream.next()).body)
        finally:
            await stream.close()

    async def follow(self, document: str, **variables: Any) -> Stream | Answer:
        """Begin a subscription with the grant; an answer when it does not begin."""
        results: Any = await SCHEMA.subscribe(
            document, variable_values=variables, context_value=self.services
        )
        if hasattr(results, "errors"):
            body = {"data": None, "errors": [each.formatted for each in results.errors]}
            return Answer(encode_response(body))
        return Stream(results)


def comparable(body: dict[str, Any]) -> str:
    """A response as text: of cursors, which are encrypted, the length; errors in one order."""
    for error in body.get("errors", ()):
        assert error["extensions"]["code"] != "INTERNAL_SERVER_ERROR", error
    if "errors" in body:
        body = {**body, "errors": sorted(body["errors"], key=lambda each: json.dumps(each))}
    return json.dumps(_without_cursors(body), indent=1, ensure_ascii=False)


def _without_cursors(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_cursors(each) for each in value]
    if isinstance(value, dict):
        return {
            key: len(each)
            if key.lower().endswith("cursor") and isinstance(each, str)
            else _without_cursors(each)
            for key, each in value.items()
        }
    return value


@asynccontextmanager
async def two_worlds(path: Path, population: Sequence[Member]) -> AsyncIterator[list[World]]:
    """The world where everybody is, and that of those in sight alone."""
    (path / "whole").mkdir()
    (path / "alone").mkdir()
    # What was accepted stays unwritten until somebody wants it on disk.
    slow = {"write_delay_ms": 60_000, "search": True}
    async with (
        server_over(path / "whole", **slow) as whole,  # type: ignore[arg-type]
        server_over(path / "alone", **slow) as alone,  # type: ignore[arg-type]
    ):
        worlds = [World(whole), World(alone)]
        for member in population:
            for world in worlds if member.in_sight else worlds[:1]:
                await world.make(member)
        yield worlds
