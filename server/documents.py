"""GraphQL documents: read once, checked once, remembered while they are asked for often.

Clients send the same few documents again and again, and reading one costs more than most answers
to it. A document is kept under its text with everything that does not depend on a request: its
syntax tree and its operations. What is kept is bounded by the length of the texts, of which a tree
takes up to three hundred times as much memory; a long document is read anew every time. Only
documents that may be run are kept, so that those who send rubbish push nothing out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import strawberry
from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    OperationDefinitionNode,
    OverlappingFieldsCanBeMergedRule,
    ValidationRule,
    specified_rules,
    validate,
)

from server.cost import Cost, CostModel, OperationCost
from server.limits import DocumentLimits
from server.one_aside import OneAside
from server.refusals import OperationFailed
from sessiongraph.errors import BadUserInput

KEPT_CHARACTERS: Final = 128 * 1024
"""Length of all remembered documents together."""

LONGEST_KEPT: Final = KEPT_CHARACTERS // 8
"""Length of the longest document that is remembered."""

_RULES: Final = tuple(
    rule for rule in specified_rules if rule is not OverlappingFieldsCanBeMergedRule
)
"""The rules that take a time linear in the document, or nearly so."""

_ERRORS_SHOWN: Final = 20
"""Errors of one document that are looked for; to suggest what was meant takes 2 ms for each."""

_TOO_DEEP: Final = "the document is nested too deeply"

SHORT: Final = 2000
"""Length of a document that is read at once, which takes less than 10 ms."""


class _NoIntrospection(ValidationRule):
    """Refuses what is about the schema."""

    def enter_field(self, node: FieldNode, *_: Any) -> None:
        name = node.name.value
        if name in ("__schema", "__type"):
            message = f"{name}: the schema is not shown on this server (introspection)"
            self.context.report_error(GraphQLError(message, node))


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A document that may be run."""

    text: str
    node: DocumentNode
    operations: dict[str, OperationDefinitionNode]
    _costs: dict[int, OperationCost] = field(default_factory=dict)

    def operation(self, name: str | None) -> OperationDefinitionNode:
        """The operation with this name, or the only one.

        Raises:
            BadUserInput: there is no such operation, or there are several and none is named.
        """
        if name is not None:
            found = self.operations.get(name)
            if found is None:
                raise BadUserInput(f'Unknown operation named "{name}"')
            return found
        if len(self.operations) != 1:
            raise BadUserInput(
                "The document has several operations: say in `operationName` which one to run"
            )
        return next(iter(self.operations.values()))

    def cost_of(self, operation: OperationDefinitionNode, model: CostModel) -> OperationCost:
        """The cost of one of its operations; always by the same model."""
        of_operation = self._costs.get(id(operation))
        if of_operation is None:
            fragments = {
                definition.name.value: definition
                for definition in self.node.definitions
                if isinstance(definition, FragmentDefinitionNode)
            }
            of_operation = model.of_operation(operation, fragments)
            self._costs[id(operation)] = of_operation
        return of_operation

    def is_reckoned(self, operation: OperationDefinitionNode) -> bool:
        """Whether the cost of an operation is known already."""
        return id(operation) in self._costs


class Documents:
    """The documents of one schema.

    introspection: whether they may ask about the schema itself.
    """

    def __init__(self, limits: DocumentLimits, *, introspection: bool = True) -> None:
        self._limits = limits
        self._rules = _RULES if introspection else (*_RULES, _NoIntrospection)
        self._kept: OrderedDict[str, Document] = OrderedDict()
        self._characters = 0
        self._reading_aside = OneAside()

    async def read(self, text: str, schema: strawberry.Schema) -> Document:
        """The document that a text stands for; always of the same schema.

        A long one that is new is read in a thread, and one after the other, so that those who send
        many of them wait for each other and nobody else does.

        Raises:
            OperationFailed: it is not GraphQL, too large, or does not fit the schema.
        """
        document = self._kept.get(text)
        if document is not None:
            self._kept.move_to_end(text)
            return document
        if len(text) <= SHORT:
            document = self._read(text, schema)
        else:
            document = await self._reading_aside.run(partial(self._read, text, schema))
        self._keep(document)
        return document

    async def cost(
        self,
        document: Document,
        operation: OperationDefinitionNode,
        variables: Mapping[str, Any],
        model: CostModel,
    ) -> Cost:
        """What an operation could cost with some variables; reckoned where it is read."""
        if not document.is_reckoned(operation) and (
            len(document.text) > SHORT or "__" in document.text
        ):
            reckon = partial(document.cost_of, operation, model)
            of_operation = await self._reading_aside.run(reckon)
        else:
            of_operation = document.cost_of(operation, model)
        return Cost(of_operation.estimate(variables), model.limit)

    def _read(self, text: str, schema: strawberry.Schema) -> Document:
        try:
            node = self._limits.parse(text)
        except (GraphQLError, BadUserInput) as error:
            raise OperationFailed.because(error) from error
        self._validate(node, schema)
        operations = {
            definition.name.value if definition.name else "": definition
            for definition in node.definitions
            if isinstance(definition, OperationDefinitionNode)
        }
        return Document(text, node, operations)

    def _validate(self, node: DocumentNode, schema: strawberry.Schema) -> None:
        try:
            errors = validate(schema._schema, node, self._rules, max_errors=_ERRORS_SHOWN)
            if not errors:
                self._limits.require_comparable(node)
                rules = (OverlappingFieldsCanBeMergedRule,)
                errors = validate(schema._schema, node, rules, max_errors=_ERRORS_SHOWN)
        except (BadUserInput, RecursionError) as error:
            refusal = error if isinstance(error, BadUserInput) else BadUserInput(_TOO_DEEP)
            raise OperationFailed.because(refusal) from error
        if errors:
            raise OperationFailed.because(*map(_of_request, errors))

    def _keep(self, document: Document) -> None:
        if len(document.text) > LONGEST_KEPT or document.text in self._kept:
            return
        self._kept[document.text] = document
        self._characters += len(document.text)
        while self._characters > KEPT_CHARACTERS:
            oldest, _ = self._kept.popitem(last=False)
            self._characters -= len(oldest)


def _of_request(error: GraphQLError) -> GraphQLError:
    """The error of a document that does not fit; what Python says of a literal is not shown."""
    if isinstance(error.original_error, ValueError):
        return GraphQLError("a literal cannot be read: it is too long", error.nodes)
    return error
