"""A block that cancels its own task, and is not mistaken for whoever else does."""

from __future__ import annotations

import asyncio


class OwnCancellation:
    """The cancellation of a task by a block that it has entered; made when the block begins."""

    __slots__ = ("_before", "_task")

    def __init__(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._before = task.cancelling()

    def begin(self) -> None:
        """Cancel the task."""
        self._task.cancel()

    def ended(self, kind: type[BaseException] | None) -> bool:
        """Take back what was begun; answers whether it has ended the block.

        Whoever else cancelled the task meanwhile is obeyed.

        kind: of what the block ends with.
        """
        is_ours_alone = self._task.uncancel() <= self._before
        return is_ours_alone and kind is not None and issubclass(kind, asyncio.CancelledError)
