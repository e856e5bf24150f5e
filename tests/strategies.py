"""Random logs, headers and JSON values, and the small builders that tests make events with.

A drawn log is valid by construction: while it grows, the strategy keeps the surface as a plain list
of seqs and picks only what the rules of log.md allow. :func:`broken_events` picks one thing that
they forbid. Payloads are written here by ``json``, never by ``sessiongraph.lossless``.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from hypothesis import strategies as st

from sessiongraph.directories import highest, place_of
from sessiongraph.event import (
    APPEND,
    DeltaKind,
    DeltaRun,
    Entry,
    EventSurface,
    Seq,
    SessionEvent,
    SurfaceOp,
    events_of,
)
from sessiongraph.filters import Availability, EventSelection, Range, SessionSelection
from sessiongraph.header import SessionHeader, SessionSource, SourceKind
from sessiongraph.placed_entry import PlacedEntry
from sessiongraph.ports import WindowRequest
from sessiongraph.surface import Surface

Json = dict[str, Any]

MESSAGES: Final = (
    "user/message",
    "assistant/message",
    "tool/result",
    "system/message",
    "developer/message",
)
LOG_ONLY_TYPES: Final = (
    "turn/start",
    "turn/end",
    "step/start",
    "tool/call",
    "todo/write",
    "session/title",
    "assistant/chunk",
    "assistant/attempt",
    "hook/result",
    "command/done",
    "custom/Überraschung",
    "odd/\x00\ud800",
)
WORDS: Final = (
    "retry",
    "policy",
    "RETRY",
    "Straße",
    "naïve",
    "超时",
    "修复",
    "🚀",
    "👩‍👩‍👧",
    "a.*b",
    "C++",
    "\\d+",
    "  wide   space ",
    "line\nbreak",
    "\u00a0",
    "",
)


# Builders: an event, a log, what a store appends.


def json_text(value: Any, *, ascii_only: bool = False, spaced: bool = False) -> bytes:
    """The JSON text of a value as a recorder could have written it."""
    separators = (", ", ": ") if spaced else (",", ":")
    text = json.dumps(value, ensure_ascii=ascii_only, separators=separators)
    return text.encode("utf-8", "backslashreplace")


def event(
    seq: Seq,
    event_type: str = "user/message",
    data: Mapping[str, Any] | None = None,
    *,
    time: int = 1_780_000_000_000,
    op: SurfaceOp | None = None,
    sources: Iterable[Seq] | None = None,
    ignorable: bool = False,
) -> SessionEvent:
    """One event, exactly as the arguments say."""
    cited = None if sources is None else tuple(sources)
    return SessionEvent(seq, event_type, time, json_text(data or {}), op, cited, ignorable)


def message(
    seq: Seq,
    event_type: str = "user/message",
    data: Mapping[str, Any] | None = None,
    *,
    replaces: tuple[Seq, Seq] | None = None,
    sources: Iterable[Seq] | None = None,
    time: int = 1_780_000_000_000,
) -> SessionEvent:
    """A message event that is appended, or replaces the span between two nodes."""
    op = APPEND if replaces is None else SurfaceOp(*replaces)
    return event(seq, event_type, data, op=op, sources=sources, time=time)


def prompt(seq: Seq, text: str, *, time: int = 1_780_000_000_000) -> SessionEvent:
    """A message by a person."""
    return message(seq, "user/message", user_message(text), time=time)


def citing(seq: Seq, *targets: str, time: int = 1_780_000_000_000) -> SessionEvent:
    """A message that carries snapshots of other sessions."""
    references = [
        {"sessionId": each, "label": f"of {number}", "capturedThroughSeq": number}
        for number, each in enumerate(targets)
    ]
    data = user_message("carried", "session-reference")
    data["source"] |= {"version": 1, "references": references}
    return message(seq, "user/message", data, time=time)


def user_message(text: str, kind: str = "user") -> Json:
    """The payload of a user message."""
    return {
        "id": "m",
        "role": "user",
        "source": {"kind": kind},
        "content": [{"type": "text", "text": text}],
    }


def wrapped_result(call_id: str, content: Sequence[Json], **members: Any) -> Json:
    """The payload of a tool result as generations 0 to 3 spell it; members are of the block."""
    block = {"type": "tool-result", "toolCallId": call_id, "content": list(content), **members}
    source = {"kind": "tool", "callId": call_id}
    return {
        "turn": 1,
        "step": 1,
        "message": {"id": "r", "role": "user", "source": source, "content": [block]},
    }


def direct_result(call_id: str, content: Sequence[Json], **members: Any) -> Json:
    """The payload of a tool result as generation 4 spells it; members are of the message."""
    body: Json = {
        "id": "r",
        "role": "tool",
        "source": {"kind": "tool", "callId": call_id},
        "toolCallId": call_id,
        "content": list(content),
        **members,
    }
    return {"turn": 1, "step": 1, "message": body}


def bare_result(call_id: str, content: Sequence[Json], **members: Any) -> Json:
    """The payload of a tool result as the earliest logs spell it, without a message."""
    return {"callId": call_id, "content": list(content), **members}


def with_content(data: Json, content: Sequence[Json]) -> Json:
    """A copy of a tool result's payload, in any spelling, with other content and nothing else."""
    changed = copy.deepcopy(data)
    holder = changed.get("message", changed)
    blocks = holder["content"]
    if len(blocks) == 1 and blocks[0].get("type") == "tool-result":
        holder = blocks[0]
    holder["content"] = list(content)
    return changed


