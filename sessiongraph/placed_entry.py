"""An entry on its way into a store, with what is known of it before it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from sessiongraph.event import Entry
from sessiongraph.surface import Transition

Prepared = Any
"""What a store makes of an entry alone, before it knows where the entry goes; see :data:`Prepare`.

It consists of plain values that can be sent to another process, and only the store that made it
understands it.
"""

Prepare = Callable[[Entry], Prepared]
"""Does the part of storing an entry that can be done anywhere, by whoever has the entry first.

A function of a module, so that another process finds it by its name.
"""


class PlacedEntry(msgspec.Struct, frozen=True, gc=False):
    """An entry and what it does to the surface: what a store appends.

    prepared: what the store made of it before; None where that is still to be done.
    """

    entry: Entry
    transition: Transition
    prepared: Prepared = None
