"""The peer of our server: Starlette and a fast JSON library, and no more than the answer needs.

``python -m benchmarks.plain_server --answers FILE --store FILE`` answers every POST with the very
bytes that our server gives: under ``/memory/NAME`` from objects that are in memory already, and
encoded for each request; under ``/store/NAME`` from rows that are read for each request from the
same SQLite file, by the plainest statement that finds them.
"""

from __future__ import annotations

import argparse
import socket
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

try:
    import orjson
except ImportError:
    ENCODER = "msgspec"
    encode: Callable[[Any], bytes] = msgspec.json.encode
else:
    ENCODER = "orjson"
    encode = orjson.dumps

SESSIONS, EVENTS = "sessions", "events"
_SURFACES: Final = ("LOG_ONLY", "CURRENT", "SHADOWED")
_LOW_32: Final = 0xFFFFFFFF


class Rows:
    """The rows of the two answers, straight from the file."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        self._types = dict(self._connection.execute("SELECT type, CAST(name AS TEXT) FROM types"))
        (self._log,) = self._connection.execute(
            "SELECT log FROM logs WHERE state = 1 ORDER BY newest, id LIMIT 1"
        ).fetchone()

    def sessions(self) -> dict[str, Any]:
        """The newest hundred sessions."""
        rows = self._connection.execute(
            "SELECT CAST(id AS TEXT), created_at, CAST(cwd AS TEXT), CAST(title AS TEXT), last_seq "
            "FROM logs WHERE state = 1 ORDER BY newest, id LIMIT 100"
        )
        nodes = [
            {
                "id": session_id,
                "header": {"createdAt": created_at, "cwd": cwd},
                "title": title,
                "lastSeq": last_seq,
            }
            for session_id, created_at, cwd, title, last_seq in rows
        ]
        return {"data": {"sessions": {"nodes": nodes}}}

    def events(self) -> dict[str, Any]:
        """The first hundred events of the newest session."""
        rows = self._connection.execute(
            "SELECT id, lane, time FROM events WHERE id >= ? ORDER BY id LIMIT 100",
            (self._log << 32,),
        )
        nodes = [
            {
                "seq": event_id & _LOW_32,
                "type": self._types[lane >> 2 & 0xFFFFF],
                "time": time,
                "surface": _SURFACES[lane & 3],
            }
            for event_id, lane, time in rows
        ]
        return {"data": {"session": {"events": {"nodes": nodes}}}}


def build_app(answers: dict[str, Any], rows: Rows) -> Starlette:
    """The application."""
    routes = [_route(f"/memory/{name}", partial(answers.__getitem__, name)) for name in answers]
    routes += [
        _route(f"/store/{SESSIONS}", rows.sessions),
        _route(f"/store/{EVENTS}", rows.events),
    ]
    return Starlette(routes=routes)


def _route(path: str, answer: Callable[[], Any]) -> Route:
    async def endpoint(request: Request) -> Response:
        msgspec.json.decode(await request.body())
        return Response(encode(answer()), media_type="application/json")

    return Route(path, endpoint, methods=["POST"])


def main() -> None:
    """Serve until SIGTERM; says where in one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True)
    options = parser.parse_args()
    answers = msgspec.json.decode(options.answers.read_bytes())
    # Named as TCP: asyncio turns Nagle's algorithm off only for sockets that say so.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as bound:
        bound.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            build_app(answers, Rows(options.store)),
            lifespan="off",
            ws="none",
            log_level="warning",
            access_log=False,
            server_header=False,
        )
        bound.listen()
        print(f"listening on http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
        uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    main()
