"""Views of projections: one interface, a type for each of our own, one for those of packages.

All of them are :class:`~sessiongraph.projections.views.View` underneath, and their key says which
type they have. ``value`` is always the whole value.
"""

from __future__ import annotations

from typing import Annotated, Final

import strawberry

from resolvers import views
from resolvers.views import goal_member, member
from schema.declaration import asks_class, interface, object_type, resolved
from schema.event import TodoItem
from schema.scalars import JSON, EpochMillis, SafeInt
from sessiongraph.projections.views import Change, Snapshot, View

_TYPE_NAMES: Final = {
    "title": "TitleView",
    "todos": "TodosView",
    "goal": "GoalView",
    "plan": "PlanView",
    "permissions": "PermissionsView",
    "sessionStats": "SessionStatsView",
    "tokenUsage": "TokenUsageView",
    "contextPressure": "ContextPressureView",
    "subagent": "SubagentView",
    "turnOutline": "TurnOutlineView",
    "activity": "ActivityView",
}


@interface
class ProjectionView:
    """An embedded value without an identity of its own, folded from the log of a session."""

    key: str
    seq: int = strawberry.field(
        description="The event that last changed the value, -1 before the first."
    )
    value: JSON | None = strawberry.field(description="The whole value.")

    @staticmethod
    def resolve_type(value: View, _info: object, _interface: object) -> str:
        return _TYPE_NAMES.get(value.key, "CustomView")

    @staticmethod
    @asks_class
    def is_type_of(value: object, _info: object) -> bool:
        return isinstance(value, View)


@object_type
class TitleView(ProjectionView):
    """`title`: the latest title."""

    title: str | None = resolved(views.title)


@object_type
class TodosView(ProjectionView):
    """`todos`: the latest list of the agent, null before the first and from the next turn on."""

    todos: list[TodoItem] | None = resolved(views.todos)


@object_type
class GoalView(ProjectionView):
    """`goal`: what the agent works towards, all null without a goal."""

    objective: str | None = resolved(goal_member("objective"))
    phase: str | None = resolved(goal_member("phase"), "active, paused, blocked, complete.")
    rounds_started: int | None = resolved(views.rounds_started)


@object_type
class PlanView(ProjectionView):
    """`plan`: whether the agent only plans."""

    active: bool = resolved(member("active"))
    pending: bool = resolved(member("pending"), "Whether a change of it is on its way.")


@object_type
class PermissionsView(ProjectionView):
    """`permissions`: what the agent may do, null where it was never set."""

    preset: str | None = resolved(member("preset"))
    sandbox_mode: str | None = resolved(member("sandboxMode"))
    approval_policy: str | None = resolved(member("approvalPolicy"))


@object_type
class SessionStatsView(ProjectionView):
    """`sessionStats`: turns and steps, and where their time went."""

    turns: int = resolved(member("turns"), "Those with a closed step.")
    steps: int = resolved(member("steps"), "Closed ones.")
    llm_ms: SafeInt = resolved(member("llmMs"), "From the start of each step to its message.")
    tool_ms: SafeInt = resolved(member("toolMs"), "From each call to its result.")
    ttft_ms: SafeInt = resolved(member("ttftMs"), "Time to the first token.")
    ttft_steps: int = resolved(member("ttftSteps"), "Steps that had a first token.")
    decode_ms: SafeInt = resolved(
        member("decodeMs"), "From the first token on, of steps that report their output."
    )
    decode_tokens: SafeInt = resolved(member("decodeTokens"), "Output of the same steps.")


@object_type
class TokenUsageView(ProjectionView):
    """`tokenUsage`: tokens of all model calls."""

    uncached_input_tokens: SafeInt = resolved(member("uncachedInputTokens"))
    output_tokens: SafeInt = resolved(member("outputTokens"))
    cache_read_tokens: SafeInt = resolved(member("cacheReadTokens"))
    cache_write_tokens: SafeInt = resolved(member("cacheWriteTokens"))


@object_type
class ContextPressureView(ProjectionView):
    """`contextPressure`: how full the context of the model is, null where it is not known."""

    pressure_tokens: SafeInt | None = resolved(
        member("pressureTokens"), "Input of the latest request, what was cached included."
    )
    context_window: SafeInt | None = resolved(member("contextWindow"))


@object_type
class SubagentView(ProjectionView):
    """`subagent`: what a subagent was started as, all null for other sessions."""

    mode: str | None = resolved(member("mode"), "one-shot or continuable.")
    label: str | None = resolved(member("label"))
    descriptor_seq: int | None = resolved(member("seq"), "The event that says so.")


@object_type
class TurnLine:
    """One turn in two lines."""

    turn: int
    seq: int = strawberry.field(description="The person's message.")
    prompt: str | None = strawberry.field(
        description="Its first line, at most 200 code points; null where there are no words."
    )
    response: str | None = strawberry.field(
        description="The first line of the turn's last reply, likewise."
    )


@object_type
class TurnOutlineView(ProjectionView):
    """`turnOutline`: the latest 500 turns."""

    turns: list[TurnLine] = resolved(views.turns)


@object_type
class ActivityView(ProjectionView):
    """`activity`: what people have done."""

    last_prompt_at: EpochMillis | None = resolved(member("lastPromptAt"))
    prompts: int = resolved(member("prompts"), "Messages by people.")
    blank: bool = resolved(member("blank"), "Whether no turn has started.")


@object_type
class CustomView(ProjectionView):
    """A view registered by an installed package; its `value` is all that is known of it."""


IMPLEMENTATIONS: Final = (
    TitleView,
    TodosView,
    GoalView,
    PlanView,
    PermissionsView,
    SessionStatsView,
    TokenUsageView,
    ContextPressureView,
    SubagentView,
    TurnOutlineView,
    ActivityView,
    CustomView,
)
"""Every type of view; all are reached through the interface only."""


@object_type
class ProjectionSnapshot:
    """One consistent cut of the views of a session. Unknown keys are left out."""

    session_id: strawberry.ID
    as_of_seq: int = strawberry.field(
        description="Every value reflects the log up to this event, -1 for an empty log."
    )
    views: list[ProjectionView]

    @staticmethod
    @asks_class
    def is_type_of(value: object, _info: object) -> bool:
        return isinstance(value, Snapshot)


@object_type
class ProjectionChange:
    """One view changed. Of two values of a key the one with the higher seq wins."""

    session_id: strawberry.ID
    view: ProjectionView

    @staticmethod
    @asks_class
    def is_type_of(value: object, _info: object) -> bool:
        return isinstance(value, Change)


ProjectionFrame = Annotated[
    ProjectionSnapshot | ProjectionChange,
    strawberry.union(
        "ProjectionFrame",
        description=(
            "The first frame is a snapshot, then one change per committed event and view that "
            "really changed."
        ),
    ),
]
