"""Pages of a list with two ends, and how a caller asks for one.

A page is cut by keys, never by offsets, so that nothing shifts while rows come and go. One row more
than asked for is read to know whether another page follows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sessiongraph.cursor import CursorCodec
from sessiongraph.errors import InvalidLimit
from sessiongraph.ports import WindowRequest

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """``first`` after ``after``, or ``last`` before ``before``; neither: the list's default."""

    first: int | None = None
    after: str | None = None
    last: int | None = None
    before: str | None = None

    def limit(self, default: int, maximum: int) -> int:
        """How many items to return.

        Raises:
            InvalidLimit: outside 1 to ``maximum``, or both ends were asked for.
        """
        if self.first is not None and self.last is not None:
            raise InvalidLimit("ask for `first` or for `last`, not for both")
        asked = self.first if self.first is not None else self.last
        if asked is None:
            return min(default, maximum)
        if not 1 <= asked <= maximum:
            raise InvalidLimit(f"a page holds 1 to {maximum} items, not {asked}")
        return asked

    @property
    def from_end(self) -> bool:
        return self.last is not None


class Page(Generic[T]):
    """Items in the list's own order, and what lies beyond them."""

    __slots__ = ("_cursor_of", "has_next_page", "has_previous_page", "items", "total_count")

    def __init__(
        self,
        items: Sequence[T],
        cursor_of: Callable[[T], str],
        *,
        has_next_page: bool,
        has_previous_page: bool,
        total_count: int | None = None,
    ) -> None:
        self.items = items
        self.has_next_page = has_next_page
        self.has_previous_page = has_previous_page
        self.total_count = total_count
        self._cursor_of = cursor_of

    def cursor(self, item: T) -> str:
        """The cursor of one of the items."""
        return self._cursor_of(item)

    @property
    def start_cursor(self) -> str | None:
        return self._cursor_of(self.items[0]) if self.items else None

    @property
    def end_cursor(self) -> str | None:
        return self._cursor_of(self.items[-1]) if self.items else None


async def page_by_key(
    cursors: CursorCodec,
    brand: str,
    bound: Callable[[], str],
    request: PageRequest,
    maximum: int,
    find: Callable[[WindowRequest], Awaitable[list[T]]],
    key_of: Callable[[T], int],
) -> Page[T]:
    """A page of a list whose items are keyed by one ascending integer.

    brand, bound: what its cursors are bound to; the latter is asked for where there are cursors.
    find: the items of a window, in order. key_of: the key of an item.

    Raises:
        InvalidLimit, InvalidCursor, StaleCursor: see there.
    """
    limit = request.limit(default=100, maximum=maximum)

    def key_in(token: str | None) -> int | None:
        if token is None:
            return None
        (key,) = cursors.read(brand, bound(), token)
        return int(key)

    after, before = key_in(request.after), key_in(request.before)
    newest = request.from_end
    rows: list[T] = await find(WindowRequest(limit + 1, after, before, newest))
    more = len(rows) > limit
    items = rows[-limit:] if newest else rows[:limit]
    beyond_after = after is not None and bool(
        await find(WindowRequest(1, before=after + 1, newest=True))
    )
    beyond_before = before is not None and bool(await find(WindowRequest(1, after=before - 1)))
    return Page(
        items,
        lambda item: cursors.issue(brand, bound(), [key_of(item)]),
        has_next_page=beyond_before if newest else more or beyond_before,
        has_previous_page=more or beyond_after if newest else beyond_after,
    )
