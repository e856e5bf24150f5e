"""Documents: what the index holds of an event, and of itself.

Everything that is searched lies in one field, ``text``, as tokens with spaces between them; Tantivy
only cuts at the spaces. First come the places of the text in their order (see
:mod:`sessiongraph.search.analysis`). Behind them, each group after a token that nothing else is,
come the pairs of every run of Chinese, Japanese or Korean, and the parts of every word in camel
case. So every question is one of terms and phrases of this field: a pair of characters is a single
term, and no phrase reaches across the groups.

Everything that narrows a search is a token of ``traits``, or a fast field for ranges. The texts
that tokens stand for are hashed, so that no id is too long or too odd for one. Among them are the
place of the session and every place above it, so that what lies below a place is a term like any
other: a search of who sees little takes no longer for what they do not see. So are the periods that
the event's time is in, for those who want the newest (:mod:`providers.tantivy.periods`).

The watermark is a document too: deleted and added anew by every commit, it is atomic with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from operator import add
from typing import Final

import msgspec
import tantivy

from sessiongraph.directories import place_of, places_above
from sessiongraph.header import SessionHeader
from sessiongraph.search.analysis import is_cjk, places_of, spaced_pairs
from sessiongraph.search.ports import Watermark
from sessiongraph.search.question import IndexFilter, Term

TEXT, TRAITS, KEY = "text", "traits", "key"
TIME, SEQ, LOG, CREATED, CHECK = "time", "seq", "log", "created", "check"

DOCUMENT_FORMAT: Final = 5
"""Changes whenever the same event becomes another document."""

_GAP: Final = "\x1f"
"""No place is this token; phrases cannot cross it."""

_WATERMARK: Final = "watermark"

PERIODS: Final = (18, 22, 26, 30, 34)
"""Lengths of periods as powers of two, of milliseconds: from four minutes to half a year."""


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(TEXT, tokenizer_name="whitespace", index_option="position")
    builder.add_text_field(TRAITS, tokenizer_name="whitespace", index_option="basic")
    for name in (TIME, SEQ, LOG, CREATED, CHECK):
        builder.add_integer_field(name, fast=True)
    builder.add_bytes_field(KEY, stored=True)
    return builder.build()


SCHEMA: Final = _schema()


class LogKey(msgspec.Struct, frozen=True):
    """Which log a document is of.

    octets: the session id as UTF-8 with lone surrogates passed.
    """

    octets: bytes
    epoch: int

    @property
    def session_id(self) -> str:
        return self.octets.decode("utf-8", "surrogatepass")

    def number(self) -> int:
        """A number for it that no other log has, but for odds of one in 2**64."""
        digest = hashlib.blake2b(b"%d:%b" % (self.epoch, self.octets), digest_size=8)
        return int.from_bytes(digest.digest(), "big", signed=True)


def key_of(session_id: str, epoch: int) -> LogKey:
    """The key of a log."""
    return LogKey(session_id.encode("utf-8", "surrogatepass"), epoch)


class EventKey(LogKey, frozen=True, array_like=True, gc=False):
    """Which event a document is of, and when it was; stored with it.

    The fast fields say the same of many documents at once, but a hash of the log only. Each of them
    is opened in every segment of the index, which takes longer than to read a few documents.

    time: ms.
    """

    seq: int
    time: int


_stored_of: Final = msgspec.msgpack.Encoder().encode
_event_key_of: Final = msgspec.msgpack.Decoder(EventKey).decode


@lru_cache(maxsize=4096)
def trait(kind: str, value: str | None) -> str:
    """The token for a value of some kind."""
    if value is None:
        return f"{kind}-"
    octets = value.encode("utf-8", "surrogatepass")
    return kind + hashlib.blake2b(octets, digest_size=10).hexdigest()


def session_trait(session_id: str) -> str:
    """The token that every document of a session has."""
    return trait("s", session_id)


def place_trait(place: str) -> str:
    """The token of every document of a session at or below a place."""
    return trait("w", place)


def type_trait(event_type: str) -> str:
    """The token of an event type."""
    return trait("t", event_type)


def period_trait(length: int, number: int) -> str:
    """The token of the period of some length that begins at ``number`` times that."""
    return f"{length}:{number}"


_LONG_PERIOD: Final = f"{PERIODS[-1]}:"


def traits_asked_for(admitted: IndexFilter) -> Iterator[list[str]]:
    """For each filter by tokens, those of which a document must have one."""
    if admitted.ids is not None:
        yield list(map(session_trait, admitted.ids))
    if admitted.types is not None:
        yield list(map(type_trait, admitted.types))
    for kind, values in (("c", admitted.cwds), ("p", admitted.parents), ("o", admitted.origins)):
        if values is not None:
            yield [trait(kind, value) for value in values]
    if admitted.within is not None:
        yield list(map(place_trait, admitted.within))


class DocumentMaker:
    """Makes the documents of one log."""

    def __init__(self, header: SessionHeader, epoch: int) -> None:
        self.key = key_of(header.session_id, epoch)
        self.created = header.created_at
        self._number = self.key.number()
        place = None if header.cwd is None else place_of(header.cwd)
        self._common = " ".join(
            (
                session_trait(header.session_id),
                trait("c", header.cwd),
                trait("p", header.parent_session),
                trait("o", header.origin),
                *(() if place is None else map(place_trait, places_above(place))),
            )
        )
        self._traits: dict[tuple[str, int], str] = {}

    def traits(self, event_type: str, time: int) -> str:
        """What narrows a search to an event of some type and time (ms): tokens with a space on
        either side."""
        key = (event_type, time >> PERIODS[0])
        traits = self._traits.get(key)
        if traits is None:
            periods = " ".join(period_trait(length, time >> length) for length in PERIODS)
            traits = f" {self._common} {type_trait(event_type)} {periods} "
            self._traits[key] = traits
        return traits

    def document(
        self, traits: str, seq: int, time: int, tokens: str, check: int
    ) -> tantivy.Document:
        """The document of one event, whose text is tokens already."""
        document = tantivy.Document()
        document.add_text(TEXT, tokens)
        document.add_text(TRAITS, traits)
        document.add_integer(TIME, time)
        document.add_integer(SEQ, seq)
        document.add_integer(LOG, self._number)
        document.add_integer(CREATED, self.created)
        document.add_integer(CHECK, check)
        document.add_bytes(KEY, _stored_of(EventKey(self.key.octets, self.key.epoch, seq, time)))
        return document


def tokens_of(text: str) -> str:
    """A text as it is indexed: tokens with a space on either side of each."""
    places = places_of(text)
    row = " ".join(places.row).strip()
    groups = ["", " ".join(row.split()) if "  " in row else row]
    for run in places.runs:
        groups += (_GAP, spaced_pairs(run))
    for parts in places.parts:
        groups += (_GAP, *parts)
    groups.append("")
    return " ".join(groups)


def tokens_in_row(places: Term) -> tuple[str, ...]:
    """The tokens that stand side by side in a document in which these places do."""
    if len(places) > 1 and all(map(is_cjk, places)):
        return tuple(map(add, places, places[1:]))
    return places


def watermark_document(watermark: Watermark) -> tantivy.Document:
    """The document that keeps a watermark."""
    document = tantivy.Document()
    document.add_text(TRAITS, _WATERMARK)
    document.add_bytes(KEY, msgspec.json.encode(watermark))
    return document


def forget_watermark(writer: tantivy.IndexWriter) -> None:
    """Delete the watermark of the commit before."""
    writer.delete_documents_by_term(TRAITS, _WATERMARK)


def watermark_in(searcher: tantivy.Searcher) -> Watermark | None:
    """The watermark that an index was committed with.

    Raises:
        ValueError: there is not exactly one, or it cannot be read.
    """
    query = tantivy.Query.term_query(SCHEMA, TRAITS, _WATERMARK, "basic")
    hits = searcher.search(query, 2, count=False).hits
    if not hits:
        if searcher.num_docs:
            raise ValueError("there are documents and no watermark")
        return None
    if len(hits) > 1:
        raise ValueError("there are several watermarks")
    stored = searcher.doc(hits[0][1]).get_first(KEY)
    if not isinstance(stored, bytes):
        raise ValueError("the watermark is empty")
    return msgspec.json.decode(stored, type=Watermark)


def documents_with(searcher: tantivy.Searcher, tokens: Iterable[str]) -> int:
    """How many documents have each of some traits, together; deleted ones may be among them."""
    return sum(searcher.doc_freq(TRAITS, token) for token in tokens)


def last_long_period(searcher: tantivy.Searcher) -> int | None:
    """The number of the last of the longest periods that an index has documents of."""
    found = searcher.terms_with_prefix(TRAITS, _LONG_PERIOD)
    return max((int(token.removeprefix(_LONG_PERIOD)) for token, _ in found), default=None)


def key_in(searcher: tantivy.Searcher, address: tantivy.DocAddress) -> EventKey:
    """The event that a document is of."""
    return _event_key_of(searcher.doc(address).get_first(KEY) or b"")
