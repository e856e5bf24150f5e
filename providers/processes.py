"""Processes of this program that compute for the one that started them, and answer through pipes.

Such a process opens no store and ends when its input does, or when it was not asked for a while. It
is a session of its own, since what a terminal tells the one that started it is not for it. The two
speak by messages: a kind of one byte, the length and the content. Both ends are the same program
run by the same interpreter.

Answers have a pipe of their own, of which nothing else in that process knows: what is printed there
(also by a ``sitecustomize``, before any line of this program runs) is lost and does no harm. What
comes through a pipe is believed no more than that: what cannot be a message is told from one.
"""

from __future__ import annotations

import fcntl
import gc
import math
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from struct import Struct
from typing import IO, Final, Protocol

IDLE_S: Final = 60
"""How long a process waits for the next request before it ends."""

MESSAGE_MAX: Final = 1 << 30
"""Octets of the largest message: some times those of the longest line that is read. Letters that
were taken for a length would be a far greater one."""

_FRAME: Final = Struct(">cQ")

_PIPE_BYTES: Final = 512 * 1024
"""How far one side may be ahead of the other, where the system can be told: some messages, so that
neither waits while the other computes."""

_TO_END_S: Final = 1
"""How long a process that has closed its pipes may take to be gone."""


class NotAMessage(Exception):
    """What came through a pipe cannot be what the other end was to send; says in which way."""


class ReadablePipe(Protocol):
    """The end of a pipe at which messages arrive."""

    def read(self, size: int, /) -> bytes:
        """So many octets; fewer at the end alone."""
        ...


class WritablePipe(Protocol):
    """The end of a pipe that takes messages."""

    def write(self, octets: bytes, /) -> object:
        """Give all of them."""
        ...

    def flush(self) -> None:
        """Keep nothing back."""
        ...


class ComputingProcess:
    """One such process, for the one that started it.

    module: of this program, which the process finds where this one does.

    Raises:
        OSError: none can be started.
    """

    def __init__(self, module: str) -> None:
        reading, writing = os.pipe()
        self.answers: IO[bytes] = os.fdopen(reading, "rb")
        try:
            self._process = subprocess.Popen(
                [sys.executable or "python3", "-P", "-m", module, str(writing)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=[writing],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
                start_new_session=True,
            )
        except BaseException:
            self.answers.close()
            raise
        finally:
            os.close(writing)
        assert self._process.stdin is not None
        self.requests: IO[bytes] = self._process.stdin
        for pipe in (self.requests, self.answers):
            _widen(pipe)

    @property
    def pid(self) -> int:
        """Of the process, also when it has ended."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it is gone; nothing is left of it in the system once that was asked."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """Have it end; for any thread, at any time."""
        self._process.kill()

    def end(self) -> None:
        """Let it end now, whatever it does."""
        self.kill()
        self._process.wait()
        for pipe in (self.requests, self.answers):
            with suppress(OSError):  # a request that nobody took
                pipe.close()

    def exit_code(self) -> int:
        """How it ended, negative for a signal; one that has not yet is ended."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_TO_END_S)
        self.end()
        assert self._process.returncode is not None
        return self._process.returncode

    def how_it_ended(self) -> str:
        """The same in words."""
        code = self.exit_code()
        return f"signal {-code}" if code < 0 else f"exit code {code}"


def _widen(pipe: IO[bytes]) -> None:
    """Let more be in a pipe, where the system lets us."""
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


@contextmanager
def answering() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Within such a process: what it is asked, and where it answers, until nobody reads that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the other process to end this one
    gc.freeze()
    answers = os.fdopen(int(sys.argv[1]), "wb")
    with suppress(BrokenPipeError):
        yield sys.stdin.buffer, answers
        answers.close()


class TimedPipe:
    """One end of a pipe that is read or written until a moment and no longer.

    until: that moment, in monotonic seconds.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        self.until = math.inf
        self._end = pipe.fileno()
        os.set_blocking(self._end, False)

    def read(self, size: int, /) -> bytes:
        """So many octets; fewer where the other end is closed.

        Raises:
            TimeoutError: the moment is over.
        """
        octets = bytearray()
        while len(octets) < size:
            self._wait_for(select.POLLIN)
            more = os.read(self._end, min(size - len(octets), _PIPE_BYTES))
            if not more:
                break
            octets += more
        return bytes(octets)

    def write(self, octets: bytes, /) -> None:
        """Give all of them.

        Raises:
            TimeoutError: the moment is over.
            OSError: the other end is closed.
        """
        left = memoryview(octets)
        while left:
            self._wait_for(select.POLLOUT)
            left = left[os.write(self._end, left) :]

    def flush(self) -> None:
        """Nothing is kept back."""

    def _wait_for(self, event: int) -> None:
        if not _is_ready(self._end, event, max(0, self.until - time.monotonic())):
            raise TimeoutError


def can_be_read(pipe: IO[bytes], within_s: float) -> bool:
    """Whether something of a pipe can be read, or nothing will ever be."""
    return _is_ready(pipe.fileno(), select.POLLIN, within_s)


def _is_ready(end: int, event: int, within_s: float) -> bool:
    """By ``poll``, since ``select`` knows no pipe that was opened behind a thousand others."""
    poll = select.poll()
    poll.register(end, event)
    return bool(poll.poll(None if within_s == math.inf else within_s * 1000))


def send_message(pipe: WritablePipe, kind: bytes, content: bytes) -> None:
    """Write one message.

    Raises:
        OSError: nobody reads the other end any more.
    """
    pipe.write(_FRAME.pack(kind, len(content)))
    pipe.write(content)
    pipe.flush()


def receive_message(pipe: ReadablePipe) -> tuple[bytes, bytes] | None:
    """Kind and content of the next message; None where the other end has closed the pipe, in the
    middle of one too.

    Raises:
        NotAMessage: what comes would be too long for one.
    """
    frame = pipe.read(_FRAME.size)
    if len(frame) < _FRAME.size:
        return None
    kind, length = _FRAME.unpack(frame)
    if length > MESSAGE_MAX:
        raise NotAMessage(f"it begins with {frame!r}")
    content = pipe.read(length)
    return None if len(content) < length else (kind, content)
