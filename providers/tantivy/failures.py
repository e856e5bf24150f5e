"""What Tantivy raises, as the one failure that the domain knows."""

from __future__ import annotations

from types import TracebackType
from typing import Final

from sessiongraph.errors import IndexFailed

_LOCKED: Final = "LockBusy"


def is_written_by_others(failure: IndexFailed) -> bool:
    """Whether an index could not be opened only because somebody else writes it.

    Its files are whole then, and must stay where they are.
    """
    return _LOCKED in failure.message


class IndexFailures:
    """Turns whatever goes wrong inside into an :class:`IndexFailed`.

    A panic of the library is no ``Exception``; it is told from those that end a program by name.
    A class and not a generator, since each search goes in and out several times.
    """

    __slots__ = ("_done",)

    def __init__(self, done: str) -> None:
        self._done = done

    def __enter__(self) -> None:
        """Nothing has gone wrong yet."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if error is None or isinstance(error, IndexFailed):
            return
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            # The frames of it would keep the writer, and the next one could not have its lock.
            del where
            cause = error.with_traceback(None)
            raise IndexFailed(f"the index could not be {self._done}: {error}") from cause
