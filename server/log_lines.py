"""Log lines on their way to stderr, written by a thread of their own.

Who reads stderr may be slow or stop reading: a program behind a pipe that hangs, a terminal in
which somebody holds a selection. A write then waits, and on the event loop all requests would wait
with it, for ever. So a server hands its lines over and goes on. What waits is bounded: lines that
find no room are lost, and how many is said as soon as there is room again.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from typing_extensions import override

MOST_WAITING: Final = 1 << 20
"""Bytes of lines that may wait to be written."""

_LAST_WRITES_S: Final = 1.0
"""How long the end of a server waits for its last lines to be taken."""


@contextmanager
def lines_written_aside() -> Iterator[None]:
    """Let log lines that go to stderr be written by a thread while the block lasts.

    What Python would write there by itself, warnings and exceptions that nobody can catch, is
    logged.
    """
    root = logging.getLogger()
    direct = [each for each in root.handlers if _goes_to(each, sys.stderr)]
    if not direct or not _has_descriptor(sys.stderr):
        yield
        return
    aside = LinesAside(sys.stderr, direct[0].formatter)
    root.handlers = [each for each in root.handlers if each not in direct] + [aside]
    unraisable_hook, sys.unraisablehook = sys.unraisablehook, _log_unraisable
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        sys.unraisablehook = unraisable_hook
        # Where nobody takes the last lines, further ones would only make the end wait, too.
        if aside.finish(_LAST_WRITES_S):
            root.handlers = [each for each in root.handlers if each is not aside] + direct


class LinesAside(logging.Handler):
    """Writes lines to the descriptor of a stream."""

    def __init__(self, stream: TextIO, formatter: logging.Formatter | None) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self.lost = 0
        self._encoding, self._errors = stream.encoding, stream.errors or "replace"
        self._descriptor = stream.fileno()
        self._waiting: list[bytes] = []
        self._size = 0
        self._changed = threading.Condition()
        self._finishing = False
        self._thread = threading.Thread(target=self._write_lines, name="log-lines", daemon=True)
        self._thread.start()

    @override
    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self._line(record)
        except Exception:  # noqa: BLE001 - as every handler of the standard library
            self.handleError(record)
            return
        with self._changed:
            if self._size + len(line) > MOST_WAITING:
                self.lost += 1
                return
            self._waiting.append(line)
            self._size += len(line)
            self._changed.notify()

    def finish(self, within_s: float) -> bool:
        """Write what waits, then end; False when it takes longer."""
        with self._changed:
            self._finishing = True
            self._changed.notify()
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def _line(self, record: logging.LogRecord) -> bytes:
        return f"{self.format(record)}\n".encode(self._encoding, self._errors)

    def _write_lines(self) -> None:
        while True:
            with self._changed:
                while not (self._waiting or self.lost or self._finishing):
                    self._changed.wait()
                if not (self._waiting or self.lost):
                    return
                lines, self._waiting = self._waiting, []
                lost, self.lost = self.lost, 0
            if lost:
                lines.append(self._line(_loss(lost)))
            self._write(b"".join(lines))
            with self._changed:
                self._size = sum(map(len, self._waiting))

    def _write(self, text: bytes) -> None:
        rest = memoryview(text)
        while rest:
            try:
                rest = rest[os.write(self._descriptor, rest) :]
            except OSError:
                return  # nobody will ever read it


def _loss(count: int) -> logging.LogRecord:
    message = "%d log messages were lost: nobody took what was written to stderr"
    return logging.LogRecord(__name__, logging.WARNING, __file__, 0, message, (count,), None)


def _log_unraisable(unraisable: sys.UnraisableHookArgs) -> None:
    what = unraisable.err_msg or "exception ignored"
    exception = unraisable.exc_value
    logging.getLogger(__name__).error(
        "%s (%s)", what, type(unraisable.object).__qualname__, exc_info=exception
    )


def _goes_to(handler: logging.Handler, stream: object) -> bool:
    return isinstance(handler, logging.StreamHandler) and handler.stream is stream


def _has_descriptor(stream: TextIO) -> bool:
    try:
        stream.fileno()
    except (OSError, ValueError):
        return False
    return True
