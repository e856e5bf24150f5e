"""The program as its users run it: processes of its own, watched by what they print."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from server.tokens import TokenFile

ROOT = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-m", "server.cli")
TIMEOUT_S = 60


def clean_environment(**extra: str) -> dict[str, str]:
    """This process's environment without any setting of ours."""
    kept = {k: v for k, v in os.environ.items() if not k.upper().startswith("SESSIONGRAPH_")}
    return {**kept, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error", **extra}


def run(
    *arguments: str | Path, environment: Mapping[str, str] | None = None, umask: int = -1
) -> subprocess.CompletedProcess[str]:
    """A command from start to end; umask: -1 for that of this process."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        env=clean_environment(**(environment or {})),
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
        umask=umask,
    )


@dataclass
class RunningServer:
    """A ``serve`` process that has said where it listens, asked as by its owner.

    authorization: the header of its owner's requests; None where it has no token file.
    """

    process: subprocess.Popen[str]
    url: str
    authorization: str | None

    @property
    def credentials(self) -> dict[str, str]:
        """What is sent besides, over HTTP as headers and over WebSocket in the first message."""
        return {} if self.authorization is None else {"authorization": self.authorization}

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Signal it and wait: exit code, the rest of stdout, stderr."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=TIMEOUT_S)
        return self.process.returncode, out, err

    def request(
        self,
        method: str,
        path: str,
        body: bytes | str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """One request over a connection of its own: status, headers (lower case), body.

        headers: besides the owner's token; an ``authorization`` among them takes its place, and
        none is sent when that is empty.
        """
        sent = {**self.credentials, **(headers or {})}
        if not sent.get("authorization", "-"):
            del sent["authorization"]
        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=TIMEOUT_S)
        try:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return response.status, found, response.read()
        finally:
            connection.close()

    def post(self, body: bytes | str, **headers: str) -> tuple[int, Any]:
        """A POST of JSON to the API: status, parsed answer."""
        sent = {"content-type": "application/json", **headers}
        status, _, answer = self.request("POST", "/graphql", body, sent)
        return status, json.loads(answer)

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        """The answer to one operation."""
        status, answer = self.post(json.dumps({"query": query, "variables": variables}))
        assert status == 200
        return answer


def authorization_of(data_dir: Path) -> str | None:
    """The header of the owner's requests to a server over this directory."""
    token = TokenFile(data_dir / "token").existing_main()
    return None if token is None else token.authorization


@contextmanager
def serving(
    data_dir: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> Iterator[RunningServer]:
    """A server on a free port; stopped at the end, cleanly."""
    process = subprocess.Popen(
        [*PROGRAM, "serve", "--port", "0", "--data-dir", str(data_dir), *arguments],
        env=clean_environment(**(environment or {})),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("listening on http://"), process.communicate(timeout=TIMEOUT_S)
        url = line.removeprefix("listening on ").strip()
        yield RunningServer(process, url, authorization_of(data_dir))
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=TIMEOUT_S)
            assert process.returncode == 0, errors
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate(timeout=TIMEOUT_S)
