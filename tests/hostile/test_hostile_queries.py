"""Queries and connections that mean it ill: the server says no, stays small, and answers others.

Every scenario runs against a real ``serve`` process over real sockets, with the limits that it has
by default, but for the few that would take too long to reach.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.crowd import Target, allow_files, besieged, frame, read_answer, run
from tests.server.processes import serving

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the system does not say how much memory is held"
)

LONG = os.environ.get("SESSIONGRAPH_TEST_PROFILE") == "long"
SUBSCRIPTIONS = 10_000 if LONG else 2_000
IDLE = 1000 if LONG else 300
TIMES = 10 if LONG else 2
"""How often an attack is repeated at once."""

SETTINGS = {
    "SESSIONGRAPH_MAX_SUBSCRIPTIONS": str(SUBSCRIPTIONS * 3 // 4),
    "SESSIONGRAPH_CONNECTION_INIT_TIMEOUT_MS": "1500",
    "SESSIONGRAPH_REQUEST_HEAD_TIMEOUT_MS": "1500",
    "SESSIONGRAPH_REQUEST_BODY_TIMEOUT_MS": "1500",
}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    allow_files(8192)
    with serving(tmp_path_factory.mktemp("hostile") / "data", environment=SETTINGS) as server:
        events = [
            {"type": "user/message", "data": {"content": [{"type": "text", "text": f"word {n}"}]}}
            for n in range(100)
        ]
        for number in range(20):
            server.ask(
                "mutation ($id: ID!) { createSession(input: { id: $id }) { session { id } } }",
                id=f"s{number}",
            )
            appended = server.ask(
                "mutation ($input: AppendEventsInput!) "
                "{ appendEvents(input: $input) { session { id } } }",
                input={"sessionId": f"s{number}", "events": events},
            )
            assert "errors" not in appended
        yield Target(server)


def nested(text: str, levels: int) -> str:
    for _ in range(levels):
        text = f"lineage {{ target {{ {text} }} }}"
    return f"{{ session(id: 1) {{ {text} }} }}"


_NODES = "nodes { target { referencedBy(first: 200) { "

REFUSED = {
    "a document of a megabyte": ("{ server { version } }" + " #\n" * 350_000, "BAD_USER_INPUT"),
    "a string of a megabyte": (
        f'{{ session(id: "{"a" * 1_000_000}") {{ id }} }}',
        "BAD_USER_INPUT",
    ),
    "a block string of many lines": (
        '{ session(id: """' + "\n a" * 300_000 + '""") { id } }',
        "BAD_USER_INPUT",
    ),
    "10,000 aliases": (
        "{ " + " ".join(f"a{n}: __typename" for n in range(10_000)) + " }",
        "BAD_USER_INPUT",
    ),
    "1,000 aliases": (
        "{ " + " ".join(f"a{n}: __typename" for n in range(1000)) + " }",
        "BAD_USER_INPUT",
    ),
    "deep nesting": (nested("id", 60), "BAD_USER_INPUT"),
    "deeper nesting": (nested("id", 400), "BAD_USER_INPUT"),
    "fragments in a circle": (
        "{ session(id: 1) { ...a } } fragment a on SessionRecord { lineage { target { ...b } } } "
        "fragment b on SessionRecord { lineage { target { ...a } } }",
        "BAD_USER_INPUT",
    ),
    "fragments that double": (
        "{ session(id: 1) { ...f0 } }"
        + "".join(
            f" fragment f{n} on SessionRecord {{ ...f{n + 1} ...f{n + 1} }}" for n in range(20)
        )
        + " fragment f20 on SessionRecord { id }",
        "COST_LIMIT_EXCEEDED",
    ),
    "first: 200 to the fifth power": (
        "{ session(id: 1) { referencedBy(first: 200) { "
        + _NODES * 4
        + "nodes { seq }"
        + " } } }" * 4
        + " } } }",
        "COST_LIMIT_EXCEEDED",
    ),
    "every session with all its events": (
        "{ sessions(first: 200) { nodes { events(first: 200) { "
        "nodes { id seq type time surface data } } } } }",
        "COST_LIMIT_EXCEEDED",
    ),
    "the schema 200 times": (
        "{ "
        + " ".join(f"a{n}: __schema {{ types {{ fields {{ name }} }} }}" for n in range(200))
        + " }",
        "COST_LIMIT_EXCEEDED",
    ),
    "the schema within the schema": (
        "{ __schema { types { " + "fields { type { " * 20 + "name" + " } }" * 20 + " } } }",
        "BAD_USER_INPUT",
    ),
    "one field 4,000 times": ("{ server { " + "version " * 4000 + "} }", "BAD_USER_INPUT"),
    "one field with arguments 400 times": (
        "{ " + "session(id: 1) { id } " * 400 + "}",
        "BAD_USER_INPUT",
    ),
    "a directive 10,000 times": (
        "{ __typename " + "@include(if: true) " * 10_000 + "}",
        "BAD_USER_INPUT",
    ),
    "a directive 600 times": (
        "{ __typename " + "@include(if: true) " * 600 + "}",
        "BAD_USER_INPUT",
    ),
    "an argument 1,000 times": ("{ session(" + "id: 1 " * 1000 + ") { id } }", "BAD_USER_INPUT"),
    "1,000 variables": (
        "query (" + " ".join(f"$v{n}: Int" for n in range(1000)) + ") { __typename }",
        "BAD_USER_INPUT",
    ),
    "600 operations": (
        " ".join(f"query q{n} {{ ...f }}" for n in range(600))
        + " fragment f on Query { __typename }",
        "BAD_USER_INPUT",
    ),
    "fields that nobody has": (
        "{ " + " ".join(f"sesion{n}" for n in range(4000)) + " }",
        "BAD_USER_INPUT",
    ),
    "a list within lists": (
        "{ session(id: " + "[" * 2000 + "]" * 2000 + ") { id } }",
        "BAD_USER_INPUT",
    ),
    "a huge integer": (
        "{ sessions(first: " + "9" * 50_000 + ") { nodes { id } } }",
        "BAD_USER_INPUT",
    ),
}


@pytest.mark.parametrize("attack", REFUSED)
def test_a_hostile_document_is_refused(target: Target, attack: str) -> None:
    query, code = REFUSED[attack]

    async def scenario() -> None:
        async with besieged(target, attack):
            codes = await asyncio.gather(*(target.code(query) for _ in range(TIMES)))
            assert set(codes) == {code}

    run(scenario())


def test_a_refusal_is_short_whatever_was_asked(target: Target) -> None:
    async def scenario() -> None:
        answer = await target.ask("{ " + " ".join(f"nothing{n}" for n in range(4000)) + " }")
        assert len(answer["errors"]) <= 21

    run(scenario())


BODIES = {
    "100,000 lists": (b'{"query":"{ __typename }","variables":{"x":' + b"[" * 100_000, 400),
    "100,000 closed lists": (
        b'{"query":"{ __typename }","variables":{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        400,
    ),
    "100,000 objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, 400),
    "millions of empty lists": (
        b'{"query":"{ __typename }","variables":{"x":[' + b"[]," * 2_600_000 + b"1]}}",
        400,
    ),
    "a key twice, deep inside": (
        b'{"query":"{ __typename }","variables":{"x":'
        + b'{"a":' * 200
        + b'{"b":1,"b":2}'
        + b"}" * 202,
        400,
    ),
    "a body that is too large": (b" " * (9 << 20), 413),
}


@pytest.mark.parametrize("attack", BODIES)
def test_a_hostile_body_is_refused(target: Target, attack: str) -> None:
    body, status = BODIES[attack]

    async def scenario() -> None:
        async with besieged(target, attack):
            answers = await asyncio.gather(*(target.post(body) for _ in range(TIMES)))
            statuses = {answer[0] for answer in answers}
            assert status in statuses
            assert statuses <= {status, 429}
            assert all(len(answer[2]) < 2000 for answer in answers)

    run(scenario())


def test_huge_values_in_variables_are_answered_like_small_ones(target: Target) -> None:
    async def scenario() -> None:
        by_id = "query ($id: ID!) { session(id: $id) { id } }"
        page = "query ($n: Int) { sessions(first: $n) { nodes { id } } }"
        async with besieged(target, "huge variables"):
            answer = await target.ask(by_id, id="x" * 4_000_000)
            assert answer["data"] == {"session": None}
            assert await target.code(page, n=10**3900) == "BAD_USER_INPUT"
            many = "query ($ids: [ID!]!) { observeSessions(ids: $ids) { __typename } }"
            ids = [str(n) for n in range(250_000)]
            assert await target.code(many, ids=ids) == "COST_LIMIT_EXCEEDED"
            text = "query ($q: String!) { searchSessions(query: $q) { nodes { session { id } } } }"
            assert await target.code(text, q="a " * 500_000) == "SESSION_QUERY_INVALID_QUERY"
            pattern = """query ($f: [EventFilter!]) {
                session(id: 1) { events(filters: $f) { nodes { seq } } } }"""
            answer = await target.ask(pattern, f=[{"text": "(a+)+$" * 1000}] * 50)
            assert answer["data"] == {"session": None}

    run(scenario())


def test_many_dear_operations_at_once_wait_for_each_other(target: Target) -> None:
    query = """query ($n: Int!) { sessions(first: 20) { nodes {
        events(first: $n) { nodes { id seq type time surface data sessionId ignorable } }
    } } }"""

    async def scenario() -> None:
        async with besieged(target, "dear operations"):
            asked = (target.ask(query, n=100) for _ in range(10 * TIMES))
            answers = await asyncio.gather(*asked)
            answered = [each for each in answers if "data" in each]
            assert len(answered) >= 10
            refused = [each["errors"][0]["extensions"] for each in answers if "data" not in each]
            assert all(each["retriable"] for each in refused)
            for answer in answered:
                assert len(answer["data"]["sessions"]["nodes"]) == 20
                assert answer["extensions"]["cost"]["estimated"] > 16_000

    run(scenario())


async def _subscribed(target: Target, sockets: int, each: int) -> tuple[list[Any], list[str]]:
    """Sockets with subscriptions on them, and with which codes others were refused."""
    found = [await (await target.websocket()).greeted() for _ in range(sockets)]
    codes: list[str] = []
    query = 'subscription { sessionEvents(sessionId: "s1", afterSeq: 99) { seq } }'
    for socket in found:
        socket.say(
            *({"type": "subscribe", "id": str(n), "payload": {"query": query}} for n in range(each))
        )
        socket.say({"type": "ping"})
        while (message := await socket.heard())["type"] != "pong":
            codes.append(message["payload"][0]["extensions"]["code"])
    return found, codes


def test_thousands_of_subscriptions(target: Target) -> None:
    async def scenario() -> None:
        each = 400
        async with besieged(target, f"{SUBSCRIPTIONS} subscriptions"):
            sockets, _ = await _subscribed(target, SUBSCRIPTIONS // each, each)
            last = sockets[-1]
            last.say({"type": "subscribe", "id": "q", "payload": {"query": "{ __typename }"}})
            while (message := await last.heard()).get("id") != "q" or message["type"] == "error":
                assert message["payload"][0]["extensions"]["code"] == "TOO_MANY_REQUESTS"
                assert "max_subscriptions" in message["payload"][0]["message"]
            assert message["payload"]["data"] == {"__typename": "Query"}
            for socket in sockets:
                socket.leave()

    run(scenario())


def test_too_many_operations_on_one_websocket_are_refused_and_the_others_go_on(
    target: Target,
) -> None:
    async def scenario() -> None:
        async with besieged(target, "subscriptions on one socket"):
            (socket,), codes = await _subscribed(target, 1, 700)
            assert codes == ["TOO_MANY_REQUESTS"] * 200
            socket.say({"type": "complete", "id": "0"}, {"type": "ping"})
            assert (await socket.heard())["type"] == "pong"
            append = """mutation { appendEvents(input: { sessionId: "s1", events: [
                { type: "x/y", data: {} }] }) { events { seq } } }"""
            answer = await target.ask(append)
            (event,) = answer["data"]["appendEvents"]["events"]
            heard = {(await socket.heard())["id"] for _ in range(499)}
            assert heard == {str(n) for n in range(1, 500)}
            assert event["seq"] == 100
            socket.leave()

    run(scenario())


def test_a_thousand_sockets_that_say_nothing_are_closed(target: Target) -> None:
    async def scenario() -> None:
        async with besieged(target, f"{IDLE} idle sockets"):
            sockets = [await target.websocket() for _ in range(IDLE)]
            assert {socket.status for socket in sockets} == {101}
            closed = await asyncio.gather(*(socket.heard() for socket in sockets))
            assert [message for message in closed if message != {"close": 4408}] == []
            for socket in sockets:
                socket.leave()

    run(scenario())


def test_connections_that_never_ask_are_closed(target: Target) -> None:
    async def scenario() -> None:
        async with besieged(target, f"{IDLE} silent connections"):
            connections = [await target.connect() for _ in range(IDLE)]
            for number, (_, writer) in enumerate(connections):
                if number % 2:
                    writer.write(target.head()[:-7])
            ends = await asyncio.gather(*(reader.read() for reader, _ in connections))
            assert set(ends) == {b""}
            for _, writer in connections:
                writer.transport.abort()

    run(scenario())


def test_a_head_that_comes_byte_by_byte_is_given_up(target: Target) -> None:
    async def scenario() -> None:
        reader, writer = await target.connect()
        ended = asyncio.create_task(reader.read())
        for octet in target.head("X-Padding: " + "x" * 10_000):
            if ended.done():
                break
            writer.write(bytes([octet]))
            await asyncio.sleep(0.02)
        # What was under way when the server gave up makes the system reset the connection.
        with suppress(ConnectionResetError):
            assert await ended == b""
        writer.transport.abort()

    run(scenario())


def test_a_head_that_does_not_end_is_refused(target: Target) -> None:
    async def scenario() -> None:
        reader, writer = await target.connect()
        answer = asyncio.create_task(read_answer(reader))
        # All of it is under way before the answer is read: what comes after the refusal must not
        # make the system reset the connection, and take the answer away.
        writer.write(target.head()[:-2] + (b"X-Padding: " + b"x" * 2000 + b"\r\n") * 256)
        status, _, text = await answer
        assert status == 431
        assert json.loads(text)["errors"][0]["extensions"]["code"] == "BAD_USER_INPUT"
        assert await reader.read() == b""
        writer.transport.abort()

    run(scenario())


def test_a_head_that_goes_on_after_its_refusal_is_cut_off(target: Target) -> None:
    async def scenario() -> None:
        reader, writer = await target.connect()
        writer.write(target.head()[:-2] + b"X-Padding: " + b"x" * (64 << 20))
        with suppress(ConnectionError):
            await reader.read()
        with pytest.raises(ConnectionError):
            await writer.drain()

    run(scenario())


def test_bodies_that_come_slowly_are_refused(target: Target) -> None:
    async def scenario() -> None:
        async with besieged(target, "slow writers"):
            connections = [await target.connect() for _ in range(50)]
            head = target.head("Content-Type: application/json", "Content-Length: 8000000")
            for _, writer in connections:
                writer.write(head + b'{"query":"' + b"x" * 1_900_000)
            statuses: dict[int, int] = {}
            for reader, writer in connections:
                line = await reader.readline()
                status = int(line.split()[1]) if line else 0
                statuses[status] = statuses.get(status, 0) + 1
                writer.transport.abort()
            assert set(statuses) <= {408, 429, 0}
            assert statuses[408] > 0
            assert statuses[429] > 0

    run(scenario())


def test_messages_that_are_never_finished_are_not_kept_without_bound(target: Target) -> None:
    async def scenario() -> None:
        async with besieged(target, "unfinished messages"):
            sockets = [await target.websocket() for _ in range(30)]
            for socket in sockets:
                socket.writer.write(frame(b"x" * 4_000_000, said=8_000_000))
            closed = await asyncio.gather(*(socket.heard() for socket in sockets))
            codes = {message.get("close") for message in closed}
            assert 1013 in codes
            assert codes <= {1013, 4408, None}
            for socket in sockets:
                socket.leave()

    run(scenario())


def test_a_frame_that_is_too_large_closes_its_socket(target: Target) -> None:
    async def scenario() -> None:
        socket = await (await target.websocket()).greeted()
        socket.writer.write(frame(b"", said=9 << 20))
        assert await socket.heard() == {"close": 1009}
        socket.leave()

    run(scenario())


def test_a_deep_message_closes_its_socket(target: Target) -> None:
    async def scenario() -> None:
        async with besieged(target, "deep messages"):
            socket = await (await target.websocket()).greeted()
            socket.writer.write(frame(b"[" * 100_000))
            assert await socket.heard() == {"close": 4400}
            socket.leave()

    run(scenario())


def test_a_deep_payload_is_kept_and_read_or_refused(target: Target) -> None:
    async def scenario() -> None:
        append = (
            "mutation ($input: AppendEventsInput!) "
            "{ appendEvents(input: $input) { events { data } } }"
        )
        for levels, kept in ((900, True), (100_000, False)):
            data = '{"a":' + "[" * levels + "]" * levels + "}"
            request = {
                "query": append,
                "variables": {
                    "input": {"sessionId": "s2", "events": [{"type": "x/y", "data": "@"}]}
                },
            }
            body = json.dumps(request).replace('"@"', data).encode()
            status, _, text = await target.post(body)
            assert status == (200 if kept else 400)
            assert (data.encode() in text) is kept

    run(scenario())


def test_clients_that_read_nothing_hold_little(target: Target) -> None:
    query = """{ sessions(first: 20) { nodes {
        events(first: 100) { nodes { id seq type time surface data sessionId } } } } }"""

    async def scenario() -> None:
        async with besieged(target, "slow readers"):
            sockets = [await (await target.websocket()).greeted() for _ in range(5 * TIMES)]
            for socket in sockets:
                socket.writer.transport.pause_reading()  # type: ignore[attr-defined]
                socket.say(
                    *(
                        {"type": "subscribe", "id": str(n), "payload": {"query": query}}
                        for n in range(10)
                    )
                )
            await asyncio.sleep(1)
            for socket in sockets:
                socket.leave()

    run(scenario())


def test_nothing_of_it_all_is_left(target: Target) -> None:
    async def scenario() -> None:
        answer = await target.ask("{ server { sessions } }")
        assert answer["data"]["server"]["sessions"] == 20
        # The connections were hundreds; what the store opened at the busiest moment stays.
        while target.files > 100:  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.05)

    run(scenario())
