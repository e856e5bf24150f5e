"""Whatever happens to sessions, units, disk and server, in any order: no answer is ever wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from sessiongraph.event import Entry
from sessiongraph.projections import Projection
from sessiongraph.projections.views import Snapshot
from tests.plain_store import prefix_of, run
from tests.sessiongraph.projections.driven import Server, Subscriber, serving, soon
from tests.sessiongraph.projections.fed_store import FedStore, begin, last_seq_of, stored_of
from tests.sessiongraph.projections.plain_checkpoints import PlainCheckpointStore
from tests.sessiongraph.projections.random_units import plain_fold, told, unit_sets
from tests.strategies import delta_run, event, header, placed, prompt

SESSIONS = "ab"
STEPS = (
    "append",
    "append",
    "append",
    "ask",
    "ask",
    "list",
    "replace",
    "delete",
    "register",
    "unregister",
    "sicken",
    "heal",
    "restart",
    "subscribe",
    "wait",
)

Step = tuple[str, str, int]


def more_of(log: list[Entry], number: int) -> list[Entry]:
    """A few entries that can follow a log."""
    seq = last_seq_of(log) + 1
    kinds: list[Callable[[int], Entry]] = [
        lambda seq: event(seq, "turn/start", {"turn": seq}),
        lambda seq: prompt(seq, "hello"),
        lambda seq: delta_run(seq, ["a", "b", "c"]),
        lambda seq: event(seq, "session/title", {"title": str(seq)}),
        lambda seq: event(seq, "turn/end", {"turn": seq}),
    ]
    made: list[Entry] = []
    for place in range(1 + number % 3):
        made.append(kinds[(number + place) % len(kinds)](seq))
        seq = made[-1].last_seq + 1
    return made


class World:
    """Two sessions, one server at a time, and what should be true of them."""

    def __init__(self, units: list[Projection[Any]]) -> None:
        self.units = units
        self.registered = units[: max(1, len(units) - 1)]
        self.store = FedStore()
        self.checkpoints = PlainCheckpointStore()
        self.logs: dict[str, list[Entry]] = {}
        self.subscribers: list[Subscriber] = []

    async def live(self, steps: list[Step]) -> list[Step]:
        """One life of the server; answers the steps that are left for the next."""
        async with serving(
            *self.registered, store=self.store, checkpoints=self.checkpoints, sessions=1, events=2
        ) as server:
            server.logs = self.logs
            self.disposers: dict[str, Callable[[], None]] = {}
            for place, (step, session_id, number) in enumerate(steps):
                if step == "restart":
                    return steps[place + 1 :]
                await self._take(server, step, session_id, number)
            for session_id in self.logs:
                await self._ask(server, session_id)
            return []

    async def _take(self, server: Server, step: str, session_id: str, number: int) -> None:
        if step == "append":
            if session_id not in self.logs:
                self.logs[session_id] = []
                await begin(self.store, [], session_id)
            await server.append(*more_of(self.logs[session_id], number), to=session_id)
        elif step == "ask" and session_id in self.logs:
            await self._ask(server, session_id)
        elif step == "list" and session_id in self.logs:
            await self._list(server, session_id)
        elif step == "replace" and session_id in self.logs:
            self.logs[session_id] = more_of([], number)
            staged = await self.store.stage(header(session_id))
            await staged.append(placed(self.logs[session_id]))
            await staged.publish(header(session_id))
        elif step == "delete" and session_id in self.logs:
            del self.logs[session_id]
            await self.store.delete(session_id)
        elif step == "register":
            late = self.units[-1]
            if late.key not in self.disposers and late not in self.registered:
                self.disposers[late.key] = server.registry.register(late)
        elif step == "unregister" and self.disposers:
            self.disposers.popitem()[1]()
        elif step == "sicken":
            self.checkpoints.sick = True
        elif step == "heal":
            self.checkpoints.sick = False
        elif step == "subscribe" and session_id in self.logs:
            subscriber = Subscriber(server, session_id)
            await soon(number * 5)
            await subscriber.leave()
        elif step == "wait":
            await soon(number * 10)

    def _units(self, server: Server) -> list[Projection[Any]]:
        return list(server.registry.routes.units)

    async def _ask(self, server: Server, session_id: str) -> None:
        plain = plain_fold(self._units(server), self.logs[session_id])
        snapshot = await server.projections.snapshot(session_id)
        assert (snapshot.as_of_seq, told(snapshot)) == (plain.as_of_seq, plain.told())

    async def _list(self, server: Server, session_id: str) -> None:
        if self.checkpoints.sick:
            return
        stored = await stored_of(self.store, session_id)
        snapshot: Snapshot = (await server.projections.stored([stored]))[session_id]
        log = self.logs[session_id]
        moments = [
            plain_fold(self._units(server), prefix_of(log, seq)).told()
            for seq in range(-1, last_seq_of(log) + 1)
        ]
        for key, shown in told(snapshot).items():
            assert shown in [moment[key] for moment in moments]


@settings(max_examples=60)
@given(
    units=unit_sets(least=2),
    steps=st.lists(
        st.tuples(st.sampled_from(STEPS), st.sampled_from(SESSIONS), st.integers(0, 9)),
        max_size=30,
    ),
)
def test_no_answer_is_ever_wrong(units: list[Projection[Any]], steps: list[Step]) -> None:
    async def scenario() -> None:
        world = World(units)
        left = steps
        while True:
            left = await world.live(left)
            if not left:
                return

    run(scenario())
