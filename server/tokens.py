"""The token file: who may ask, as what, and how their secrets are kept.

``token`` in the data directory lists the tokens as JSON. Always true:

* only its owner can read it (0600), and a file that others can read is refused, not used;
* it is replaced whole, never written in place, so whoever reads it sees one list or another;
* of a token that was created, the file has the SHA-256 of the secret and nothing that leads back to
  it. The *main* token alone is kept in clear: it is the owner's own, shown by ``token show``, and
  whoever can read this file can read the log store beside it.

A secret has 256 random bits, so a plain hash of it is as good as a slow one. Those who change the
file lock the directory for as long as it takes: a running server reads it and holds nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hmac import compare_digest
from pathlib import Path
from typing import Final

import msgspec

from server.failures import OperatorError
from sessiongraph.access import Grant, Scope
from sessiongraph.errors import InvalidConfig
from sessiongraph.header import EpochMillis

_SECRET_BYTES: Final = 32
_BEGINNING: Final = "sgt_"

SECRET: Final = re.compile(_BEGINNING + r"[A-Za-z0-9_-]{43}")
"""How a secret looks, so that people and scanners know one when they see it."""

_ID_BYTES: Final = 4
_VERSION: Final = 1
_PRIVATE: Final = 0o600
_OTHERS: Final = 0o077

Stamp = tuple[int, int, int]
"""Inode, size and time of a token file; where all are as they were, nothing happened to it."""


_UNSEEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that names and directories cannot have: in a list they would look like something else,
and half characters cannot be written down."""


class UnknownToken(OperatorError):
    """No token has the id."""


class TokenRefused(OperatorError):
    """No token can be made like this."""


class Token(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """One token, as the file has it.

    id: names it for people; no secret. name: what its owner calls it.
    sha256: of the secret, in hex. secret: of the main token alone.
    cwd: absolute directories, see :class:`sessiongraph.access.Grant`; None: all sessions.
    """

    id: str
    scope: Scope
    created_at: EpochMillis
    sha256: str
    name: str | None = None
    cwd: tuple[str, ...] | None = None
    secret: str | None = None

    @property
    def is_main(self) -> bool:
        """Whether it is the owner's own, whose secret is kept."""
        return self.secret is not None

    @property
    def authorization(self) -> str:
        """What the ``Authorization`` header has, of the main token."""
        assert self.secret is not None
        return f"Bearer {self.secret}"

    @property
    def grant(self) -> Grant:
        """What it allows."""
        return Grant(self.scope, self.cwd)


class _Contents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    tokens: tuple[Token, ...]


class TokenFile:
    """The tokens of one data directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[Token, ...]:
        """All tokens, in the order in which they were made; none when there is no file.

        Raises:
            InvalidConfig: others can read the file, or it is no list of tokens; a key that nobody
                knows may be a misspelt limit, and of two tokens with one id nobody knows which.
        """
        try:
            descriptor = os.open(self.path, os.O_RDONLY)
        except FileNotFoundError:
            return ()
        with os.fdopen(descriptor, "rb") as file:
            if os.fstat(descriptor).st_mode & _OTHERS:
                raise InvalidConfig(
                    f"others than its owner can read {self.path}: `chmod 600` it, and revoke its "
                    "tokens if somebody may have"
                )
            text = file.read()
        try:
            contents = msgspec.json.decode(text, type=_Contents)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InvalidConfig(f"{self.path} is no list of tokens: {error}") from error
        if contents.version != _VERSION:
            raise InvalidConfig(
                f"{self.path} is of version {contents.version}, which this program does not know"
            )
        if len({token.id for token in contents.tokens}) < len(contents.tokens):
            raise InvalidConfig(f"{self.path} has two tokens with the same id")
        return contents.tokens

    def stamp(self) -> Stamp | None:
        """What tells one state of the file from another; None when there is no file."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_ino, status.st_size, status.st_mtime_ns

    def main(self) -> Token:
        """The owner's own token, an admin's, made when there is none.

        Raises:
            InvalidConfig: see :meth:`read`.
        """
        with self._locked():
            found = self.existing_main()
            if found is None:
                secret = _new_secret()
                found = _token(secret, Scope.ADMIN, name="main", secret=secret)
                self._write([*self.read(), found])
            return found

    def existing_main(self) -> Token | None:
        """The owner's own token, None when there is none.

        Raises:
            InvalidConfig: see :meth:`read`.
        """
        return next((token for token in self.read() if token.is_main), None)

    def create(
        self, scope: Scope, cwd: tuple[str, ...] | None = None, name: str | None = None
    ) -> tuple[Token, str]:
        """A further token, and its secret, which nobody can learn afterwards.

        Raises:
            TokenRefused: the name is blank, or it or a directory has characters that nobody sees.
            InvalidConfig: a directory is none that a grant can have; or see :meth:`read`.
        """
        if name is not None and (not name.strip() or _UNSEEN.search(name)):
            raise TokenRefused(
                f"a token's name is not blank and has no control characters: {name!r}"
            )
        for directory in filter(_UNSEEN.search, cwd or ()):
            raise TokenRefused(
                f"a token's directory is UTF-8 and has no control characters: {directory!r}"
            )
        with self._locked():
            secret = _new_secret()
            token = _token(secret, scope, cwd=cwd, name=name)
            _ = token.grant  # what cannot be granted would make the whole file one that cannot
            self._write([*self.read(), token])
            return token, secret

    def revoke(self, token_id: str) -> Token:
        """Take a token out; it is worth nothing from now on.

        Raises:
            UnknownToken: there is none with this id.
            InvalidConfig: see :meth:`read`.
        """
        with self._locked():
            tokens = self.read()
            found = next((token for token in tokens if token.id == token_id), None)
            if found is None:
                raise UnknownToken(f"no token has the id {token_id!r} (`sessiongraph token list`)")
            self._write([token for token in tokens if token is not found])
            return found

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Be the only one that changes the file; makes the directory where it is missing."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _write(self, tokens: Sequence[Token]) -> None:
        text = msgspec.json.format(msgspec.json.encode(_Contents(_VERSION, tuple(tokens)))) + b"\n"
        unfinished = self.path.with_name(f"{self.path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text)
                file.flush()
                os.fsync(descriptor)
            unfinished.replace(self.path)
        finally:
            unfinished.unlink(missing_ok=True)


def find_token(tokens: Sequence[Token], secret: str) -> Token | None:
    """The token that a secret belongs to.

    Hashes are compared, each in constant time and all of them whatever was found, so how long it
    takes tells nothing about any of them.
    """
    given = hashlib.sha256(secret.encode("utf-8")).hexdigest()
    found = None
    for token in tokens:
        if compare_digest(token.sha256, given):
            found = token
    return found


def _new_secret() -> str:
    return _BEGINNING + secrets.token_urlsafe(_SECRET_BYTES)


def _token(
    secret_text: str,
    scope: Scope,
    *,
    cwd: tuple[str, ...] | None = None,
    name: str | None = None,
    secret: str | None = None,
) -> Token:
    return Token(
        id=secrets.token_hex(_ID_BYTES),
        scope=scope,
        created_at=time.time_ns() // 1_000_000,
        sha256=hashlib.sha256(secret_text.encode("utf-8")).hexdigest(),
        name=name,
        cwd=cwd,
        secret=secret,
    )
