"""Processes of this program that compute for the one that started them, and answer through pipes.

Such a process opens no store and ends when its input does, or when it was not asked for a while. It
is a session of its own, since what a terminal tells the one that started it is not for it. The two
speak by messages: a kind of one byte, the length and the content. Both ends are the same program
run by the same interpreter.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from struct import Struct
from typing import IO, Final

KEPT_S: Final = 30
"""How long a process may have had nothing to do and is asked again."""

IDLE_S: Final = 60
"""How long a process waits for the next request before it ends; nobody asks one that late."""

_FRAME: Final = Struct(">cQ")

_PIPE_BYTES: Final = 512 * 1024
"""How far one side may be ahead of the other, where the system can be told: some messages, so that
neither waits while the other computes."""


def started(module: str) -> subprocess.Popen[bytes]:
    """A process that runs a module of this program, which it finds where this one does.

    Raises:
        OSError: none can be started.
    """
    return subprocess.Popen(
        [sys.executable or "python3", "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
        start_new_session=True,
        pipesize=_PIPE_BYTES,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """Let a process end now, whatever it does."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        with suppress(OSError):  # a request that nobody took
            pipe.close()


@contextmanager
def answering() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Within such a process: what it is asked, and where it answers, until nobody reads that."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the other process to end this one
    gc.freeze()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints, prints elsewhere
    with suppress(BrokenPipeError):
        yield sys.stdin.buffer, answers
        answers.close()


def can_be_read(pipe: IO[bytes], within_s: float) -> bool:
    """Whether something of a pipe can be read, or nothing will ever be.

    By ``poll``, since ``select`` knows no pipe that was opened behind a thousand others.
    """
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    return bool(poll.poll(within_s * 1000))


def send_message(pipe: IO[bytes], kind: bytes, content: bytes) -> None:
    """Write one message.

    Raises:
        OSError: nobody reads the other end any more.
    """
    pipe.write(_FRAME.pack(kind, len(content)))
    pipe.write(content)
    pipe.flush()


def receive_message(pipe: IO[bytes]) -> tuple[bytes, bytes] | None:
    """Kind and content of the next message; None where the other end has closed the pipe, in the
    middle of one too."""
    frame = pipe.read(_FRAME.size)
    if len(frame) < _FRAME.size:
        return None
    kind, length = _FRAME.unpack(frame)
    content = pipe.read(length)
    return None if len(content) < length else (kind, content)
