"""The budget of a snapshot as the specification tells it: one step after the other, in no hurry.

The whole object is written by ``json`` again after every step, and every cut is tried, from the
longest to the shortest.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sessiongraph.references.conversation import Said
from sessiongraph.references.cutting import note


@dataclass
class PlainSnapshot:
    """An object that fits, and what is missing from it."""

    data: bytes
    compacted: bool
    original_messages: int
    retained_messages: int
    omitted_messages: int
    omitted_bytes: int
    truncated: bool


def plain_octets(value: object) -> bytes:
    """JSON without spaces, non-ASCII as it is, lone surrogates and every ``<`` escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return text.encode("utf-8", "backslashreplace")


def plain_length(text: str) -> int:
    return sum(3 if 0xD800 <= ord(char) <= 0xDFFF else len(char.encode()) for char in text)


def plain_object(fields: dict[str, object], texts: Sequence[tuple[Said, str]]) -> bytes:
    conversation = [{"role": said.role, "text": text} for said, text in texts]
    return plain_octets({**fields, "conversation": conversation})


def plain_retention(
    fields: dict[str, object], conversation: Sequence[Said], max_bytes: int
) -> PlainSnapshot | None:
    """What is kept of a conversation in model order; None when not even empty texts fit."""
    kept = [(said, said.text) for said in conversation]
    newest = conversation[-1] if conversation else None

    def fits() -> bool:
        return len(plain_object(fields, kept)) <= max_bytes

    while not fits():
        may_go = [each for each in kept if not each[0].checkpoint and each[0] is not newest]
        if not may_go:
            break
        kept.remove(may_go[0])
    missing = 0
    uncut = list(range(len(kept)))
    while not fits() and uncut:
        place = max(uncut, key=lambda each: (plain_length(kept[each][1]), -each))
        uncut.remove(place)
        said, text = kept[place]
        for shorter, gone in plain_cuts(text):  # noqa: B007
            kept[place] = (said, shorter)
            if fits():
                break
        missing += gone
    if not fits():
        return None
    dropped = [said for said in conversation if said not in [each for each, _ in kept]]
    omitted_bytes = missing + sum(plain_length(said.text) for said in dropped)
    return PlainSnapshot(
        plain_object(fields, kept),
        any(said.checkpoint for said in conversation),
        len(conversation),
        len(kept),
        len(dropped),
        omitted_bytes,
        bool(dropped or missing),
    )


def plain_cuts(text: str) -> Iterator[tuple[str, int]]:
    """Every way to cut a text and the bytes that are then missing, longest first, then nothing."""
    length = plain_length(text)
    for ends in range(length // 2, -1, -1):
        head = beginning(text, ends)
        tail = beginning(text[::-1], ends)[::-1]
        gone = length - plain_length(head) - plain_length(tail)
        yield f"{head}{tail}\n{note(gone)}", gone
    yield "", length


def beginning(text: str, most: int) -> str:
    """As many characters from the front as fit into so many bytes."""
    count = 0
    while count < len(text) and plain_length(text[: count + 1]) <= most:
        count += 1
    return text[:count]
