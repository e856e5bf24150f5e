"""Which units look at events of a type: worked out once, asked for every event.

An event that concerns nobody costs one look into a dictionary. Units are named by their place in a
tuple, so that the cells of a session are a plain list in the same order.
"""

from __future__ import annotations

from typing import Any

from sessiongraph.projections.unit import Projection


class Routes:
    """A fixed set of units and who of them looks at what.

    everything: places of the units that look at events of every type.
    """

    __slots__ = ("_by_type", "everything", "units")

    def __init__(self, units: tuple[Projection[Any], ...]) -> None:
        self.units = units
        named = {each for unit in units for each in unit.event_types or ()}
        self.everything = tuple(
            place for place, unit in enumerate(units) if unit.event_types is None
        )
        self._by_type = {
            name: tuple(place for place, unit in enumerate(units) if unit.looks_at(name))
            for name in named
        }

    def of(self, event_type: str) -> tuple[int, ...]:
        """Places of the units that look at events of this type."""
        return self._by_type.get(event_type, self.everything)