def delta_run(seq: Seq, texts: Sequence[str], **members: Any) -> DeltaRun:
    """A run of text deltas, one ms apart."""
    fields: dict[str, Any] = {
        "kind": DeltaKind.TEXT,
        "time": 1_780_000_000_000,
        "turn": 1,
        "step": 1,
        "index": 0,
        "gaps": [1] * (len(texts) - 1),
    }
    return DeltaRun(seq=seq, texts=list(texts), **{**fields, **members})


def payload_lookup(log: Iterable[Entry]) -> Callable[[Seq], Mapping[str, Any]]:
    """What a surface asks for the payload of an earlier event, answered from a list."""
    by_seq = {each.seq: each for entry in log for each in events_of(entry)}
    return lambda seq: by_seq[seq].data


def placed(log: Sequence[Entry]) -> list[PlacedEntry]:
    """A valid log as a store takes it, from its first event on."""
    surface = Surface(payload_lookup(log))
    return [PlacedEntry(entry, surface.advance(entry)) for entry in log]


def header(session_id: str, created_at: int = 1_780_000_000_000, **members: Any) -> SessionHeader:
    """A header of the latest generation."""
    return SessionHeader(4, session_id, created_at, **members)


# JSON values.

_SAFE = 2**53 - 1
any_text: Final = st.text(st.characters(exclude_categories=()), max_size=12)
"""Every string that JSON can carry, control characters and lone surrogates included."""

lossless_text: Final = st.one_of(st.sampled_from(WORDS), st.text(max_size=12))
words: Final = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)

_lossless_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-_SAFE, _SAFE),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x != 0 or str(x) == "0.0"),
    lossless_text,
)


def json_values(max_leaves: int = 12) -> st.SearchStrategy[Any]:
    """Lossless JSON values: any Unicode but lone surrogates, nested, sometimes deep."""
    trees = st.recursive(
        _lossless_leaves,
        lambda inner: (
            st.lists(inner, max_size=4) | st.dictionaries(lossless_text, inner, max_size=4)
        ),
        max_leaves=max_leaves,
    )
    return trees | st.builds(_nested, _lossless_leaves, st.integers(1, 60), st.booleans())


def _nested(leaf: Any, depth: int, as_lists: bool) -> Any:
    for _ in range(depth):
        leaf = [leaf] if as_lists else {"": leaf}
    return leaf


