"""What Tantivy raises, as the one failure that the domain knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sessiongraph.errors import IndexFailed


@contextmanager
def index_failures(done: str) -> Iterator[None]:
    """Turn whatever goes wrong inside into an :class:`IndexFailed`.

    A panic of the library is no ``Exception``; it is told from those that end a program by name.
    """
    try:
        yield
    except IndexFailed:
        raise
    except Exception as error:
        raise IndexFailed(f"the index could not be {done}: {error}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise IndexFailed(f"the index could not be {done}: {error}") from error
