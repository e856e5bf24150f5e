"""Pushed values: a thousand subscribers over a hundred sessions, beside a plain broadcast.

Every session has ten subscribers that ask the same, over WebSockets of their own, and each must be
told every change of its session, in order. The peer is the plain broadcast of
:mod:`benchmarks.following`: Starlette, which sends as many texts, the very messages that one of our
subscribers got, to as many sockets. What is measured are deliveries and not appends, of which there
are a hundred times as many as where all follow one session: in every round the same is appended to
as many sessions that nobody follows, and its time is taken off. It is shown with them as well.

How long a change takes is measured on an idle server, one append after the other: from the request
to append until the frame has come, so the disk's wait and the append's own work are in it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.figures import Figure, Limit, Sample, slowest_of_hundred
from benchmarks.following import Follower, Peer, allow_sockets, connected
from benchmarks.http_load import (
    APPEND,
    CONNECTIONS,
    CREATE,
    Connection,
    Target,
    answer_of,
    running_server,
    sessiongraph_server,
)
from benchmarks.scale import Scale

AREA: Final = "projections"
SESSIONS: Final = 100
EACH: Final = 10
CHANGES: Final = 40
FOLLOWED: Final = tuple(f"followed-{number}" for number in range(SESSIONS))
UNFOLLOWED: Final = tuple(f"unfollowed-{number}" for number in range(SESSIONS))
_LATENCIES: Final = 400
_UNIT: Final = "deliveries/s"
_SUBSCRIPTION: Final = """
    subscription ($id: ID!) {
      projections(sessionId: $id, keys: ["title"]) {
        ... on ProjectionSnapshot { asOfSeq }
        ... on ProjectionChange { view { key seq value } }
      }
    }