json_objects: Final = st.dictionaries(lossless_text, json_values(5), max_size=4)


# Payloads.

_counts = st.integers(0, 5)


def _text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def blocks() -> st.SearchStrategy[list[Json]]:
    """Content blocks of every known kind, and one that nobody knows."""
    block = st.one_of(
        words.map(_text_block),
        words.map(lambda text: {"type": "reasoning", "text": text}),
        words.map(lambda t: {"type": "tool-call", "id": "c", "name": "bash", "arguments": t}),
        st.just({"type": "image", "source": {"kind": "inline", "data": "AAAA"}}),
        st.just({"type": "hologram", "text": "unseen"}),
    )
    return st.lists(block, max_size=3)


def user_payloads() -> st.SearchStrategy[Json]:
    """User messages by people and by producers."""
    kinds = st.sampled_from(("user", "plugin", "goal", "session-reference", "compact-checkpoint"))
    return st.builds(
        lambda kind, content: {**user_message("", kind), "content": content}, kinds, blocks()
    )


def assistant_payloads() -> st.SearchStrategy[Json]:
    """Assistant messages with and without usage and an embedded stream."""

    def build(content: list[Json], usage: bool, stream: list[str] | None) -> Json:
        source = {"kind": "model", "provider": "mock", "model": "mock-1"}
        data: Json = {
            "turn": 1,
            "step": 1,
            "message": {"id": "a", "role": "assistant", "source": source, "content": content},
        }
        if usage:
            data["usage"] = {"inputTokens": 50, "outputTokens": 20}
        if stream is not None:
            data["stream"] = [
                {"type": "text-chunks", "time0": 1, "index": 0, "dt": [], "texts": stream}
            ]
        return data

    return st.builds(
        build, blocks(), st.booleans(), st.none() | st.lists(lossless_text, max_size=3)
    )


def result_payloads() -> st.SearchStrategy[Json]:
    """Tool results in the three spellings."""

    def build(
        spell: Callable[..., Json], content: list[Json], is_error: bool | None, call_id: str
    ) -> Json:
        members = {} if is_error is None else {"isError": is_error}
        return spell(call_id, content, **members)

    return st.builds(
        build,
        st.sampled_from((wrapped_result, direct_result, bare_result)),
        blocks(),
        st.none() | st.booleans(),
        st.sampled_from(("call-1", "call-2", "")),
    )


def prompt_payloads(role: str) -> st.SearchStrategy[Json]:
    """System and developer messages."""
    return st.builds(
        lambda content: {
            "turn": 1,
            "step": 1,
            "message": {
                "id": "s",
                "role": role,
                "source": {"kind": "system-prompt"},
                "content": content,
            },
        },
        blocks(),
    )


def message_payloads(event_type: str) -> st.SearchStrategy[Json]:
    """Payloads of a message type, now and then one that lacks what its type needs."""
    whole = {
        "user/message": user_payloads(),
        "assistant/message": assistant_payloads(),
        "tool/result": result_payloads(),
        "system/message": prompt_payloads("system"),
        "developer/message": prompt_payloads("developer"),
    }[event_type]
    if event_type == "tool/result":
        return whole  # a replacement needs to know where the content is
    return st.one_of(whole, whole, whole, json_objects)


