"""A corpus to search: words as often as words are, some Chinese, and questions about them.

The same texts on every run. One document in five is Chinese. How often a word comes falls with its
rank, as in any language; names in camel case and paths are among the words. ``needle7`` is in forty
documents, however many there are.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.conversations import BEGINNING_MS
from benchmarks.stores import create_session, many_at_once, opened, write_session
from sessiongraph.event import APPEND, SessionEvent
from sessiongraph.filters import ALL_SESSIONS, SessionSelection
from sessiongraph.header import SessionHeader
from sessiongraph.lossless import encode

_WORDS: Final = 30_000
_WORDS_EACH: Final = 70
_CHARACTERS_EACH: Final = 120
_IN_CHINESE: Final = 5
_RARE: Final = 40
_PROJECTS: Final = 10
_SHORT: Final = 200
_EVENT_GAP_MS: Final = 1000
_SESSION_GAP_MS: Final = 60_000

PROJECT: Final = "/home/dev/project-3"
QUESTIONS: Final = {
    "rare": "needle7",
    "common": "w00000",
    "two words": "w00002 w00031",
    "Chinese": "缓存",
}
"""What is asked; the common word is in nearly every document that is not Chinese."""

IN_ONE_PROJECT: Final[SessionSelection] = ALL_SESSIONS.narrowed(cwds=[PROJECT])


def texts(count: int) -> Iterator[str]:
    """The texts of so many documents."""
    dice = random.Random(7)
    vocabulary = [_word(number) for number in range(_WORDS)]
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(_WORDS)))
    characters = [chr(0x4E00 + 7 * number) for number in range(2500)]
    falling = list(itertools.accumulate(1 / (rank + 8) for rank in range(2500)))
    rare_every = max(1, count // _RARE)
    for number in range(count):
        if number % _IN_CHINESE == 0:
            drawn = dice.choices(characters, cum_weights=falling, k=_CHARACTERS_EACH)
            at = dice.randrange(_CHARACTERS_EACH)
            known = "缓存" if number % (20 * _IN_CHINESE) == 0 else ""
            text = f"{''.join(drawn[:at])}{known}，{''.join(drawn[at:])}。"
        else:
            text = " ".join(dice.choices(vocabulary, cum_weights=weights, k=_WORDS_EACH))
        if number % rare_every == rare_every - 1:
            text += " needle7"
        yield text


def _word(number: int) -> str:
    if number % 97 == 96:
        return f"restoreFloor{number}"
    return f"src/w{number:05}.py" if number % 101 == 100 else f"w{number:05}"


def headers(sessions: int) -> Iterator[SessionHeader]:
    """Sessions over ten projects."""
    dice = random.Random(11)
    for number in range(sessions):
        project = dice.randrange(_PROJECTS)
        yield SessionHeader(
            4,
            f"session-{number:06}",
            BEGINNING_MS + number * _SESSION_GAP_MS,
            cwd=f"/home/dev/project-{project}",
        )


def message(seq: int, time: int, text: str) -> SessionEvent:
    """A prompt that says a text."""
    data = {
        "id": "m",
        "role": "user",
        "source": {"kind": "user"},
        "content": [{"type": "text", "text": text}],
    }
    return SessionEvent(seq, "user/message", time, encode(data), APPEND)


def build_searched(path: Path, documents: int, sessions: int) -> None:
    """A store in which every event is a document."""
    each = documents // sessions
    said = texts(documents)

    def log(number: int) -> list[SessionEvent]:
        begun = BEGINNING_MS + number * _SESSION_GAP_MS
        return [
            message(seq, begun + seq * _EVENT_GAP_MS, text)
            for seq, text in enumerate(itertools.islice(said, each))
        ]

    async def build() -> None:
        async with opened(path) as store:
            numbered = enumerate(headers(sessions))
            if each > _SHORT:
                for number, header in numbered:
                    await write_session(store, header, log(number))
            else:
                await many_at_once(
                    create_session(store, header, log(number)) for number, header in numbered
                )

    asyncio.run(build())