"""


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """The rate of deliveries, and the time from change to frame."""
    allow_sockets(4 * SESSIONS * EACH)
    return asyncio.run(_measure(scale, folder))


async def _measure(scale: Scale, folder: Path) -> list[Figure]:
    data_dir = folder / "pushed"
    data_dir.mkdir()
    async with (
        sessiongraph_server(data_dir) as url,
        running_server("benchmarks.following") as peer_url,
    ):
        pushed = Pushed(url)
        await pushed.create()
        latency = await _latency(pushed)
        async with (
            pushed.subscribed(EACH, FOLLOWED) as subscribers,
            connected(peer_url, SESSIONS * EACH) as listeners,
        ):
            rates = await _compare(scale, pushed, subscribers, Peer(peer_url), listeners)
    return [latency, *rates]


async def _latency(pushed: Pushed) -> Figure:
    taken = []
    async with (
        pushed.subscribed(1, FOLLOWED[:1]) as subscribers,
        Connection.to(pushed.url) as connection,
    ):
        (subscriber,) = subscribers[FOLLOWED[0]]
        for turn in range(-10, _LATENCIES):
            arrived = subscriber.await_messages(1)
            target = pushed.append(FOLLOWED[0], 1)
            begun = time.perf_counter()
            appending = asyncio.ensure_future(connection.post(target))
            await arrived
            if turn >= 0:
                taken.append((time.perf_counter() - begun) * 1e3)
            await appending
    worst = slowest_of_hundred(taken)
    return Figure(
        AREA,
        "from an append to its frame, the slowest of a hundred",
        Sample.of([worst]),
        limit=Limit(20),
        note=f"p99 of {_LATENCIES} durable appends over HTTP; the disk's wait is in it",
    )


async def _compare(
    scale: Scale,
    pushed: Pushed,
    subscribers: dict[str, list[Follower]],
    peer: Peer,
    listeners: Sequence[Follower],
) -> list[Figure]:
    whole, alone, broadcast = [], [], []
    deliveries = SESSIONS * EACH * CHANGES
    for turn in range(-1, scale.long_rounds):
        appended = await pushed.append_unfollowed(CHANGES)
        mine, messages = await pushed.deliver(subscribers, CHANGES)
        theirs = await peer.deliver(listeners, messages)
        if turn >= 0:
            whole.append(deliveries / mine)
            alone.append(deliveries / max(mine - appended, 1e-3))
            broadcast.append(deliveries / theirs)
    name = f"{SESSIONS * EACH:,} subscribers over {SESSIONS} sessions, {CHANGES} changes of each"
    plain = "Starlette, a plain broadcast of the same bytes"
    theirs_all = Sample.of(broadcast, _UNIT)
    return [
        Figure(
            AREA,
            name,
            Sample.of(alone, _UNIT),
            plain,
            theirs_all,
            ratio_limit=Limit(0.6, "×", least=True),
            note="without the time that the same appends take when nobody follows",
        ),
        Figure(AREA, f"{name}, with the appends", Sample.of(whole, _UNIT), plain, theirs_all),
    ]


class Pushed:
    """Our server and its sessions."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._lengths: dict[str, int] = {}

    async def create(self) -> None:
        """Make the sessions, empty."""
        for name in (*FOLLOWED, *UNFOLLOWED):
            await answer_of(Target.of_query(self.url, CREATE, id=name))
            self._lengths[name] = 0

    def append(self, name: str, count: int) -> Target:
        """The request that gives a session so many new titles."""
        first = self._lengths[name]
        self._lengths[name] += count
        events = [
            {
                "type": "session/title",
                "data": {"title": f"{name}: what it is about after event {seq}", "messageSeqs": []},
            }
            for seq in range(first, first + count)
        ]
        return Target.of_query(self.url, APPEND, id=name, events=events)

    @asynccontextmanager
    async def subscribed(
        self, each: int, names: Sequence[str]
    ) -> AsyncIterator[dict[str, list[Follower]]]:
        """So many subscribers of each of these sessions, all of which have had a snapshot."""
        async with connected(self.url, each * len(names)) as followers:
            placed = {
                name: followers[place * each : (place + 1) * each]
                for place, name in enumerate(names)
            }
            for name, group in placed.items():
                payload = {"query": _SUBSCRIPTION, "variables": {"id": name}}
                for follower in group:
                    greeted = follower.await_messages(1)
                    follower.say({"type": "connection_init"})
                    await greeted
                    begun = follower.await_messages(1)
                    follower.say({"type": "subscribe", "id": "1", "payload": payload})
                    await begun
            yield placed

    async def append_unfollowed(self, count: int) -> float:
        """Change as many sessions so often that nobody follows: the seconds that it takes."""
        targets = [self.append(name, count) for name in UNFOLLOWED]
        begun = time.perf_counter()
        await self._post(targets)
        return time.perf_counter() - begun

    async def _post(self, targets: Sequence[Target]) -> None:
        await asyncio.gather(
            *(_post_all(self.url, targets[start::CONNECTIONS]) for start in range(CONNECTIONS))
        )

    async def deliver(
        self, subscribers: dict[str, list[Follower]], count: int
    ) -> tuple[float, list[bytes]]:
        """Change every session so often: the seconds until everybody was told, and one's messages.

        Raises:
            RuntimeError: somebody was not told everything, or not in order.
        """
        first = dict(self._lengths)
        targets = [self.append(name, count) for name in subscribers]
        everybody = [follower for group in subscribers.values() for follower in group]
        arrived = [follower.await_messages(count) for follower in everybody]
        begun = time.perf_counter()
        await asyncio.gather(self._post(targets), *arrived)
        taken = time.perf_counter() - begun
        for name, group in subscribers.items():
            expected = list(range(first[name], first[name] + count))
            for follower in group:
                if [_seq_of(message) for message in follower.taken()] != expected:
                    raise RuntimeError(f"a subscriber of {name} was not told every change in order")
        return taken, everybody[0].taken()


async def _post_all(url: str, targets: Sequence[Target]) -> None:
    async with Connection.to(url) as connection:
        for target in targets:
            await connection.post(target)


def _seq_of(message: bytes) -> Any:
    return msgspec.json.decode(message)["payload"]["data"]["projections"]["view"]["seq"]
