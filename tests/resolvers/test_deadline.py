"""A mutation whose time is over begins no further write."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from resolvers.context import RequestContext
from sessiongraph.errors import Aborted, PersistenceFailed
from tests.schema.asking import Asked


def test_nothing_is_begun_after_the_deadline_and_what_is_read_goes_on() -> None:
    async def scenario() -> None:
        now = asyncio.get_running_loop().time()
        for deadline, refusal in ((now - 1, Aborted), (now + 60, PersistenceFailed)):
            context = RequestContext(replace(Asked().services, deadline=deadline))
            for begin in ("writing", "imports"):
                with pytest.raises(refusal):  # the second only because there is nobody who writes
                    getattr(context, begin)
            assert await context.loaders.sessions.load("nowhere") is None
            await context.aclose()

    asyncio.run(scenario())
