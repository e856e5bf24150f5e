"""The payload of an event: as the text that was logged, and as the value that the text means.

The text goes into responses verbatim, so that a log passes through the product without being taken
apart; the value is parsed at most once for an event, when the first field needs it. A payload that
cannot be decoded is a :class:`~sessiongraph.errors.CorruptSession` of the field that asked.
"""

from __future__ import annotations

import msgspec

from resolvers.context import RequestContext
from sessiongraph import lossless
from sessiongraph.errors import CorruptSession
from sessiongraph.event import PlacedEvent
from sessiongraph.payloads import Data

_SYNTAX = msgspec.json.Decoder(msgspec.Raw)


def data_of(placed: PlacedEvent) -> Data:
    """The parsed payload; without its stream when the event is elided.

    Raises:
        CorruptSession: the stored text is not JSON, or nested beyond all reason.
    """
    try:
        return placed.event.data
    except (ValueError, RecursionError) as error:
        raise CorruptSession(f"{_name(placed)} has a payload that cannot be read") from error


def payload_at_hand(placed: PlacedEvent) -> bytes:
    """The JSON text of the payload of an event that was read whole, exactly as logged.

    Most events are, so that lists of them wait for nothing.

    Raises:
        CorruptSession: the stored text is not JSON.
    """
    return _checked(placed, placed.event.payload)


async def fetch_payload(context: RequestContext, placed: PlacedEvent) -> bytes:
    """The same of an event that was read without its stream; in one batch with its neighbours.

    Raises:
        CorruptSession: the stored text is not JSON, or is not there.
    """
    text = await context.loaders.payloads.load((placed.session_id, placed.seq))
    if text is None:
        raise CorruptSession(f"{_name(placed)} has lost its payload")
    return _checked(placed, text)


def _checked(placed: PlacedEvent, text: bytes) -> bytes:
    """``text``, if it is JSON: one that is not would break the whole response.

    Skipping over a text costs half of parsing it and makes no objects; only what the fast reader
    does not accept (lone surrogates, for one) is looked at by the exact one.
    """
    try:
        text.decode("utf-8")
        _SYNTAX.decode(text)
    except (UnicodeDecodeError, msgspec.DecodeError, RecursionError):
        try:
            lossless.decode_exactly(text)
        except ValueError as error:
            raise CorruptSession(f"{_name(placed)} has a payload that cannot be read") from error
    return text


def _name(placed: PlacedEvent) -> str:
    return f"event {placed.seq} of {placed.session_id!r}"
