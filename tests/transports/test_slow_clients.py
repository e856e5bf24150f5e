"""Clients that read slowly or not at all: they wait alone, cost nothing, and miss nothing."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.transports.clients import (
    events,
    greeted,
    heard,
    raw_stream,
    say,
    subscribe,
)
from tests.transports.stage import Stage, run, staged, until

QUERY = "subscription { entries { number text } }"
TEXT = "x" * 60_000
MANY = 500
"""So many such texts are several times what sockets hold between a server and a client."""


def numbers_of(stage: Stage) -> list[int]:
    return list(range(len(stage.world.log.entries)))


def test_a_websocket_that_is_not_read_holds_up_nobody_and_gets_everything_later() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as slow, greeted(stage) as quick:
            slow.transport.pause_reading()
            await subscribe(slow, "1", QUERY)
            await until(lambda: stage.world.log.followers == 1)
            await subscribe(quick, "1", QUERY)
            await until(lambda: stage.world.log.followers == 2)
            seen = []
            for _ in range(MANY):
                stage.world.log.append(TEXT)
                seen.append((await heard(quick))["payload"]["data"]["entries"]["number"])
            assert seen == numbers_of(stage)
            taken_by_slow, taken_by_quick = stage.world.log.given
            assert (taken_by_slow < MANY * 0.8, taken_by_quick) == (True, MANY)
            slow.transport.resume_reading()
            late = [await heard(slow) for _ in range(MANY)]
            assert [each["payload"]["data"]["entries"]["number"] for each in late] == seen

    run(scenario())


def test_a_stream_of_events_that_is_not_read_holds_up_nobody_and_gets_everything_later() -> None:
    async def scenario() -> None:
        query = {"query": QUERY}
        async with (
            staged() as stage,
            raw_stream(stage, query) as (reader, writer),
            events(stage, query) as quick,
        ):
            writer.transport.pause_reading()
            await until(lambda: stage.world.log.followers == 2)
            for _ in range(MANY):
                stage.world.log.append(TEXT)
                await anext(quick)
            assert min(stage.world.log.given) < MANY * 0.8
            writer.transport.resume_reading()
            seen = []
            while len(seen) < MANY:
                line = await reader.readline()
                if line.startswith(b"data: "):
                    answer = json.loads(line.removeprefix(b"data: "))
                    seen.append(answer["data"]["entries"]["number"])
            assert seen == numbers_of(stage)

    run(scenario())


def test_all_operations_of_a_slow_client_wait_together_and_take_turns_afterwards() -> None:
    async def scenario() -> None:
        operations = [f"s{number}" for number in range(5)]
        async with staged() as stage, greeted(stage) as slow:
            slow.transport.pause_reading()
            for operation_id in operations:
                await subscribe(slow, operation_id, QUERY)
            await until(lambda: stage.world.log.followers == len(operations))
            stage.world.log.append(*[TEXT] * MANY)
            # Once nobody moves any more, what was taken fits between the server and the client.
            before = None
            while before != stage.world.log.given:
                before = list(stage.world.log.given)
                await asyncio.sleep(0.05)
            assert sum(before) < MANY
            stage.world.log.end()
            slow.transport.resume_reading()
            seen: dict[str, list[int]] = {operation_id: [] for operation_id in operations}
            complete = 0
            while complete < len(operations):
                message = await heard(slow)
                if message["type"] == "complete":
                    complete += 1
                else:
                    number = message["payload"]["data"]["entries"]["number"]
                    seen[message["id"]].append(number)
            assert all(numbers == numbers_of(stage) for numbers in seen.values())

    run(scenario())


def test_a_slow_client_can_complete_an_operation_that_waits_for_it() -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as slow:
            slow.transport.pause_reading()
            await subscribe(slow, "1", QUERY)
            await until(lambda: stage.world.log.followers == 1)
            stage.world.log.append(*[TEXT] * MANY)
            await until(lambda: stage.world.log.given[0] > 1)
            await say(slow, type="complete", id="1")
            await until(lambda: stage.world.log.followers == 0)
            assert stage.world.log.given[0] < MANY
            slow.transport.abort()

    run(scenario())


@pytest.mark.parametrize("shared", [True, False], ids=["shared frames", "frames of its own"])
def test_frames_are_not_piled_up_for_a_client_that_does_not_read(shared: bool) -> None:
    async def scenario() -> None:
        async with staged() as stage, greeted(stage) as slow, greeted(stage) as other:
            slow.transport.pause_reading()
            await subscribe(slow, "1", QUERY)
            await subscribe(other, "1", QUERY)
            await until(lambda: stage.world.log.followers == 2)
            for _ in range(MANY):
                stage.world.log.append(TEXT, shared=shared)
                await heard(other)
                assert stage.frames.kept_bytes <= 16 * 1024 * 1024
            slow.transport.abort()

    run(scenario())
