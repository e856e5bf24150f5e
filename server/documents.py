"""GraphQL documents: read once, checked once, remembered while they are asked for often.

Clients send the same few documents again and again, and reading one costs more than most answers
to it. A document is kept under its text with everything that does not depend on a request: its
syntax tree and its operations. What is kept is bounded by the length of the texts, of which a tree
takes up to three hundred times as much memory; a long document is read anew every time. Only
documents that may be run are kept, so that those who send rubbish push nothing out.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import strawberry
from graphql import (
    DocumentNode,
    GraphQLError,
    OperationDefinitionNode,
    specified_rules,
)
from strawberry.extensions import SchemaExtension
from strawberry.schema.schema import validate_document
from typing_extensions import override

from server.limits import DocumentLimits
from server.refusals import OperationFailed
from sessiongraph.errors import BadUserInput

KEPT_CHARACTERS: Final = 128 * 1024
"""Length of all remembered documents together."""

LONGEST_KEPT: Final = KEPT_CHARACTERS // 8
"""Length of the longest document that is remembered."""


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A document that may be run."""

    text: str
    node: DocumentNode
    operations: dict[str, OperationDefinitionNode]

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


class Documents:
    """The documents of one schema."""

    def __init__(self, limits: DocumentLimits) -> None:
        self._limits = limits
        self._kept: OrderedDict[str, Document] = OrderedDict()
        self._characters = 0

    def read(self, text: str, schema: strawberry.Schema) -> Document:
        """The document that a text stands for; always of the same schema.

        Raises:
            OperationFailed: it is not GraphQL, too large, or does not fit the schema.
        """
        document = self._kept.get(text)
        if document is None:
            document = self._read(text, schema)
            self._keep(document)
        else:
            self._kept.move_to_end(text)
        return document

    def extension(self) -> SchemaExtension:
        """What lets an operation of the schema start from the document that was read before."""
        return _ReadBefore(self)

    def _read(self, text: str, schema: strawberry.Schema) -> Document:
        try:
            node = self._limits.parse(text)
        except (GraphQLError, BadUserInput) as error:
            raise OperationFailed.because(error) from error
        errors = validate_document(schema._schema, node, tuple(specified_rules))
        if errors:
            raise OperationFailed.because(*errors)
        operations = {
            definition.name.value if definition.name else "": definition
            for definition in node.definitions
            if isinstance(definition, OperationDefinitionNode)
        }
        return Document(text, node, operations)

    def _keep(self, document: Document) -> None:
        if len(document.text) > LONGEST_KEPT:
            return
        self._kept[document.text] = document
        self._characters += len(document.text)
        while self._characters > KEPT_CHARACTERS:
            oldest, _ = self._kept.popitem(last=False)
            self._characters -= len(oldest)


class _ReadBefore(SchemaExtension):
    """Takes the place of parsing and validating."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    @override
    def on_parse(self) -> Iterator[None]:
        context = self.execution_context
        if context.query is not None:
            context.graphql_document = self._documents.read(context.query, context.schema).node
        yield

    @override
    def on_validate(self) -> Iterator[None]:
        self.execution_context.validation_rules = ()
        yield
