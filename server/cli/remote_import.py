"""An import by the server that holds the data directory, followed from here."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from server.cli.failures import CommandFailed
from sessiongraph.import_report import ImportRefusal, ImportReport

_CONNECT_S: Final = 10
_QUIET_S: Final = 120
"""The longest that a running import may say nothing; the stream itself is kept alive."""

_REPORT: Final = (
    "{ id files imported resumed unchanged events bytes done "
    "refused { path line reason } redacted { kind count } }"
)
_BEGIN: Final = f"mutation($input: ImportInput!) {{ importRecordings(input: $input) {_REPORT} }}"
_FOLLOW: Final = f"subscription($id: ID!) {{ importProgress(id: $id) {_REPORT} }}"


def import_through(
    address: str, authorization: str | None, paths: Sequence[Path], *, restore_deleted: bool
) -> Iterator[ImportReport]:
    """Have a server import these paths; how far it is, until it is done.

    authorization: the header that the requests have, if any.

    Raises:
        CommandFailed: the server does not answer, or refuses.
    """
    given = {
        "paths": [str(path.absolute()) for path in paths],
        "restoreDeleted": restore_deleted,
    }
    headers = {"content-type": "application/json"}
    if authorization is not None:
        headers["authorization"] = authorization
    with _asked(address, _BEGIN, {"input": given}, headers) as response:
        begun = _answer(json.loads(response.read()))["importRecordings"]
    headers["accept"] = "text/event-stream"
    with _asked(address, _FOLLOW, {"id": begun["id"]}, headers) as response:
        if response.status != 200:
            _answer(json.loads(response.read()))
        for line in response:
            if line.startswith(b"data:") and line.strip() != b"data:":
                answer = _answer(json.loads(line[len(b"data:") :]))
                report = _report(answer["importProgress"])
                yield report
                if report.done:
                    return
    raise CommandFailed(f"the server at {address} ended before the import was done")


@contextmanager
def _asked(
    address: str, query: str, variables: dict[str, Any], headers: dict[str, str]
) -> Iterator[http.client.HTTPResponse]:
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=_CONNECT_S)
    body = json.dumps({"query": query, "variables": variables})
    try:
        connection.request("POST", "/graphql", body, headers)
        if connection.sock is not None:
            connection.sock.settimeout(_QUIET_S)
        yield connection.getresponse()
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise CommandFailed(f"the server at {address} does not answer: {error}") from error
    finally:
        connection.close()


def _answer(answer: Any) -> dict[str, Any]:
    if answer.get("errors"):
        raise CommandFailed(f"the server refuses: {answer['errors'][0]['message']}")
    data: dict[str, Any] = answer["data"]
    return data


def _report(shown: dict[str, Any]) -> ImportReport:
    refused = [
        ImportRefusal(each["path"], each["line"], each["reason"]) for each in shown["refused"]
    ]
    return ImportReport(
        files=shown["files"],
        imported=shown["imported"],
        resumed=shown["resumed"],
        unchanged=shown["unchanged"],
        refused=refused,
        events=shown["events"],
        bytes=shown["bytes"],
        redacted=Counter({each["kind"]: each["count"] for each in shown["redacted"]}),
        done=shown["done"],
    )
