"""The numbers that rows are found by; :mod:`providers.sqlite.migrations` says what they mean."""

from __future__ import annotations

from typing import Final

STAGED, VISIBLE, DOOMED = 0, 1, 2
"""States of a log: being written, answered from, being removed.

``staged_by`` names whoever is writing rows behind the visible end of a log; NULL when nobody is.
"""

LANE_SHIFT, TYPE_SHIFT, SEQ_SHIFT, NODE_SHIFT, LEVEL_SHIFT = 22, 2, 32, 36, 31

LOW_32: Final = 0xFFFFFFFF
"""The seq in an event's number, and the position in a place."""
