"""Working directories as places: which one lies at or below which other.

Recorders write directories as their machine does, of any system, so nothing here asks the file
system of this one; what a path means is read from its letters alone. A *place* is the normal form:
absolute, ``/`` between its names and behind the last one, nothing to skip or to climb. Because a
place ends where a name ends, one lies at or below another exactly when it begins with it.

A backslash separates names as a slash does, letters of drives have one case, and a share of a
network (``\\\\server\\share``) cannot be climbed out of; nothing lies above its server. What is not
absolute is at no place: nobody can tell where it lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

DEEPEST: Final = 64
"""Names of the deepest place that others can be asked to lie below."""

LONGEST: Final = 4096
"""UTF-8 bytes of the longest one."""

_SHARE: Final = "\\\\"
_NAMES_OF_A_SHARE: Final = 2


@lru_cache(maxsize=4096)
def place_of(directory: str) -> str | None:
    """The place that a directory names; None for one that is not absolute."""
    fixed = 0
    if directory.startswith(_SHARE):
        root, rest, fixed = _SHARE, directory[2:], _NAMES_OF_A_SHARE
    elif directory.startswith("/"):
        root, rest = "/", directory
    elif _is_on_a_drive(directory):
        root, rest = f"{directory[0].lower()}:/", directory[2:]
    else:
        return None
    names: list[str] = []
    for name in rest.replace("\\", "/").split("/"):
        if name == "..":
            del names[max(fixed, len(names) - 1) :]
        elif name not in ("", "."):
            names.append(name)
    if root == _SHARE and not names:
        return None
    return root + "".join(f"{name}/" for name in names)


def _is_on_a_drive(directory: str) -> bool:
    letter = directory[:1]
    return letter.isascii() and letter.isalpha() and directory[1:3] in (":/", ":\\")


def places_above(place: str) -> Iterator[str]:
    """A place and those that it lies below, from the highest one, as far as they can be asked."""
    at = 0
    for _ in range(DEEPEST + 1):
        at = place.find("/", at) + 1
        if not at or octets_of(place[:at]) > LONGEST:
            return
        yield place[:at]


def highest(places: Iterable[str]) -> frozenset[str]:
    """Those of some places that lie below none of the others."""
    found: list[str] = []
    for place in sorted(set(places)):
        if not found or not place.startswith(found[-1]):
            found.append(place)
    return frozenset(found)


def octets_of(place: str) -> int:
    """The UTF-8 bytes of a place, lone surrogates as they are."""
    return len(place.encode("utf-8", "surrogatepass"))


def lies_within(directory: str | None, places: Iterable[str]) -> bool:
    """Whether a working directory lies at or below one of some places."""
    place = None if directory is None else place_of(directory)
    return place is not None and any(place.startswith(each) for each in places)
