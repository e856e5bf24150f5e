"""How one session is shown: a head, its projections, and what its model sees now."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any, Final

from rich.console import Console, Group
from rich.panel import Panel
from rich.text import Text

from server.cli.output import binary_stdout, moment, stdout_console, visible
from server.cli.reading import log_lines, not_found, session_of, surface_of
from server.cli.shown_views import print_views, views_as_json, views_of
from server.wiring import Services
from sessiongraph import lossless, payloads
from sessiongraph.corpus import LogicalSession
from sessiongraph.event import PlacedEvent
from sessiongraph.header import SessionHeader
from sessiongraph.query import Observation

_STYLES: Final = {
    "user": "green",
    "assistant": "cyan",
    "tool": "yellow",
    "system": "magenta",
    "developer": "magenta",
}
_INDENT: Final = "    "


async def print_transcript(services: Services, session_id: str) -> None:
    """The session for people.

    Raises:
        SessionNotFound: there is none.
    """
    console = stdout_console()
    async with services.query.observe() as observation:
        session = await session_of(observation, session_id)
        _print_head(console, session)
        print_views(console, await views_of(services, session_id))
        async for page in surface_of(observation, session):
            for placed in page:
                _print_message(console, placed)


def _print_head(console: Console, session: LogicalSession) -> None:
    header = session.header
    facts = {
        "session": session.session_id,
        "title": session.title,
        "created": moment(header.created_at),
        "cwd": header.cwd,
        "parent": header.parent_session,
        "inherited": None if header.seed_length is None else f"{header.seed_length} events",
        "origin": header.origin,
        "preset": header.agent_preset,
        "events": str(session.last_seq + 1),
        "source": f"{header.source.kind}, version {header.version}",
        "file": header.source.path,
    }
    shown = [(name, value) for name, value in facts.items() if value is not None]
    shown += [("note", note) for note in header.source.notes]
    width = max(len(name) for name, _ in shown) + 2
    for name, value in shown:
        console.print(Text.assemble((name.ljust(width), "dim"), visible(value)))
    console.print()


def _print_message(console: Console, placed: PlacedEvent) -> None:
    speaker = placed.type.partition("/")[0]
    style = _STYLES.get(speaker, "white")
    title = f"{_speaker(placed, speaker)} · {placed.seq} · {moment(placed.time)}"
    blocks = list(_blocks(placed)) or [Text("(empty)", "dim")]
    if console.is_terminal:
        body = Group(*blocks)
        console.print(
            Panel(body, title=Text(title), title_align="left", border_style=style, padding=(0, 1))
        )
    else:
        console.print(Text(title))
        for block in blocks:
            console.print(Text(textwrap.indent(block.plain, _INDENT)))
        console.print()


def _speaker(placed: PlacedEvent, speaker: str) -> str:
    data = placed.event.data
    if placed.type == "user/message" and not payloads.is_human_prompt(data):
        return f"{speaker} ({visible(payloads.message_source_kind(data))})"
    if placed.type == "assistant/message":
        _, model = payloads.model_of(data)
        return f"{speaker} ({visible(model)})" if model else speaker
    if placed.type == "tool/result" and payloads.result_is_error(data):
        return f"{speaker} (error)"
    return speaker


def _blocks(placed: PlacedEvent) -> Iterator[Text]:
    for block in payloads.content_of(placed.type, placed.event.data):
        yield _block(block)


def _block(block: payloads.Block) -> Text:
    kind, text = block.get("type"), block.get("text")
    if kind == "text" and isinstance(text, str):
        return Text(visible(text))
    if kind == "reasoning" and isinstance(text, str):
        return Text(visible(text), "dim italic")
    if kind == "tool-call":
        return Text(visible(f"→ {block.get('name')} {block.get('arguments')}"), "yellow")
    return Text(f"[{visible(str(kind))}]", "dim")


async def print_session_json(services: Services, session_id: str) -> None:
    """The session as one JSON object, its surface included, written as it is read.

    Raises:
        SessionNotFound: there is none.
    """
    out = binary_stdout()
    async with services.query.observe() as observation:
        session = await session_of(observation, session_id)
        projections = views_as_json(await views_of(services, session_id))
        head = lossless.encode({**_head_as_json(session), "projections": projections})
        out.write(head.removesuffix(b"}") + b',"surface":[')
        separator = b""
        async for page in surface_of(observation, session):
            for event in await _events_as_json(observation, page):
                out.write(separator + lossless.encode(event))
                separator = b","
        out.write(b"]}\n")


def _head_as_json(session: LogicalSession) -> dict[str, Any]:
    return {
        "id": session.session_id,
        "title": session.title,
        "live": session.live,
        "persisted": session.persisted,
        "lastSeq": session.last_seq,
        "header": _header_as_json(session.header),
    }


def _header_as_json(header: SessionHeader) -> dict[str, Any]:
    return {
        "sessionId": header.session_id,
        "version": header.version,
        "createdAt": header.created_at,
        "cwd": header.cwd,
        "parentSession": header.parent_session,
        "seedLength": header.seed_length,
        "origin": header.origin,
        "delegationDepth": header.delegation_depth,
        "agentPreset": header.agent_preset,
        "source": {
            "kind": header.source.kind.value,
            "path": header.source.path,
            "importedAt": header.source.imported_at,
            "notes": list(header.source.notes),
        },
    }


async def _events_as_json(
    observation: Observation, page: list[PlacedEvent]
) -> list[dict[str, Any]]:
    elided = [placed.seq for placed in page if placed.elided]
    whole = await observation.payloads(page[0].session_id, elided) if elided else {}
    return [
        {
            "seq": placed.seq,
            "type": placed.type,
            "time": placed.time,
            "sourceEventSeqs": placed.source_event_seqs,
            "data": lossless.decode(whole.get(placed.seq, placed.event.payload)),
        }
        for placed in page
    ]


async def print_log(services: Services, session_id: str) -> None:
    """The whole log as JSON lines.

    Raises:
        SessionNotFound: there is none.
    """
    out = binary_stdout()
    async with services.store.observe() as reader:
        found = await reader.find([session_id])
        if session_id not in found:
            raise not_found(session_id)
        async for line in log_lines(reader, found[session_id]):
            out.write(line)