def log_only_payloads(event_type: str) -> st.SearchStrategy[Json]:
    """Payloads of the other types, now and then one that lacks what its type needs."""
    reasons = st.one_of(
        st.sampled_from(("completed", "aborted", "blocked", "max-tokens", "interrupted")).map(
            lambda kind: {"kind": kind}
        ),
        words.map(lambda text: {"kind": "error", "error": {"message": text, "code": "X"}}),
    )
    todo = st.builds(
        lambda content, status: {"content": content, "status": status},
        words,
        st.sampled_from(("pending", "done")),
    )
    known: dict[str, st.SearchStrategy[Json]] = {
        "turn/end": st.builds(
            lambda turn, reason: {"turn": turn, "reason": reason}, _counts, reasons
        ),
        "tool/call": words.map(
            lambda text: {"turn": 1, "step": 1, "callId": "c", "name": "bash", "arguments": text}
        ),
        "todo/write": st.lists(todo, max_size=3).map(lambda todos: {"todos": todos}),
        "session/title": words.map(lambda text: {"title": text, "messageSeqs": []}),
        "assistant/attempt": words.map(lambda text: {"turn": 1, "step": 1, "stream": [text]}),
        "hook/result": words.map(lambda text: {"decision": "block", "stderrSummary": text}),
        "command/done": words.map(lambda text: {"commandId": "c", "kind": "error", "text": text}),
    }
    if event_type not in known:
        return json_objects
    return st.one_of(known[event_type], known[event_type], json_objects)


# Headers.

session_ids: Final = st.one_of(
    st.sampled_from(("a", "b", "nul\x00id", "\ud800lone", "🚀", " ", "x" * 3000, "%_'\"\\")),
    st.text(st.characters(exclude_categories=()), min_size=1, max_size=8),
)
_created = st.one_of(st.integers(1000, 1005), st.integers(0, 2**45))


_FEW_CWDS: Final = ("/p", "/p/q", "/\ud800")
working_directories: Final = st.none() | st.sampled_from(
    (
        *_FEW_CWDS,
        "/",
        "/pq",
        "/p/",
        "//p//q/./r",
        "/p/../pq/x",
        "/p/q/..\\..\\pq",
        "/p/q/r/s/t",
        "C:\\p\\q",
        "c:/P",
        "\\\\s\\t\\..\\u",
        "p/q",
        "~/p",
        "",
    )
)
"""Of sessions: spelled in many ways, at the borders of places, or at none."""


@st.composite
def headers(
    draw: st.DrawFn,
    ids: st.SearchStrategy[str] = session_ids,
    parents: st.SearchStrategy[str | None] = st.none() | session_ids,  # noqa: B008
) -> SessionHeader:
    """Headers of every generation and recorder."""
    source = SessionSource(
        draw(st.sampled_from(SourceKind)),
        draw(st.none() | any_text),
        draw(st.none() | _created),
        tuple(draw(st.lists(any_text, max_size=2))),
    )
    return SessionHeader(
        version=draw(st.integers(0, 4)),
        session_id=draw(ids),
        created_at=draw(_created),
        cwd=draw(working_directories | any_text),
        parent_session=draw(parents),
        seed_length=draw(st.none() | st.integers(0, 9)),
        origin=draw(st.sampled_from((None, "subagent"))),
        delegation_depth=draw(st.integers(0, 3)),
        agent_preset=draw(st.none() | any_text),
        source=source,
        extra=draw(st.dictionaries(any_text, json_values(3), max_size=2)),
    )


# Logs.


@dataclass
class _Growing:
    """A log under construction and its surface as a plain list."""

    entries: list[Entry] = field(default_factory=list)
    surface: list[Seq] = field(default_factory=list)
    types: dict[Seq, str] = field(default_factory=dict)
    results: dict[Seq, Json] = field(default_factory=dict)
    next_seq: Seq = 0

    def add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.next_seq = entry.last_seq + 1
        if isinstance(entry, DeltaRun) or entry.surface_op is None:
            return
        self.types[entry.seq] = entry.type
        if entry.type == "tool/result":
            self.results[entry.seq] = json.loads(entry.payload)
        op = entry.surface_op
        if op.start is None or op.end is None:
            self.surface.append(entry.seq)
        else:
            first, last = self.surface.index(op.start), self.surface.index(op.end)
            self.surface[first : last + 1] = [entry.seq]

    @property
    def has_system_head(self) -> bool:
        return bool(self.surface) and self.types[self.surface[0]] == "system/message"


