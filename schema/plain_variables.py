"""Documents of one operation whose variables are plain texts, numbers and booleans.

For each execution the usual way looks for the operation and its fragments, and makes of each
variable a signature by which its value is coerced. All of that is the same whenever the document is
executed, and a plain value of the right kind is coerced to itself. Whatever is not as plain goes
the usual way, which alone decides what an error looks like.

Always true: what is executed, and with which values, is the same as without this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLScalarType,
    GraphQLSchema,
    OperationDefinitionNode,
    get_nullable_type,
)
from graphql.execution.collect_fields import FragmentDetails
from graphql.execution.get_variable_signature import (
    GraphQLVariableSignature,
    get_variable_signature,
)
from graphql.execution.values import VariableValues, VariableValueSource

from schema.by_node import ByNode
from schema.columns import INT_BOUND

KEPT_DOCUMENTS: Final = 512
"""Documents of which something is kept; no more than the server keeps."""

_KINDS: Final[Mapping[str, type]] = {"ID": str, "String": str, "Int": int, "Boolean": bool}
"""Of values that are coerced to themselves, by the name of the scalar."""


@dataclass(frozen=True, slots=True)
class PlainDocument:
    """A document of one operation, and what there is to know before it is executed.

    variables: signature and kind of each.
    """

    schema: GraphQLSchema
    operation: OperationDefinitionNode
    fragment_definitions: dict[str, FragmentDefinitionNode]
    fragments: dict[str, FragmentDetails]
    variables: dict[str, tuple[GraphQLVariableSignature, type]]

    def values(self, given: Mapping[str, Any]) -> VariableValues | None:
        """The values of the variables, None where one is not there or not plain."""
        sources: dict[str, VariableValueSource] = {}
        coerced: dict[str, Any] = {}
        for name, (signature, kind) in self.variables.items():
            value = given.get(name)
            if type(value) is not kind:
                return None
            if isinstance(value, int) and not -INT_BOUND <= value < INT_BOUND:
                return None
            sources[name] = VariableValueSource(signature, value)
            coerced[name] = value
        return VariableValues(sources, coerced)


class PlainDocuments:
    """The documents that were executed last."""

    def __init__(self) -> None:
        self._known: ByNode[PlainDocument | None] = ByNode(KEPT_DOCUMENTS)

    def of(
        self, schema: GraphQLSchema, document: DocumentNode, operation_name: str | None
    ) -> PlainDocument | None:
        """What is known of a document, None where it goes the usual way."""
        known = self._known.of(document, lambda: _plain(schema, document))
        if known is None or known.schema is not schema:
            return None
        name = known.operation.name
        if operation_name is not None and (name is None or name.value != operation_name):
            return None
        return known


def _plain(schema: GraphQLSchema, document: DocumentNode) -> PlainDocument | None:
    operations: list[OperationDefinitionNode] = []
    fragments: dict[str, FragmentDefinitionNode] = {}
    for each in document.definitions:
        if isinstance(each, OperationDefinitionNode):
            operations.append(each)
        elif isinstance(each, FragmentDefinitionNode) and not each.variable_definitions:
            fragments[each.name.value] = each
        else:
            return None
    if len(operations) != 1:
        return None
    variables: dict[str, tuple[GraphQLVariableSignature, type]] = {}
    for definition in operations[0].variable_definitions or ():
        signature = get_variable_signature(schema, definition)
        if isinstance(signature, GraphQLError):
            return None
        scalar = get_nullable_type(signature.type)
        kind = _KINDS.get(scalar.name) if isinstance(scalar, GraphQLScalarType) else None
        if kind is None:
            return None
        variables[signature.name] = signature, kind
    details = {name: FragmentDetails(each, None) for name, each in fragments.items()}
    return PlainDocument(schema, operations[0], fragments, details, variables)
