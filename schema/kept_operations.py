"""What was found out about operations while they were executed, for their next execution.

All of it is about nodes of a document, which are the same objects as long as the document is kept.
Where directives stand, what is selected can differ from one execution to the next; of such
operations nothing outlasts an execution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLField,
    Node,
    OperationDefinitionNode,
    SelectionSetNode,
)
from graphql.execution.collect_fields import CollectedFields

from schema.by_node import ByNode
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
    a field, by type and nodes. nodes: of which all of that is, kept with it like every node by
    whose address something is found.
    """

    lasts: bool
    plans: dict[Any, Plan | None] = field(default_factory=dict)
    fields: dict[Any, KnownField] = field(default_factory=dict)
    selected: dict[Any, CollectedFields] = field(default_factory=dict)
    nodes: tuple[Node, ...] = ()


class KeptOperations:
    """The operations that were executed last."""

    def __init__(self) -> None:
        self._kept: ByNode[KeptOperation] = ByNode(KEPT_OPERATIONS)

    def of(
        self, operation: OperationDefinitionNode, fragments: Mapping[str, FragmentDefinitionNode]
    ) -> KeptOperation:
        """What is known of an operation."""
        kept = self._kept.of(operation, lambda: _nothing_known(operation, fragments))
        return kept if kept.lasts else KeptOperation(lasts=False)


def _nothing_known(
    operation: OperationDefinitionNode, fragments: Mapping[str, FragmentDefinitionNode]
) -> KeptOperation:
    nodes = (operation, *fragments.values())
    always = all(_is_unconditional(node.selection_set) for node in nodes)
    return KeptOperation(lasts=always, nodes=nodes)


def _is_unconditional(selections: SelectionSetNode | None) -> bool:
    """Whether the same is selected whatever the variables are."""
    return selections is None or all(
        not each.directives
        and not (isinstance(each, FragmentSpreadNode) and each.arguments)
        and _is_unconditional(getattr(each, "selection_set", None))
        for each in selections.selections
    )
