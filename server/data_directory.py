"""The data directory: where a server keeps everything, and who holds it now.

Whoever may write to a directory holds the lock on its ``server.lock`` for as long as it lives: a
server, an import, a repair. The lock is the kernel's (``flock``), so it goes with the process,
however that ends; the text in the file only says who holds it, and means nothing without the lock.
Reading needs no lock.

Everything in here is for the owner alone: the directory is created with mode 0700, and while the
lock is held nothing that this process creates can be read by others, wherever the directory lies.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from server.failures import OperatorError
from sessiongraph.cursor import KEY_BYTES
from sessiongraph.errors import InvalidConfig

_LOCK_NAME: Final = "server.lock"
_LOG_NAME: Final = "log.db"
_INDEX_NAME: Final = "index"
_KEY_NAME: Final = "cursor.key"
_MEDIA_NAME: Final = "media"
_TOKEN_NAME: Final = "token"
_PRIVATE_UMASK: Final = 0o077


class Holder(msgspec.Struct, frozen=True):
    """Who holds a data directory.

    command: what the process was started as. address: where it answers, None when it does not.
    """

    pid: int
    command: str
    address: str | None = None


class DirectoryInUse(OperatorError):
    """Another process holds the data directory; the message names it as far as it is known."""

    def __init__(self, path: Path, holder: Holder | None) -> None:
        if holder is None:
            who = "another process that is just starting or stopping"
        else:
            where = f" at {holder.address}" if holder.address else ""
            who = f"`sessiongraph {holder.command}`{where} (pid {holder.pid})"
        super().__init__(f"the data directory {path} is in use by {who}")
        self.holder = holder


class DirectoryLock:
    """The hold of this process on a data directory."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def announce(self, command: str, address: str | None = None) -> None:
        """Say who holds the directory, for those who are refused."""
        text = msgspec.json.encode(Holder(os.getpid(), command, address))
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, text + b"\n", 0)


class DataDirectory:
    """One data directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def log_path(self) -> Path:
        """The log store's file."""
        return self.path / _LOG_NAME

    @property
    def index_path(self) -> Path:
        """The folder of the full-text index."""
        return self.path / _INDEX_NAME

    @property
    def media_path(self) -> Path:
        """The folder of images and the like."""
        return self.path / _MEDIA_NAME

    @property
    def token_path(self) -> Path:
        """The file of the tokens."""
        return self.path / _TOKEN_NAME

    def create(self) -> None:
        """Make the directory, and those above it, where they are missing."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextmanager
    def hold(self, command: str) -> Iterator[DirectoryLock]:
        """Be the only one that writes here; creates the directory where it is missing.

        Raises:
            DirectoryInUse: somebody else is.
        """
        self.create()
        outer_umask = os.umask(_PRIVATE_UMASK)
        descriptor = -1
        try:
            descriptor = os.open(self.path / _LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DirectoryInUse(self.path, _holder(descriptor)) from None
            try:
                lock = DirectoryLock(descriptor)
                lock.announce(command)
                yield lock
            finally:
                os.ftruncate(descriptor, 0)
        finally:
            if descriptor >= 0:
                os.close(descriptor)
            os.umask(outer_umask)

    def cursor_key(self) -> bytes:
        """The secret that authenticates cursors, made when there is none yet.

        Raises:
            InvalidConfig: what lies in its place is no such secret.
        """
        path = self.path / _KEY_NAME
        if not path.exists():
            self._create_key(path)
        key = path.read_bytes()
        if len(key) != KEY_BYTES:
            raise InvalidConfig(f"{path} must hold {KEY_BYTES} bytes, not {len(key)}: remove it")
        return key

    def _create_key(self, path: Path) -> None:
        """All or nothing: the key appears under its name only once it is whole and on disk."""
        unfinished = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
                file.flush()
                os.fsync(descriptor)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)


def _holder(descriptor: int) -> Holder | None:
    try:
        return msgspec.json.decode(os.pread(descriptor, 65536, 0), type=Holder)
    except msgspec.MsgspecError:
        return None
