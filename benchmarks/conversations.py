"""What the measured sessions say: the same conversations on every run, entry by entry.

An agent and a person work on code, in English, Chinese and source text mixed. Every turn is a
prompt, a model call, a tool call with its result; sometimes a list of things to do. Compactions
replace what is old by a summary and keep the newest fifty nodes, so a long log has long replacement
chains. With ``streamed`` the answers have their deltas before them, as packed runs. Times advance
by milliseconds and now and then step back, as recorded clocks do.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import msgspec

from sessiongraph.event import APPEND, DeltaKind, DeltaRun, Entry, SessionEvent, SurfaceOp

BEGINNING_MS: Final = 1_780_000_000_000

_ENGLISH: Final = (
    "the retry ledger keeps a checkpoint for every durable write and folds them when "
    "it starts again so that nothing which was acknowledged can be lost after a crash; look at "
    "how the surface is rebuilt and why the second replacement took so long on large sessions"
)
_CHINESE: Final = (
    "连接 超时 之后 数据库 迁移 需要 重新 检查 会话 日志 里 的 每个 事件 都 有 序号 压缩 摘要 "
    "替换 旧 消息 并且 保留 引用 这样 就 可以 追踪 为什么 这次 调用 失败 了 请 修复 测试"
)
_CODE: Final = (
    "def restore_floor(self, seq: int) -> Placement:",
    "    return self._positions[bisect_left(self._positions, seq)]",
    "for (const event of session.events) { await store.append(event); }",
    "SELECT id, lane FROM events WHERE id BETWEEN ? AND ? ORDER BY id;",
    "raise StaleCursor(f'{session_id!r} is at {epoch}')  # SESSION_QUERY_STALE_CURSOR",
    "    assert result.exit_code == 0, result.stderr[-2000:]",
    "diff --git a/src/ledger/retry.py b/src/ledger/retry.py",
    "+    delay = min(cap, base * 2 ** attempt) + random.uniform(0, jitter)",
)
_POOL: Final = 30_000
_DELTAS: Final = 240
_encode: Final = msgspec.json.encode


@dataclass(frozen=True, slots=True)
class Habits:
    """How a session is recorded.

    streamed: deltas before every answer, in runs. compact_every: turns between two compactions.
    kept: current nodes that a compaction leaves alone. result_bytes: of a tool's output.
    """

    streamed: bool = False
    compact_every: int = 50
    kept: int = 50
    result_bytes: int = 600


class Conversation:
    """The log of one session, from its first entry on; endless."""

    def __init__(self, seed: int, habits: Habits | None = None) -> None:
        self._random = random.Random(seed)
        self._habits = habits or Habits()
        self._seq = 0
        self._time = BEGINNING_MS + self._random.randrange(10_000_000)
        self._turn = 0
        self._surface: list[int] = []

    def entries(self, events: int) -> Iterator[Entry]:
        """Whole turns until there are at least ``events`` events."""
        while self._seq < events:
            yield from self._take_turn()
            if self._turn % self._habits.compact_every == 0:
                yield from self._compact()

    def _take_turn(self) -> Iterator[Entry]:
        self._turn += 1
        turn = {"turn": self._turn}
        step = {"turn": self._turn, "step": 1}
        yield self._event("turn/start", turn)
        yield self._event("step/start", step)
        prompt = self._message("user", self._prose(24), {"kind": "user"})
        yield self._on_surface("user/message", prompt)
        cited: tuple[int, ...] | None = None
        if self._habits.streamed:
            runs = [self._run(DeltaKind.REASONING, _DELTAS // 3), self._run(DeltaKind.TEXT)]
            yield from runs
            cited = tuple(range(runs[0].seq, runs[-1].last_seq + 1))
        call = {"id": f"call-{self._seq}", "name": "bash"}
        arguments = _encode({"command": self._say("code", 1)}).decode()
        content = [
            {"type": "reasoning", "text": self._prose(20)},
            {"type": "text", "text": self._prose(50)},
            {"type": "tool-call", **call, "arguments": arguments},
        ]
        source = {"kind": "model", "provider": "example", "model": "example-1"}
        answer = {**self._message("assistant", "", source), "content": content}
        usage = {"inputTokens": 900 + self._turn, "outputTokens": 120}
        yield self._on_surface(
            "assistant/message", {**step, "message": answer, "usage": usage}, cited
        )
        asked = {**step, "callId": call["id"], "name": "bash", "arguments": arguments}
        called = self._event("tool/call", asked)
        yield called
        yield self._on_surface("tool/result", self._result(step, call["id"]), (called.seq,))
        if self._turn % 5 == 0:
            todos = [{"content": self._prose(6), "status": "pending"} for _ in range(4)]
            yield self._event("todo/write", {"todos": todos})
        if self._turn % 50 == 1:
            named = {"title": self._prose(6), "messageSeqs": [self._surface[-1]]}
            yield self._event("session/title", {**named, "source": {"kind": "fallback"}})
        yield self._event("step/end", step)
        yield self._event("turn/end", {**turn, "reason": {"kind": "completed"}})

    def _compact(self) -> Iterator[Entry]:
        old, kept = self._surface[: -self._habits.kept], self._surface[-self._habits.kept :]
        if not old:
            return
        marker = {"compactionId": f"compaction-{self._seq}", "turn": None}
        begun = self._event("compaction/start", marker)
        yield begun
        source = {"kind": "plugin", "plugin": "compact"}
        summary = self._message("user", self._prose(120), source)
        op = SurfaceOp(old[0], old[-1])
        event = self._event("user/message", summary, op, (begun.seq, *old))
        yield event
        yield self._event("compaction/end", marker)
        self._surface = [event.seq, *kept]

    def _result(self, step: dict[str, int], call_id: str) -> dict[str, Any]:
        lines = max(1, self._habits.result_bytes // 60)
        block = {"type": "text", "text": self._say("code", lines)}
        result = {"type": "tool-result", "toolCallId": call_id, "content": [block]}
        message = self._message("user", "", {"kind": "tool", "callId": call_id})
        return {**step, "message": {**message, "content": [{**result, "isError": False}]}}

    def _run(self, kind: DeltaKind, members: int = _DELTAS) -> DeltaRun:
        texts = self._slice("en" if self._turn % 3 else "zh", members)
        gaps = self._random.choices((0, 1, 2, 3, 7, 20), k=members - 1)
        run = DeltaRun(kind, self._seq, self._now(), self._turn, 1, 0, gaps, texts)
        self._seq += members
        self._time += sum(gaps)
        return run

    def _on_surface(
        self, name: str, data: dict[str, Any], cited: tuple[int, ...] | None = None
    ) -> SessionEvent:
        event = self._event(name, data, APPEND, cited)
        self._surface.append(event.seq)
        return event

    def _event(
        self,
        name: str,
        data: dict[str, Any],
        op: SurfaceOp | None = None,
        cited: tuple[int, ...] | None = None,
    ) -> SessionEvent:
        event = SessionEvent(self._seq, name, self._now(), _encode(data), op, cited)
        self._seq += 1
        return event

    def _now(self) -> int:
        self._time += self._random.randrange(1, 40)
        return self._time - (50 if self._random.random() < 0.01 else 0)

    def _message(self, role: str, text: str, source: dict[str, str]) -> dict[str, Any]:
        content = [{"type": "text", "text": text}]
        return {"id": f"m-{self._seq}", "role": role, "source": source, "content": content}

    def _prose(self, words: int) -> str:
        return self._say("en" if self._turn % 3 else "zh", words)

    def _say(self, language: str, amount: int) -> str:
        between = {"en": " ", "zh": "", "code": "\n"}[language]
        return between.join(self._slice(language, amount))

    def _slice(self, language: str, amount: int) -> list[str]:
        start = self._random.randrange(_POOL - amount)
        return _words_of(language)[start : start + amount]


@cache
def _words_of(language: str) -> list[str]:
    said = {"en": _ENGLISH.split(), "zh": _CHINESE.split(), "code": _CODE}[language]
    return random.Random(language).choices(said, k=_POOL)
