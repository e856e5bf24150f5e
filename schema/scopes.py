"""Which scope each operation needs: the one table of it.

Queries need READ; mutations and subscriptions what the table says of the fields at their root. What
is not in it needs ADMIN, so that a field which somebody forgets here is closed rather than open.
Introspection is for everybody who may read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
)

from sessiongraph.access import Grant, Scope
from sessiongraph.errors import Forbidden

NEEDED: Final[Mapping[OperationType, Mapping[str, Scope]]] = MappingProxyType(
    {
        OperationType.MUTATION: MappingProxyType(
            {
                "createSession": Scope.WRITE,
                "resumeSession": Scope.WRITE,
                "appendEvents": Scope.WRITE,
                "forkSession": Scope.WRITE,
                "postMessage": Scope.WRITE,
                "renameSession": Scope.WRITE,
                "flushSession": Scope.WRITE,
                "closeSession": Scope.WRITE,
                "deleteSession": Scope.ADMIN,
                "importRecordings": Scope.ADMIN,
            }
        ),
        OperationType.SUBSCRIPTION: MappingProxyType(
            {
                "sessionEvents": Scope.READ,
                "projections": Scope.READ,
                "corpus": Scope.READ,
                "importProgress": Scope.ADMIN,
            }
        ),
    }
)
"""What the fields of the root types need: ADMIN for what cannot be undone and what reads files."""

OF_THE_WHOLE: Final = frozenset({"importRecordings", "importProgress"})
"""Fields that concern sessions of any directory, so that a token for some of them is no use."""


def require(grant: Grant, document: DocumentNode, operation: OperationDefinitionNode) -> None:
    """That who has a grant may run an operation of a valid document.

    Raises:
        Forbidden: the grant does not reach.
    """
    if grant.scope is Scope.ADMIN and grant.cwd_prefixes is None:
        return
    needed = NEEDED.get(operation.operation)
    if needed is None:
        return
    for name in root_fields(document, operation):
        if name.startswith("__"):
            continue
        scope = needed.get(name, Scope.ADMIN)
        if not grant.scope.includes(scope):
            raise Forbidden(
                f"{name} needs a token of the scope {scope}; this one has {grant.scope}"
            )
        if name in OF_THE_WHOLE and grant.cwd_prefixes is not None:
            raise Forbidden(f"{name} needs a token for all directories; this one is for some")


def root_fields(document: DocumentNode, operation: OperationDefinitionNode) -> Iterator[str]:
    """The names of the fields at the root of an operation, those in fragments included."""
    fragments: dict[str, FragmentDefinitionNode] = {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    pending: list[SelectionSetNode] = [operation.selection_set]
    while pending:
        for node in pending.pop().selections:
            if isinstance(node, FieldNode):
                yield node.name.value
            elif isinstance(node, FragmentSpreadNode):
                # Each fragment is looked at once, however often it is spread.
                fragment = fragments.pop(node.name.value, None)
                if fragment is not None:
                    pending.append(fragment.selection_set)
            else:
                inner = getattr(node, "selection_set", None)
                if inner is not None:
                    pending.append(inner)
