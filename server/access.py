"""Who asks: the tokens that hold now, and the connections that live by them.

Every request and every connection is *admitted* before anything of it is looked at, and gets the
grant that its token has. The token file is the only truth: it is looked at, one ``stat``, whenever
somebody is admitted or begins an operation, so a token that was revoked a moment ago is worth
nothing; and once a second for the sake of those who are connected and say nothing. (A watch on the
data directory would wake for every write of the store.) When the file cannot be read, nobody is
admitted and everybody is sent away: what is not known to hold does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final

import structlog

from server.credentials import HOW_TO_SEND, bearer_of
from server.kept_up import kept_up
from server.tokens import Stamp, Token, TokenFile, find_token
from sessiongraph.access import EVERYTHING, Grant
from sessiongraph.errors import Forbidden, InvalidConfig, Unauthenticated

LOOK_EVERY_S: Final = 1.0
"""Between two looks at the token file; after so long the connections of a revoked token close."""

REVOKED: Final = "this token was revoked"

_log: Final = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Admission:
    """That somebody was let in.

    grant: what they may do and see. token_id: of their token; None where nobody needs one.
    """

    grant: Grant
    token_id: str | None


class Access:
    """Who may ask one server.

    tokens: the file that says so; None: everybody may do everything.
    """

    def __init__(self, tokens: TokenFile | None) -> None:
        self._file = tokens
        self._stamp: Stamp | None = None
        self._tokens: tuple[Token, ...] = ()
        self._grants: dict[str, Grant] = {}
        self._held: dict[Callable[[], None], Admission] = {}

    @classmethod
    def open(cls) -> Access:
        """That of a server without authentication."""
        return cls(None)

    def admit(self, secret: str | None) -> Admission:
        """Let somebody in.

        secret: what they showed; None: nothing.

        Raises:
            Unauthenticated: it is no token that holds now.
        """
        if self._file is None:
            return Admission(EVERYTHING, None)
        self._look()
        token = None if secret is None else find_token(self._tokens, secret)
        if token is None:
            problem = "a token is needed" if secret is None else "this token is not valid"
            raise Unauthenticated(f"{problem}: {HOW_TO_SEND}")
        return Admission(self._grants[token.id], token.id)

    def admit_request(self, headers: Iterable[tuple[bytes, bytes]]) -> Admission:
        """Let in who sent these raw headers.

        Raises:
            Unauthenticated: they have no token that holds now.
        """
        if self._file is None:
            return Admission(EVERYTHING, None)
        return self.admit(bearer_of(headers))

    def grant_of(self, headers: Iterable[tuple[bytes, bytes]]) -> Grant:
        """What who sent these raw headers may do and see.

        Raises:
            Unauthenticated: they have no token that holds now.
        """
        return self.admit_request(headers).grant

    def grant_of_everything(self, headers: Iterable[tuple[bytes, bytes]]) -> Grant:
        """The grant of who sent these raw headers, for what tells of all sessions together.

        Raises:
            Unauthenticated: they have no token that holds now.
            Forbidden: the token is for some directories only.
        """
        grant = self.grant_of(headers)
        if grant.cwd_prefixes is not None:
            raise Forbidden("this tells of all sessions, and the token is for some directories")
        return grant

    def check(self, admission: Admission) -> None:
        """That the token of somebody who is in still holds.

        Raises:
            Unauthenticated: it was revoked.
        """
        self._look()
        if not self._holds(admission):
            raise Unauthenticated(REVOKED)

    @contextmanager
    def holding(self, admission: Admission, revoked: Callable[[], None]) -> Iterator[None]:
        """Be connected by a token while the block lasts.

        revoked: called once when the token is revoked, at once when it is already.
        """
        if admission.token_id is None:
            yield
            return
        self._look()
        if not self._holds(admission):
            revoked()
            yield
            return
        self._held[revoked] = admission
        try:
            yield
        finally:
            self._held.pop(revoked, None)

    @asynccontextmanager
    async def following(self) -> AsyncIterator[None]:
        """Send those away whose tokens are revoked, while the block lasts."""
        if self._file is None:
            yield
            return
        task = asyncio.create_task(kept_up("looking at the token file", self._follow))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def _follow(self) -> None:
        while True:
            self._look()
            await asyncio.sleep(LOOK_EVERY_S)

    def _holds(self, admission: Admission) -> bool:
        token_id = admission.token_id
        return token_id is None or self._grants.get(token_id) == admission.grant

    def _look(self) -> None:
        """Read the file when something happened to it, and send away whom it does not name."""
        if self._file is None or (stamp := self._file.stamp()) == self._stamp:
            return
        try:
            tokens = self._file.read()
            grants = {token.id: token.grant for token in tokens}
        except (InvalidConfig, OSError) as error:
            _log.error("the token file cannot be used: nobody is let in", reason=str(error))
            tokens, grants = (), {}
        self._stamp, self._tokens, self._grants = stamp, tokens, grants
        gone = [leave for leave, admission in self._held.items() if not self._holds(admission)]
        for leave in gone:
            del self._held[leave]
            leave()
