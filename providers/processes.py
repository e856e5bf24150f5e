"""Processes of this program that compute for the one that started them, and answer through pipes.

Such a process opens no store and ends when its input does. It is a session of its own, since what a
terminal tells the one that started it is not for it.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Final

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
