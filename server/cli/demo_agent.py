"""The live agent of the demo: it works on one story after the other, so that subscriptions move.

It writes as an agent's recorder would, through the same service as every client: what a turn stands
on is durable, the pieces of a streamed answer are only accepted. Its sessions are of generation 1,
which logs every piece of a stream as an event of its own. Anybody may write to its sessions, close
or delete them; then it leaves the story and begins the next one.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections import deque
from typing import Any, Final

from server.cli.demo_stories import STORIES, Call, Step, Story, Turn
from sessiongraph.errors import LogConflict, SessionGraphError
from sessiongraph.event import Seq
from sessiongraph.live_sessions import Durability
from sessiongraph.new_event import NewEvent
from sessiongraph.new_session import NewSession
from sessiongraph.writing import SessionWriting

_KEPT: Final = 24
"""Sessions of the agent that are kept; older ones are deleted."""

_MODEL: Final = {"provider": "deepseek-official", "model": "deepseek-flash"}
_PIECE: Final = re.compile(r"\S{1,9}\s*|\s+")


class DemoAgent:
    """An agent that works for as long as it is let.

    pace: how long it takes for everything; 0 is at once.
    """

    def __init__(self, writing: SessionWriting, *, pace: float = 1.0) -> None:
        self._writing = writing
        self._pace = pace
        self._numbers = itertools.count(1)
        self._messages = itertools.count(1)
        self._made: deque[str] = deque()

    async def begin(self) -> str:
        """A session for the next story; answers its id."""
        while True:
            session_id = f"live-{next(self._numbers)}"
            new = NewSession(
                session_id=session_id, version=1, cwd="/home/mei/harbor", agent_preset="demo"
            )
            try:
                await self._writing.create(new, Durability.DURABLE)
            except LogConflict:
                continue  # left by an earlier demo in the same directory
            self._made.append(session_id)
            return session_id

    async def work_until(self, asked_to_stop: asyncio.Event, session_id: str) -> None:
        """Work, beginning in this session, until the event is set."""
        working = asyncio.create_task(self.work(session_id))
        stopping = asyncio.create_task(asked_to_stop.wait())
        try:
            await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
        finally:
            for task in (working, stopping):
                task.cancel()
            await asyncio.wait({working, stopping})

    async def work(self, session_id: str) -> None:
        """Tell the stories one after the other, the first in this session; never ends."""
        for story in itertools.cycle(STORIES):
            try:
                await self.tell(story, session_id)
                await self._pause(8)
                await self._writing.close(session_id)
                await self._tidy_up()
            except SessionGraphError:
                await self._pause(2)  # somebody took the session away, or the disk is full
            session_id = await self.begin()

    async def tell(self, story: Story, session_id: str) -> None:
        """Work through one story.

        Raises:
            SessionGraphError: the session does not take what is written any more.
        """
        for number, turn in enumerate(story.turns, start=1):
            await self._pause(2)
            prompt_seq = await self._prompt(session_id, number, turn)
            if number == 1:
                title = {
                    "title": story.title,
                    "messageSeqs": [prompt_seq],
                    "source": {"kind": "provider", "provider": "demo"},
                }
                await self._log(session_id, ("session/title", title))
            for step_number, step in enumerate(turn.steps, start=1):
                await self._step(session_id, {"turn": number, "step": step_number}, step)
            end = {"turn": number, "reason": {"kind": "completed"}}
            await self._log(session_id, ("turn/end", end))

    async def _prompt(self, session_id: str, number: int, turn: Turn) -> Seq:
        """A turn begins with what a person asks; answers the seq of that."""
        message = {
            "id": self._message_id(session_id),
            "role": "user",
            "source": {"kind": "user"},
            "content": [{"type": "text", "text": turn.prompt}],
        }
        seqs = await self._log(
            session_id, ("turn/start", {"turn": number}), ("user/message", message)
        )
        if turn.todos:
            todos = [{"content": content, "status": status} for content, status in turn.todos]
            await self._log(session_id, ("todo/write", {"todos": todos}))
        return seqs[-1]

    async def _step(self, session_id: str, place: dict[str, Any], step: Step) -> None:
        """The model says something, piece by piece, and perhaps calls a tool."""
        await self._log(session_id, ("step/start", place))
        await self._pause(0.8)
        pieces: list[Seq] = []
        for piece in _PIECE.findall(step.text):
            chunk = {"type": "text-delta", "index": 0, "text": piece}
            event = NewEvent.of("assistant/chunk", {**place, "chunk": chunk})
            (appended,) = await self._writing.append(session_id, [event], None, Durability.ACCEPTED)
            pieces.append(appended.seq)
            await self._pause(0.06)
        call_id = f"call-{self._message_id(session_id)}"
        content: list[dict[str, Any]] = [{"type": "text", "text": step.text}]
        if step.call is not None:
            name, arguments = step.call.name, step.call.arguments
            content.append(
                {"type": "tool-call", "id": call_id, "name": name, "arguments": arguments}
            )
        message = {
            "id": self._message_id(session_id),
            "role": "assistant",
            "content": content,
            "source": {"kind": "model", **_MODEL},
        }
        usage = {
            "inputTokens": 400 + 30 * len(pieces),
            "outputTokens": 2 * len(pieces),
            "cacheReadTokens": 256,
        }
        said = NewEvent.of(
            "assistant/message",
            {**place, "message": message, "usage": usage},
            source_event_seqs=tuple(pieces),
        )
        await self._writing.append(session_id, [said], None, Durability.DURABLE)
        if step.call is not None:
            await self._call(session_id, place, call_id, step.call)
        await self._log(session_id, ("step/end", place))
        await self._pause(0.5)

    async def _call(self, session_id: str, place: dict[str, Any], call_id: str, call: Call) -> None:
        """A tool is called, and answers after a while."""
        called = {**place, "callId": call_id, "name": call.name, "arguments": call.arguments}
        (call_seq,) = await self._log(session_id, ("tool/call", called))
        await self._pause(1.2)
        result = {
            "type": "tool-result",
            "toolCallId": call_id,
            "content": [{"type": "text", "text": call.answer}],
            "isError": call.is_error,
        }
        message = {
            "id": self._message_id(session_id),
            "role": "user",
            "source": {"kind": "tool", "callId": call_id},
            "content": [result],
        }
        answered = NewEvent.of(
            "tool/result", {**place, "message": message}, source_event_seqs=(call_seq,)
        )
        await self._writing.append(session_id, [answered], None, Durability.DURABLE)

    async def _log(self, session_id: str, *events: tuple[str, dict[str, Any]]) -> list[Seq]:
        """Append durably, all together; answers the seqs."""
        new = [NewEvent.of(event_type, data) for event_type, data in events]
        appended = await self._writing.append(session_id, new, None, Durability.DURABLE)
        return [event.seq for event in appended]

    async def _tidy_up(self) -> None:
        while len(self._made) > _KEPT:
            await self._writing.delete(self._made.popleft())

    def _message_id(self, session_id: str) -> str:
        return f"{session_id}-{next(self._messages)}"

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds * self._pace)
