"""Starting and stopping ``sessiongraph serve``."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
from pathlib import Path

import pytest

from server.samples import sample_sessions
from tests.server.processes import run, serving


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_says_one_line_and_stops_cleanly_when_signalled(
    tmp_path: Path, number: signal.Signals
) -> None:
    with serving(tmp_path) as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+", server.url)
        assert server.ask("{ server { sessions } }")["data"] == {"server": {"sessions": 0}}
        began = time.monotonic()
        code, rest_of_stdout, _ = server.stop(number)
        assert (code, rest_of_stdout) == (0, "")
        assert time.monotonic() - began < 10


def test_a_stop_does_not_wait_for_clients_that_keep_their_connection(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as idle:
            idle.sendall(f"GET /healthz HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
            assert idle.recv(65536).startswith(b"HTTP/1.1 200")
            began = time.monotonic()
            assert server.stop()[0] == 0
            assert time.monotonic() - began < 5


def test_a_stop_waits_in_vain_only_so_long_for_half_a_request(tmp_path: Path) -> None:
    with serving(tmp_path, environment={"SESSIONGRAPH_SHUTDOWN_GRACE_S": "2"}) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slow:
            slow.sendall(
                f"POST /graphql HTTP/1.1\r\nHost: localhost:{port}\r\nContent-Length: 100\r\n"
                f"Authorization: {server.authorization}\r\n"
                "Content-Type: application/json\r\n\r\n{".encode()
            )
            server.ask("{ __typename }")
            began = time.monotonic()
            assert server.stop()[0] == 0
            assert time.monotonic() - began < 4


def test_what_was_accepted_is_on_disk_after_a_clean_stop(tmp_path: Path) -> None:
    slow = {"SESSIONGRAPH_WRITE_DELAY_MS": "60000"}
    with serving(tmp_path, environment=slow) as server:
        made = server.ask(
            """mutation { createSession(input: {id: "s", durability: ACCEPTED}) { session { id } }
                appendEvents(input: {sessionId: "s", durability: ACCEPTED, events: [
                    {type: "custom/thing", data: {a: 1}}]}) { session { live persisted } } }"""
        )
        state = made["data"]["appendEvents"]["session"]
        assert state == {"live": True, "persisted": False}
        assert server.stop()[0] == 0
    with serving(tmp_path) as server:
        found = server.ask('{ session(id: "s") { live persisted lastSeq } }')
        assert found["data"]["session"] == {"live": False, "persisted": True, "lastSeq": 0}


def test_it_logs_json_lines_to_stderr(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        _, _, errors = server.stop()
    events = [json.loads(line) for line in errors.splitlines()]
    assert [event["event"] for event in events] == ["serving", "stopping", "stopped"]
    assert events[0]["url"] == server.url
    assert events[0]["how_to_ask"] == f"sessiongraph token show --data-dir {tmp_path}"
    assert server.authorization is not None
    assert server.authorization.removeprefix("Bearer ") not in errors


def test_it_can_listen_on_the_other_loopback(tmp_path: Path) -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    with serving(tmp_path, "--host", "::1") as server:
        assert server.url.startswith("http://[::1]:")
        assert server.request("GET", "/healthz")[0] == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1"])
def test_a_host_that_is_not_loopback_is_refused_without_authentication(
    tmp_path: Path, host: str
) -> None:
    done = run("serve", "--host", host, "--auth", "off", "--data-dir", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"sessiongraph: host {host} is not loopback")
    assert "needs authentication (--auth on)" in line


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_who_listens_everywhere_must_say_what_the_server_is_called(
    tmp_path: Path, host: str
) -> None:
    if ":" in host and not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    done = run("serve", "--host", host, "--port", "0", "--data-dir", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert "allowed_hosts" in line


def test_it_can_listen_everywhere_under_its_names(tmp_path: Path) -> None:
    environment = {"SESSIONGRAPH_ALLOWED_HOSTS": '["sessions.example"]'}
    with serving(tmp_path, "--host", "0.0.0.0", environment=environment) as server:
        for host, status in {"sessions.example": 200, "other.example": 403}.items():
            assert server.request("GET", "/healthz", headers={"host": host})[0] == status


def test_a_port_that_is_taken_is_refused_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--port", str(port), "--data-dir", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"sessiongraph: cannot listen on 127.0.0.1:{port}: Address already in use "
        "(--port 0 picks a free port)\n"
    )


def test_a_second_server_is_refused_with_pid_and_address_of_the_first(tmp_path: Path) -> None:
    with serving(tmp_path) as first:
        done = run("serve", "--port", "0", "--data-dir", tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f"sessiongraph: the data directory {tmp_path} is in use by `sessiongraph serve` "
            f"at {first.url} (pid {first.process.pid})\n"
        )


def test_commands_that_only_read_work_beside_a_server(tmp_path: Path) -> None:
    with sample_sessions() as folder:
        assert run("import", "--data-dir", tmp_path, "--quiet", folder).returncode == 0
    with serving(tmp_path):
        assert run("show", "harbor-tour", "--data-dir", tmp_path).returncode == 0
        assert run("lineage", "harbor-tour", "--data-dir", tmp_path).returncode == 0
        assert run("export", "harbor-tour", "--data-dir", tmp_path).returncode == 0
        assert run("check", "--data-dir", tmp_path).returncode == 0


def test_a_repair_is_refused_while_a_server_holds_the_directory(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        done = run("check", "--repair", "--data-dir", tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"at {server.url} (pid {server.process.pid})" in done.stderr


def test_a_server_killed_at_once_leaves_a_directory_that_serves_again(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.process.kill()
        server.process.communicate(timeout=30)
    with serving(tmp_path) as again:
        assert again.ask("{ server { sessions } }")["data"] == {"server": {"sessions": 0}}


def test_a_foreign_file_in_the_place_of_the_store_is_refused_and_left_alone(
    tmp_path: Path,
) -> None:
    foreign = tmp_path / "log.db"
    foreign.write_bytes(b"not a database, somebody's notes\n" * 100)
    done = run("serve", "--port", "0", "--data-dir", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert str(foreign) in done.stderr
    assert foreign.read_bytes() == b"not a database, somebody's notes\n" * 100


def test_a_bad_setting_is_refused_in_one_line(tmp_path: Path) -> None:
    done = run("serve", "--data-dir", tmp_path, environment={"SESSIONGRAPH_PROT": "1"})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "sessiongraph: environment: there is no setting 'SESSIONGRAPH_PROT'; "
        "the nearest is 'SESSIONGRAPH_PORT' (SESSION_QUERY_INVALID_CONFIG)\n"
    )
