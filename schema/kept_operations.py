"""What was found out about operations while they were executed, for their next execution.

All of it is about nodes of a document, which are the same objects as long as the document is kept.
Where directives stand, what is selected can differ from one execution to the next; of such
operations nothing outlasts an execution.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    OperationDefinitionNode,
    SelectionSetNode,
)
from graphql.execution.collect_fields import CollectedFields

from schema.list_items import Plan

KEPT_OPERATIONS: Final = 512
"""Operations of which something is kept; no more than documents are."""


@dataclass(frozen=True, slots=True)
class KnownField:
    """A field at one place of an operation.

    arguments: their values, None where variables, lists or objects stand among them.
    """

    definition: GraphQLField
    resolve: Callable[..., Any]
    nodes: list[FieldNode]
    arguments: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class KeptOperation:
    """What is known of one operation.

    lasts: whether the next execution finds it here.
    plans: of lists, None for those that go the usual way. fields: by type and node. selected: below
    a field, by type and nodes.
    """

    lasts: bool
    plans: dict[Any, Plan | None] = field(default_factory=dict)
    fields: dict[Any, KnownField] = field(default_factory=dict)
    selected: dict[Any, CollectedFields] = field(default_factory=dict)


_Nodes = tuple[OperationDefinitionNode | FragmentDefinitionNode, ...]


class KeptOperations:
    """The operations that were executed last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[int, tuple[_Nodes, KeptOperation]] = OrderedDict()

    def of(
        self, operation: OperationDefinitionNode, fragments: Mapping[str, FragmentDefinitionNode]
    ) -> KeptOperation:
        """What is known of an operation."""
        kept = self._kept.get(id(operation))
        if kept is None:
            # The nodes are kept too, so that nothing else gets their addresses.
            nodes: _Nodes = (operation, *fragments.values())
            always = all(_is_unconditional(node.selection_set) for node in nodes)
            kept = nodes, KeptOperation(lasts=always)
            self._kept[id(operation)] = kept
            if len(self._kept) > KEPT_OPERATIONS:
                self._kept.popitem(last=False)
        return kept[1] if kept[1].lasts else KeptOperation(lasts=False)


def _is_unconditional(selections: SelectionSetNode | None) -> bool:
    """Whether the same is selected whatever the variables are."""
    return selections is None or all(
        not each.directives
        and not (isinstance(each, FragmentSpreadNode) and each.arguments)
        and _is_unconditional(getattr(each, "selection_set", None))
        for each in selections.selections
    )
