"""List answers over HTTP: the request rate of our server beside that of a plain one.

Both serve the same bytes from the same machine, in turn, to the same clients. The plain server has
no GraphQL at all, so the ratio is the price of everything that ours does for an answer.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.figures import Figure, Limit
from benchmarks.http_load import Target, answer_of, request_rates, running_server
from benchmarks.http_load import sessiongraph_server as our_server
from benchmarks.measuring import in_fresh_process
from benchmarks.plain_server import ENCODER, EVENTS, SESSIONS
from benchmarks.scale import Scale
from benchmarks.stores import build_reference_shapes

AREA: Final = "listing"

_THIRD: Final = Limit(1 / 3, "×", least=True)
_PLACES: Final = {"store": "the same store", "memory": "memory"}
_SESSIONS: Final = """
    { sessions(first: 100) { nodes { id header { createdAt cwd } title lastSeq } } }
"""
_EVENTS: Final = """
    query ($id: ID!) {
      session(id: $id) { events(first: 100) { nodes { seq type time surface } } }
    }
"""
_EVENTS_WITH_DATA: Final = """
    query ($id: ID!) {
      session(id: $id) { events(first: 100) { nodes { seq type time surface data } } }
    }
"""
_NEWEST: Final = "{ sessions(first: 1) { nodes { id } } }"


def measure(scale: Scale, folder: Path) -> list[Figure]:
    """A page of a hundred sessions, and of a hundred events with and without their payloads."""
    data_dir = folder / "served"
    data_dir.mkdir()
    in_fresh_process(build_reference_shapes, data_dir / "log.db", 300, 110, 1000)
    return asyncio.run(_measure(scale, data_dir))


async def _measure(scale: Scale, data_dir: Path) -> list[Figure]:
    async with our_server(data_dir) as url:
        newest = await answer_of(Target.of_query(url, _NEWEST))
        session_id = newest["data"]["sessions"]["nodes"][0]["id"]
        ours = {
            SESSIONS: Target.of_query(url, _SESSIONS),
            EVENTS: Target.of_query(url, _EVENTS, id=session_id),
            "events-with-data": Target.of_query(url, _EVENTS_WITH_DATA, id=session_id),
        }
        answers = {name: await answer_of(target) for name, target in ours.items()}
        kept = data_dir.parent / "answers.json"
        kept.write_bytes(msgspec.json.encode(answers))
        arguments = ("--answers", str(kept), "--store", str(data_dir / "log.db"))
        async with running_server("benchmarks.plain_server", *arguments) as peer_url:
            return await _compare(scale, ours, answers, peer_url)


async def _compare(
    scale: Scale, ours: dict[str, Target], answers: dict[str, Any], peer_url: str
) -> list[Figure]:
    figures = []
    for name, target in ours.items():
        targets = {"ours": target}
        for place in _PLACES:
            peer = Target(f"{peer_url}/{place}/{name}", target.body)
            if place == "memory" or name in (SESSIONS, EVENTS):
                # What ours says beside the data (its cost) the plain server has nothing of.
                if (await answer_of(peer))["data"] != answers[name]["data"]:
                    raise RuntimeError(f"the plain server answers {name} from {place} differently")
                targets[place] = peer
        rates = await request_rates(scale.long_rounds, scale.load_s, targets)
        figures += [
            Figure(
                AREA,
                f"{name.replace('-', ' ')}(first: 100)",
                rates["ours"],
                f"Starlette + {ENCODER}, from {_PLACES[place]}",
                rates[place],
                ratio_limit=_THIRD if place == "store" else None,
            )
            for place in _PLACES
            if place in rates
        ]
    return figures
