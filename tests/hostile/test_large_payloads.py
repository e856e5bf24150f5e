"""Payloads of a megabyte: no allowed operation, nor all of them together, take gigabytes.

Each scenario ends by looking at the most memory that the server held (:func:`besieged`).
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.crowd import Target, besieged, run
from tests.server.processes import serving

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the system does not say how much memory is held"
)

EVENTS = 60
MEGABYTE = 1_000_000
SETTINGS = {
    "SESSIONGRAPH_MAX_ANSWER_BYTES": str(24 << 20),
    "SESSIONGRAPH_MAX_RUNNING_BYTES": str(64 << 20),
}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with serving(tmp_path_factory.mktemp("large") / "data", environment=SETTINGS) as server:
        server.ask('mutation { createSession(input: { id: "large" }) { session { id } } }')
        text = base64.b64encode(random.Random(1).randbytes(MEGABYTE * 3 // 4)).decode()
        block = {"type": "text", "text": text}
        message = {"id": "m", "role": "user", "source": {"kind": "user"}, "content": [block]}
        events = [{"type": "user/message", "data": message}] * 6
        for _ in range(EVENTS // len(events)):
            appended = server.ask(
                "mutation ($input: AppendEventsInput!) "
                "{ appendEvents(input: $input) { events { seq } } }",
                input={"sessionId": "large", "events": events},
            )
            assert "errors" not in appended
        yield Target(server)


def codes_of(answer: dict[str, Any]) -> set[str]:
    return {error["extensions"]["code"] for error in answer.get("errors", ())}


PAGES = 'query ($n: Int!) { session(id: "large") { events(first: $n) { nodes { SHOWN } } } }'
SEVERAL = "{ " + " ".join(f'a{n}: session(id: "large") {{ ...f }}' for n in range(50)) + " } "
TOO_MUCH = {
    "a page": PAGES.replace("SHOWN", "data").replace("$n)", "60)").replace("($n: Int!)", ""),
    "a page of which nothing large is shown": PAGES.replace("SHOWN", "seq replacedBy"),
    "the same page fifty times": SEVERAL
    + "fragment f on SessionRecord { events(first: 10) { nodes { seq ignorable } } }",
    "one payload a hundred times": PAGES.replace(
        "SHOWN", " ".join(f"a{n}: data" for n in range(100))
    ),
    "one text a hundred times": PAGES.replace(
        "SHOWN", "... on UserMessageEvent { " + " ".join(f"a{n}: text" for n in range(100)) + " }"
    ),
    "one block a hundred times": PAGES.replace(
        "SHOWN",
        "... on UserMessageEvent { content { "
        + " ".join(f"a{n}: data b{n}: text" for n in range(50))
        + " } }",
    ),
}


@pytest.mark.parametrize("attack", TOO_MUCH)
def test_what_would_take_too_much_is_refused(target: Target, attack: str) -> None:
    few = 60 if "page" in attack else 1

    async def scenario() -> None:
        async with besieged(target, attack):
            answers = await asyncio.gather(*(target.ask(TOO_MUCH[attack], n=few) for _ in range(2)))
        codes = Counter(code for answer in answers for code in codes_of(answer))
        assert set(codes) <= {"COST_LIMIT_EXCEEDED", "TOO_MANY_REQUESTS"}, codes
        assert codes["COST_LIMIT_EXCEEDED"] > 0
        assert all(len(json.dumps(answer)) < 25 << 20 for answer in answers)
        assert all("errors" in answer for answer in answers)

    run(scenario())


def test_envelopes_of_large_events_take_nothing(target: Target) -> None:
    async def scenario() -> None:
        async with besieged(target, "envelopes of large events"):
            asked = [target.ask(PAGES.replace("SHOWN", "seq type"), n=EVENTS) for _ in range(20)]
            for answer in await asyncio.gather(*asked):
                nodes = answer["data"]["session"]["events"]["nodes"]
                assert [node["seq"] for node in nodes] == list(range(EVENTS))

    run(scenario())


def test_what_fits_is_answered_whole_and_can_be_asked_for_ever(target: Target) -> None:
    async def scenario() -> None:
        for _ in range(8):
            answer = await target.ask(PAGES.replace("SHOWN", "seq data"), n=8)
            nodes = answer["data"]["session"]["events"]["nodes"]
            assert [node["seq"] for node in nodes] == list(range(8))
            assert all(len(node["data"]["content"][0]["text"]) == MEGABYTE for node in nodes)

    run(scenario())


def test_answers_that_nobody_takes_hold_no_more_than_they_may(target: Target) -> None:
    """Each fits by itself; what cannot be sent yet is held, and what would be too much is not."""
    payload: dict[str, Any] = {"query": PAGES.replace("SHOWN", "data"), "variables": {"n": 8}}

    async def scenario() -> None:
        async with besieged(target, "large answers that nobody takes"):
            socket = await (await target.websocket()).greeted()
            transport = socket.writer.transport
            transport.pause_reading()  # type: ignore[attr-defined]
            subscribe = [{"type": "subscribe", "id": str(n), "payload": payload} for n in range(20)]
            socket.say(*subscribe)
            # A query by somebody else is refused once the others hold all that there is.
            while "errors" not in await target.ask(payload["query"], n=8):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            transport.resume_reading()  # type: ignore[attr-defined]
            answers: list[dict[str, Any]] = []
            while len(answers) < len(subscribe):
                message = await socket.heard()
                answers += [message["payload"]] if message["type"] == "next" else []
            socket.leave()
        codes = Counter(code for answer in answers for code in codes_of(answer))
        assert set(codes) == {"TOO_MANY_REQUESTS"}
        whole = [answer for answer in answers if "errors" not in answer]
        assert len(whole) >= 2
        assert all(len(each["data"]["session"]["events"]["nodes"]) == 8 for each in whole)
        assert "errors" not in await target.ask(payload["query"], n=8)

    run(scenario())


def test_a_text_is_found_among_payloads_that_do_not_fit_together(target: Target) -> None:
    append = """mutation { postMessage(input: { sessionId: "large", text: "the needle" }) {
        session { id } } }"""
    find = """{ session(id: "large") { documents(filters: [{ text: "needle" }]) {
        nodes { seq } } } }"""

    async def scenario() -> None:
        assert "errors" not in await target.ask(append)
        async with besieged(target, "a scan"):
            answer = await target.ask(find)
        assert "errors" not in answer, answer
        assert answer["data"]["session"]["documents"]["nodes"] == [{"seq": EVENTS}]

    run(scenario())
