"""Which projections there are: ours, and those of installed packages.

The same unit may be registered several times and lives until the last registration is disposed of;
another version or another definition under a taken key is an error (projections.md, "The
registry"). Whoever drives units asks :attr:`Registry.routes`, an object that is replaced, never
changed, whenever a unit comes or goes: comparing it by identity tells whether anything did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

import structlog

from sessiongraph.projections.routes import Routes
from sessiongraph.projections.unit import InvalidProjection, Projection, require_sound

_log: Final = structlog.get_logger(__name__)

ENTRY_POINT_GROUP: Final = "sessiongraph.projections"
"""Where installed packages name their projections: one, or an iterable of them."""


class ProjectionConflict(ValueError):
    """Another version or another definition under a key that is taken."""


class Registry:
    """The units of one program.

    units: registered from the beginning, for good.
    """

    def __init__(self, units: Iterable[Projection[Any]] = ()) -> None:
        self._units: dict[str, Projection[Any]] = {}
        self._holders: dict[str, int] = {}
        self.routes = Routes(())
        for unit in units:
            self.register(unit)

    def register(self, unit: Projection[Any]) -> Callable[[], None]:
        """Add a unit; answers what takes this registration back, once.

        Raises:
            InvalidProjection: the unit could never work.
            ProjectionConflict: its key is taken by another version or definition.
        """
        require_sound(unit)
        known = self._units.get(unit.key)
        if known is None:
            self._units[unit.key] = unit
            self._renew()
        elif known.state_version != unit.state_version:
            raise ProjectionConflict(
                f"{unit.key} is registered with version {known.state_version}, "
                f"not {unit.state_version}"
            )
        elif known != unit:
            raise ProjectionConflict(f"{unit.key} is registered with another definition")
        self._holders[unit.key] = self._holders.get(unit.key, 0) + 1
        return _Disposer(self, unit.key)

    def release(self, key: str) -> None:
        """Take one registration back; the unit goes with its last one."""
        self._holders[key] -= 1
        if not self._holders[key]:
            del self._holders[key]
            del self._units[key]
            self._renew()

    def keys(self) -> list[str]:
        """The keys that clients can ask for, in the order of registration."""
        return [unit.key for unit in self._units.values() if unit.view is not None]

    def shows(self, key: str) -> bool:
        """Whether clients can ask for a key."""
        unit = self._units.get(key)
        return unit is not None and unit.view is not None

    def _renew(self) -> None:
        self.routes = Routes(tuple(self._units.values()))


class _Disposer:
    __slots__ = ("_key", "_registry")

    def __init__(self, registry: Registry, key: str) -> None:
        self._registry: Registry | None = registry
        self._key = key

    def __call__(self) -> None:
        registry, self._registry = self._registry, None
        if registry is not None:
            registry.release(self._key)


def register_installed(registry: Registry) -> list[str]:
    """Register the units of every installed package; answers the names of those that failed.

    A package that cannot be loaded is logged and left out: it must not keep the server from
    starting.
    """
    failed: list[str] = []
    for point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            for unit in _units_of(point):
                registry.register(unit)
        except Exception as error:  # noqa: BLE001 - it is somebody else's code
            failed.append(point.name)
            _log.error(
                "a projection of an installed package was left out",
                entry_point=point.name,
                value=point.value,
                error=f"{type(error).__name__}: {error}",
            )
    return failed


def _units_of(point: EntryPoint) -> Iterable[Projection[Any]]:
    loaded = point.load()
    units = [loaded] if isinstance(loaded, Projection) else list(loaded)
    for unit in units:
        if not isinstance(unit, Projection):
            raise InvalidProjection(f"{point.value} names something that is no projection")
    return units
