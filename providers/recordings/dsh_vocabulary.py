"""The event types of dsh's versions 0 to 4, and the older names that some logs still use.

dsh itself refuses a log with a type that it does not know. An archive keeps such an event and says
so; to say it, it needs this list. Sources: dsh-formats.md, sections 1.1 to 1.4.
"""

from __future__ import annotations

from typing import Final

from sessiongraph.event import MESSAGE_TYPES

LAST_OFFICIAL_VERSION: Final = 4
"""The newest version that dsh itself has written; higher ones come from forks of it."""

LAST_PACKED_VERSION: Final = 1
"""The newest version that packs runs of stream deltas into one row."""

END_SEED: Final = "session/end-seed"
TURN_END: Final = "turn/end"

KNOWN_TYPES: Final = MESSAGE_TYPES | frozenset(
    {
        "agent-preset/selected",
        "agent/inbox/spliced",
        "approval/asked",
        "approval/decided",
        "approval/policy",
        "assistant/attempt",
        "assistant/chunk",
        "command/done",
        "command/run",
        "compaction/end",
        "compaction/prune",
        "compaction/start",
        "compaction/summary",
        "deliverables/presented",
        "feedback/message-delete",
        "feedback/message-put",
        "feedback/record",
        "goal/change",
        "hook/invoked",
        "hook/result",
        "image/offload",
        "llm/retry",
        "llm/retry-started",
        "model/selection",
        "permission/preset",
        "plan/mode",
        "request/context",
        "request/header",
        "sandbox/mode",
        "schedule/change",
        "session-log-deepseek/delivery-accepted",
        "session/end-seed",
        "session/title",
        "session/title-llm-request",
        "step/end",
        "step/start",
        "subagent/catalog",
        "subagent/descriptor",
        "subagent/model-selection-policy",
        "team/member",
        "team/message/delivered",
        "team/message/queued",
        "team/task",
        "todo/write",
        "tool-workflow/agent-end",
        "tool-workflow/agent-start",
        "tool-workflow/run-end",
        "tool-workflow/run-start",
        "tool/call",
        "tool/code-dispatch",
        "tool/code-dispatch-start",
        "tool/ptc-dispatch",
        "tool/ptc-dispatch-start",
        "turn/end",
        "turn/start",
        "web/deepseek-search-llm-request",
        "working-directory/change",
        "workspace/changes",
    }
)

STEERING_MESSAGE: Final = "steering/message"

RENAMED_TYPES: Final = {
    "compact/start": "compaction/start",
    "compact/summary": "compaction/summary",
    "compact/end": "compaction/end",
    "compact/prune": "compaction/prune",
    "context/message": "user/message",
    STEERING_MESSAGE: "user/message",
}
"""Names from before version 0 was released, and what the same events are called since."""