@st.composite
def _events(
    draw: st.DrawFn,
    seq: Seq,
    event_type: str,
    payloads: st.SearchStrategy[Json],
    op: SurfaceOp | None = None,
    sources: tuple[Seq, ...] | None = None,
) -> SessionEvent:
    return SessionEvent(
        seq=seq,
        type=event_type,
        time=draw(st.one_of(st.integers(1000, 1010), st.integers(-5, 2**45))),
        text=json_text(draw(payloads), ascii_only=draw(st.booleans()), spaced=draw(st.booleans())),
        surface_op=op,
        source_event_seqs=sources,
        ignorable=draw(st.sampled_from((False, False, True))),
    )


@st.composite
def _log_only_events(draw: st.DrawFn, seq: Seq) -> SessionEvent:
    name = draw(st.sampled_from(LOG_ONLY_TYPES))
    return draw(_events(seq, name, log_only_payloads(name)))


@st.composite
def delta_runs(draw: st.DrawFn, seq: Seq) -> DeltaRun:
    """Runs of every kind, of one member or more, whose times also run backwards."""
    kind = draw(st.sampled_from(DeltaKind))
    is_call = kind is DeltaKind.TOOL_CALL
    texts = draw(st.lists(st.one_of(lossless_text, any_text), min_size=1, max_size=5))
    gap = st.integers(-3, 9)
    return DeltaRun(
        kind=kind,
        seq=seq,
        time=draw(st.integers(1000, 1010)),
        turn=draw(_counts),
        step=draw(_counts),
        index=draw(_counts),
        gaps=draw(st.lists(gap, min_size=len(texts) - 1, max_size=len(texts) - 1)),
        texts=texts,
        call_id=draw(lossless_text) if is_call else None,
        name=draw(st.none() | lossless_text) if is_call else None,
    )


@st.composite
def _citations(draw: st.DrawFn, growing: _Growing, removed: Sequence[Seq]) -> tuple[Seq, ...]:
    """Everything that is removed and perhaps more, in any order."""
    earlier = st.integers(0, growing.next_seq - 1)
    more = draw(st.lists(earlier, max_size=3)) if growing.next_seq else []
    return tuple(draw(st.permutations(sorted({*removed, *more}))))


@st.composite
def _appends(draw: st.DrawFn, growing: _Growing) -> SessionEvent:
    event_type = draw(st.sampled_from(MESSAGES))
    sources = draw(st.none() | _citations(growing, ()))
    if sources == () and event_type != "assistant/message":
        sources = None
    payloads = message_payloads(event_type)
    return draw(_events(growing.next_seq, event_type, payloads, APPEND, sources))


@st.composite
def _replacements(draw: st.DrawFn, growing: _Growing) -> SessionEvent:
    """A span of any length, the whole surface included, by a message that may stand for it."""
    surface = growing.surface
    lowest = 1 if growing.has_system_head and len(surface) > 1 else 0
    top = len(surface) - 1
    first = draw(st.integers(lowest, top))
    last = draw(st.sampled_from((first, top)) | st.integers(first, top))
    places = range(lowest, len(surface))
    backwards = [(a, b) for a in places for b in places if a < b and surface[a] > surface[b]]
    if backwards:
        first, last = draw(st.sampled_from([(first, last), *backwards]))
    removed = surface[first : last + 1]
    types = tuple(each for each in MESSAGES if each != "tool/result")
    if first == 0 and growing.has_system_head:
        types = ("system/message",)
    event_type = draw(st.sampled_from(types))
    op = SurfaceOp(removed[0], removed[-1])
    sources = draw(_citations(growing, removed))
    return draw(_events(growing.next_seq, event_type, message_payloads(event_type), op, sources))


