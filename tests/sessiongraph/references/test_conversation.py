"""What is carried from a surface: what people and assistants said, and checkpoints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given

from sessiongraph.carried import Role
from sessiongraph.event import Entry, PlacedEvent
from sessiongraph.references.conversation import Said, messages_of, said_in
from tests.plain_store import PlainLogStore, run
from tests.sessiongraph.references.corpora import observing, plain_said, put, store_of, talk
from tests.strategies import Json, header, logs, message, prompt, user_message, wrapped_result


async def walk(store: PlainLogStore, session_id: str = "s") -> list[list[PlacedEvent]]:
    async with observing(store) as observation:
        session = (await observation.find([session_id]))[session_id]
        return [page async for page in messages_of(session.log)]


def carried(log: Sequence[Entry]) -> list[Said]:
    """What is carried from a log, in model order."""
    pages = run(walk(store_of((header("s"), log))))
    found = [said_in(placed) for page in pages for placed in page]
    return sorted((said for said in found if said is not None), key=lambda said: said.position)


def one(event_type: str, data: Json) -> Said | None:
    found = carried([message(0, event_type, data)])
    return found[0] if found else None


TEXT: list[Json] = [{"type": "text", "text": "words"}]
MIXED: list[Json] = [
    {"type": "reasoning", "text": "hidden"},
    {"type": "text", "text": "first"},
    {"type": "image", "source": {"kind": "inline", "data": "AAAA"}},
    {"type": "tool-call", "id": "c", "name": "bash", "arguments": "{}"},
    {"type": "text", "text": "second"},
]


def by(source: Any, content: list[Json]) -> Json:
    return {"id": "m", "role": "user", "source": source, "content": content}


def said_by_assistant(content: list[Json]) -> Json:
    return {"turn": 1, "step": 1, "message": {"id": "a", "role": "assistant", "content": content}}


@pytest.mark.parametrize(
    ("event_type", "data", "expected"),
    [
        ("user/message", by({"kind": "user"}, TEXT), ("user", "words", False)),
        ("user/message", by({"kind": "user"}, MIXED), ("user", "first\nsecond", False)),
        ("assistant/message", said_by_assistant(MIXED), ("assistant", "first\nsecond", False)),
        ("assistant/message", {"content": TEXT}, ("assistant", "words", False)),
        ("user/message", by({"kind": "compact-checkpoint"}, TEXT), ("user", "words", True)),
        (
            "user/message",
            by({"kind": "plugin", "plugin": "compact"}, TEXT),
            ("user", "words", True),
        ),
        (
            "user/message",
            by({"kind": "user"}, [{"type": "text", "text": " "}]),
            ("user", " ", False),
        ),
    ],
)
def test_what_is_said_is_carried(event_type: str, data: Json, expected: tuple[Any, ...]) -> None:
    said = one(event_type, data)
    assert said is not None
    assert (said.role, said.text, said.checkpoint) == expected


@pytest.mark.parametrize(
    ("event_type", "data"),
    [
        ("user/message", by({"kind": "plugin", "plugin": "goal"}, TEXT)),
        ("user/message", by({"kind": "session-reference", "version": 1, "references": []}, TEXT)),
        ("user/message", by({"kind": "tool"}, TEXT)),
        ("user/message", by({"kind": "user"}, [])),
        ("user/message", by({"kind": "user"}, [{"type": "text", "text": ""}])),
        ("user/message", by({"kind": "user"}, [{"type": "reasoning", "text": "hidden"}])),
        ("user/message", by({"kind": "user"}, [{"type": "image", "text": "hidden"}])),
        ("user/message", {"content": TEXT}),
        ("user/message", {}),
        ("assistant/message", said_by_assistant([{"type": "reasoning", "text": "hidden"}])),
        ("assistant/message", {"message": "words"}),
        ("tool/result", wrapped_result("c", TEXT)),
        ("system/message", said_by_assistant(TEXT)),
        ("developer/message", said_by_assistant(TEXT)),
    ],
)
def test_nothing_else_is_carried(event_type: str, data: Json) -> None:
    assert one(event_type, data) is None


@given(log=logs(max_size=20))
def test_exactly_the_surface_is_carried_in_model_order(log: list[Entry]) -> None:
    store = store_of((header("s"), log))
    (plain,) = store._logs.values()
    expected = []
    for seq in plain.fold.order:
        event = plain.events[seq]
        try:
            text, condensed = plain_said(event)
        except (KeyError, TypeError, AttributeError):
            continue  # it lacks what its type needs
        if text:
            role: Role = "user" if event.type == "user/message" else "assistant"
            expected.append(Said(plain.fold.positions[seq], role, text, condensed))
    assert carried(log) == expected


def test_a_walk_yields_pages_from_the_newest_end_and_every_message_once() -> None:
    pages = run(walk(store_of((header("s"), talk(700)))))
    assert [placed.seq for page in pages for placed in page] == list(range(699, -1, -1))
    assert max(map(len, pages)) <= 256


def test_a_page_that_ends_with_the_log_is_the_last() -> None:
    assert [len(page) for page in run(walk(store_of((header("s"), talk(64)))))] == [64]
    assert run(walk(store_of((header("s"), [])))) == []


def test_shadowed_messages_are_not_read() -> None:
    log: list[Entry] = [prompt(0, "old"), prompt(1, "older"), prompt(2, "kept")]
    log.append(message(3, data=user_message("new"), replaces=(0, 1), sources=(0, 1)))
    store = PlainLogStore()
    put(store, header("s"), log)
    assert [json.loads(p.event.payload)["content"][0]["text"] for p in run(walk(store))[0]] == [
        "new",
        "kept",
    ]
    assert [said.text for said in carried(log)] == ["new", "kept"]