@st.composite
def _pruned_results(draw: st.DrawFn, growing: _Growing) -> SessionEvent:
    """A tool result in the place of one on the surface, with nothing but its content changed."""
    target = draw(st.sampled_from([seq for seq in growing.surface if seq in growing.results]))
    changed = with_content(growing.results[target], draw(blocks()))
    op = SurfaceOp(target, target)
    sources = draw(_citations(growing, (target,)))
    return draw(_events(growing.next_seq, "tool/result", st.just(changed), op, sources))


@st.composite
def _new_heads(draw: st.DrawFn, growing: _Growing) -> SessionEvent:
    """A system message in the place of the one at the head."""
    head = growing.surface[0]
    payloads = message_payloads("system/message")
    sources = draw(_citations(growing, (head,)))
    op = SurfaceOp(head, head)
    return draw(_events(growing.next_seq, "system/message", payloads, op, sources))


@st.composite
def _grown(draw: st.DrawFn, min_size: int = 0, max_size: int = 16) -> _Growing:
    growing = _Growing()
    for _ in range(draw(st.integers(min_size, max_size))):
        steps: list[st.SearchStrategy[Entry]] = [
            _appends(growing),
            _appends(growing),
            _log_only_events(growing.next_seq),
            delta_runs(growing.next_seq),
        ]
        if growing.surface:
            steps += [_replacements(growing)] * 2
        if any(seq in growing.results for seq in growing.surface):
            steps.append(_pruned_results(growing))
        if growing.has_system_head:
            steps.append(_new_heads(growing))
        growing.add(draw(st.one_of(steps)))
    return growing


def logs(min_size: int = 0, max_size: int = 16) -> st.SearchStrategy[list[Entry]]:
    """Valid logs of so many entries: messages, replacements of replacements, runs, anything."""
    return _grown(min_size, max_size).map(lambda growing: growing.entries)


def splits(log: Sequence[Entry]) -> st.SearchStrategy[list[list[Entry]]]:
    """A log cut into batches, none empty."""
    cuts = st.sets(st.integers(1, len(log) - 1)) if len(log) > 1 else st.just(set[int]())

    def cut(at: set[int]) -> list[list[Entry]]:
        edges = [0, *sorted(at), len(log)]
        return [list(log[a:b]) for a, b in pairwise(edges) if a < b]

    return cuts.map(cut)


# Questions about a log and about many.


def event_selections(*, texts: bool = False) -> st.SearchStrategy[EventSelection]:
    """Filters over the events of a drawn log, without a text filter unless asked for."""
    types = st.frozensets(st.sampled_from((*MESSAGES, *LOG_ONLY_TYPES, "no/such")), max_size=6)
    return st.builds(
        EventSelection,
        seqs=ranges(st.integers(-2, 30)),
        times=ranges(st.integers(995, 1015)),
        types=st.none() | types,
        surfaces=st.none() | st.frozensets(st.sampled_from(EventSurface)),
        texts=st.lists(literal_texts, max_size=2).map(tuple) if texts else st.just(()),
    )


def session_selections() -> st.SearchStrategy[SessionSelection]:
    """Filters over drawn headers."""
    some_ids = st.frozensets(st.sampled_from(_FEW_IDS), max_size=4)
    return st.builds(
        SessionSelection,
        ids=st.none() | st.none() | some_ids,
        cwds=st.none() | st.none() | st.frozensets(st.sampled_from((None, *_FEW_CWDS))),
        created_at=ranges(st.integers(998, 1007)),
        parents=st.none() | st.none() | st.frozensets(st.sampled_from((None, *_FEW_IDS))),
        availability=st.none() | st.none() | st.frozensets(st.sampled_from(Availability)),
        sources=st.none() | st.none() | st.frozensets(st.sampled_from(SourceKind)),
        origins=st.none() | st.none() | st.frozensets(st.sampled_from((None, "subagent"))),
        titles=st.lists(literal_texts, max_size=1).map(tuple),
        within=st.none() | st.none() | places(),
    )


def places() -> st.SearchStrategy[frozenset[str]]:
    """Places at or below which drawn working directories lie, or do not."""
    prefixes = st.sampled_from(
        ("/", "/p", "/p/q", "/pq", "/p/q/r", "/\ud800", "c:\\", "C:/p", "\\\\s\\t", "/elsewhere")
    )
    return st.lists(prefixes, max_size=3).map(
        lambda each: highest(place for prefix in each if (place := place_of(prefix)) is not None)
    )


def ranges(ends: st.SearchStrategy[int]) -> st.SearchStrategy[Range]:
    """Open, half-open, closed and, now and then, empty ranges."""
    end = st.none() | st.none() | ends
    return st.builds(Range, end, end)


def windows(keys: st.SearchStrategy[int]) -> st.SearchStrategy[WindowRequest]:
    """Windows over a list with these keys, from either end."""
    return st.builds(
        WindowRequest,
        limit=st.integers(1, 12),
        after=st.none() | keys,
        before=st.none() | keys,
        newest=st.booleans(),
    )


_FEW_IDS: Final = ("a", "b", "c", "nul\x00id", "\ud800lone", "🚀", "%_'\"\\")
literal_texts: Final = words.map(lambda text: " ".join(text.split())).filter(bool)


@st.composite
def corpora(draw: st.DrawFn, max_size: int = 8) -> list[tuple[SessionHeader, list[Entry]]]:
    """Sessions with few ids, folders and moments between them, so that ties and circles occur.

    Each log holds at most one title and one prompt.
    """
    few = st.sampled_from(_FEW_IDS)
    ids = draw(st.lists(few | session_ids, unique=True, max_size=max_size))
    corpus: list[tuple[SessionHeader, list[Entry]]] = []
    for session_id in ids:
        parents = st.none() | few | st.sampled_from(ids)
        log: list[Entry] = []
        if draw(st.booleans()):
            log.append(event(0, "session/title", {"title": draw(words)}))
        if draw(st.booleans()):
            log.append(prompt(len(log), "hello", time=draw(st.integers(1000, 1003))))
        corpus.append((draw(headers(st.just(session_id), parents)), log))
    return corpus


# Events that break a rule.


@dataclass(frozen=True)
class BrokenEvent:
    """A valid log and an event that the rule forbids to follow it."""

    log: list[Entry]
    entry: Entry
    rule: int


def broken_events(rule: int | None = None) -> st.SearchStrategy[BrokenEvent]:
    """A log and what breaks this rule of log.md, or any."""
    if rule is None:
        return st.sampled_from(sorted(_BREAKERS)).flatmap(broken_events)
    return _BREAKERS[rule]


@st.composite
def _wrong_seq(draw: st.DrawFn) -> BrokenEvent:
    log = draw(_grown())
    seq = draw(st.integers(-3, log.next_seq + 3).filter(lambda seq: seq != log.next_seq))
    entries: list[Entry] = [delta_run(seq, ["a", "b"]), message(seq), event(seq, "x/y")]
    return BrokenEvent(log.entries, draw(st.sampled_from(entries)), 1)


@st.composite
def _wrong_members(draw: st.DrawFn) -> BrokenEvent:
    """A message without an op, or another event with an op or with sources."""
    log = draw(_grown())
    seq = log.next_seq
    entry = draw(
        st.sampled_from(
            (
                *(event(seq, name) for name in MESSAGES),
                event(seq, "turn/start", op=APPEND),
                event(seq, "custom/thing", op=SurfaceOp(0, 0)),
                event(seq, "tool/call", sources=()),
                event(seq, "assistant/chunk", sources=(0,)),
            )
        )
    )
    return BrokenEvent(log.entries, entry, 2)


@st.composite
def _wrong_sources(draw: st.DrawFn) -> BrokenEvent:
    log = draw(_grown(min_size=1))
    seq = log.next_seq
    good = draw(st.lists(st.integers(0, seq - 1), unique=True, max_size=3))
    bad = st.sampled_from((-1, -(2**40), seq, seq + 1, 2**40))
    wrong = [[*good, draw(bad)], [draw(bad), *good]]
    if good:
        wrong.append([*good, good[0]])
    name = draw(st.sampled_from(MESSAGES))
    if name != "assistant/message":
        wrong.append([])
    return BrokenEvent(log.entries, message(seq, name, sources=draw(st.sampled_from(wrong))), 3)


@st.composite
def _wrong_span(draw: st.DrawFn) -> BrokenEvent:
    """An end that does not stand, ends in the wrong order, or a removed node not cited."""
    log = draw(_grown(min_size=2))
    seq, surface = log.next_seq, log.surface
    everything = list(range(seq))
    absent = [each for each in everything if each not in surface]
    choices: list[tuple[tuple[Seq, Seq], list[Seq]]] = []
    for gone in (*absent, seq + 2):
        other = draw(st.sampled_from(surface)) if surface else gone
        choices += [((gone, other), everything), ((other, gone), everything)]
    if len(surface) > 1:
        first, last = sorted(draw(st.permutations(range(len(surface))))[:2])
        choices.append(((surface[last], surface[first]), everything))
    if surface:
        first = draw(st.integers(0, len(surface) - 1))
        last = draw(st.integers(first, len(surface) - 1))
        forgotten = draw(st.sampled_from(surface[first : last + 1]))
        cited = [each for each in everything if each != forgotten]
        choices.append(((surface[first], surface[last]), cited))
    ends, cited = draw(st.sampled_from(choices))
    # An assistant message alone may cite nothing at all; rule 3 must not come first.
    return BrokenEvent(
        log.entries, message(seq, "assistant/message", replaces=ends, sources=cited), 4
    )


@st.composite
def _wrong_result(draw: st.DrawFn) -> BrokenEvent:
    """A tool result over something else, over two, or with more than its content changed."""
    log = draw(_grown(max_size=8))
    spelled = draw(result_payloads())
    first = log.next_seq
    for seq, name in (
        (first, "tool/result"),
        (first + 1, "tool/result"),
        (first + 2, "user/message"),
    ):
        log.add(message(seq, name, spelled))
    more = copy.deepcopy(spelled)
    holders = [more]
    if "message" in more:
        holders.append(more["message"])
        holders += [block for block in more["message"]["content"] if "toolCallId" in block]
    holder = draw(st.sampled_from(holders))
    holder[draw(st.sampled_from(("meta", "isError", "step")))] = draw(st.integers(100, 200))
    ends, data = draw(
        st.sampled_from(
            (
                ((first + 2, first + 2), spelled),
                ((first, first + 1), spelled),
                ((first + 1, first + 2), spelled),
                ((first, first), more),
            )
        )
    )
    cited = range(ends[0], ends[1] + 1)
    broken = message(first + 3, "tool/result", data, replaces=ends, sources=cited)
    return BrokenEvent(log.entries, broken, 5)


@st.composite
def _wrong_head(draw: st.DrawFn) -> BrokenEvent:
    """The system message at the head, replaced by another type or together with others."""
    log = _Growing()
    log.add(message(0, "system/message"))
    for seq in range(1, draw(st.integers(2, 5))):
        log.add(message(seq, draw(st.sampled_from(MESSAGES[:2]))))
    seq = log.next_seq
    alone = draw(st.booleans())
    names = ("user/message", "assistant/message", "developer/message")
    name = draw(st.sampled_from(names if alone else (*names, "system/message")))
    last = 0 if alone else draw(st.integers(1, seq - 1))
    broken = message(seq, name, replaces=(0, last), sources=range(last + 1))
    return BrokenEvent(log.entries, broken, 6)


_BREAKERS: Final[dict[int, st.SearchStrategy[BrokenEvent]]] = {
    1: _wrong_seq(),
    2: _wrong_members(),
    3: _wrong_sources(),
    4: _wrong_span(),
    5: _wrong_result(),
    6: _wrong_head(),
}
