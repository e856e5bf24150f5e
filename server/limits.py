"""How large one GraphQL document may be: characters, tokens, depth, aliases, comparisons.

All but the last are looked at before a document is validated or run, and each costs time linear in
the document: the depth and the aliases of a fragment are computed once, however often and in
however many layers it is spread, because a document of thirty lines can otherwise stand for a
billion fields. A refusal names the limit and its setting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLSyntaxError,
    NameNode,
    OperationDefinitionNode,
    SelectionSetNode,
    parse,
)

from server.comparisons import too_many_comparisons
from sessiongraph.errors import BadUserInput

_TOKEN_LIMIT_MESSAGE: Final = "Syntax Error: Document contains more than"


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """How large a document may be.

    tokens: of the whole document. depth: levels of fields of one operation, introspection aside,
    and of fragments within fragments. aliases: aliased fields of one operation, each use of a
    fragment counted. characters: of its text. comparisons: pairs of fields that answer under the
    same name.
    """

    tokens: int
    depth: int
    aliases: int
    characters: int = 100_000
    comparisons: int = 5000

    def parse(self, text: str) -> DocumentNode:
        """The document that a text stands for.

        Raises:
            BadUserInput: it is larger than the limits.
            GraphQLSyntaxError: it is not GraphQL.
        """
        if len(text) > self.characters:
            raise BadUserInput(
                f"the document has more than {self.characters} characters (max_query_chars): "
                "long values belong into variables"
            )
        try:
            document = parse(text, max_tokens=self.tokens)
        except GraphQLSyntaxError as error:
            if not error.message.startswith(_TOKEN_LIMIT_MESSAGE):
                raise
            raise BadUserInput(
                f"the document has more than {self.tokens} tokens (max_query_tokens)"
            ) from error
        for extent in operation_extents(document):
            if extent.depth > self.depth:
                raise BadUserInput(
                    f"the operation is more than {self.depth} levels deep (max_query_depth)"
                )
            if extent.spreads > self.depth:
                raise BadUserInput(
                    f"fragments are nested more than {self.depth} levels deep (max_query_depth)"
                )
            if extent.aliases > self.aliases:
                raise BadUserInput(
                    f"the operation has more than {self.aliases} aliases (max_query_aliases)"
                )
        return document

    def require_comparable(self, document: DocumentNode) -> None:
        """Refuse a document that would take long to be checked, though it is otherwise in order.

        Raises:
            BadUserInput: too many of its fields answer under the same name.
        """
        if too_many_comparisons(document, self.comparisons):
            raise BadUserInput(
                f"more than {self.comparisons} pairs of fields in the document answer under the "
                "same name (max_query_comparisons)"
            )


@dataclass(slots=True)
class Extent:
    """How far a selection reaches.

    depth: levels of fields, its own included, introspection left out.
    aliases: aliased fields anywhere in it.
    spreads: levels of fragments within fragments.
    """

    depth: int = 0
    aliases: int = 0
    spreads: int = field(default=0, compare=False)


@dataclass(slots=True)
class _Selection:
    """A selection with its fragments left out: they are named, with the level they stand at."""

    own: Extent = field(default_factory=Extent)
    spreads: list[tuple[str, int]] = field(default_factory=list)


def operation_extents(document: DocumentNode) -> Iterator[Extent]:
    """The extent of each operation of a document, in order; fragments in a circle count once."""
    fragments = {
        definition.name.value: _read(
            definition.selection_set, counted=not _is_introspection(definition.type_condition.name)
        )
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    whole = _whole_fragments(fragments)
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode):
            yield _filled(_read(definition.selection_set), whole)


def _read(selection_set: SelectionSetNode, *, counted: bool = True) -> _Selection:
    """``counted``: whether fields add to the depth."""
    found = _Selection()
    pending = [(selection_set, 0, counted)]
    while pending:
        current, above, counts = pending.pop()
        for node in current.selections:
            if isinstance(node, FragmentSpreadNode):
                found.spreads.append((node.name.value, above))
                continue
            level, inner_counts = above, counts
            if isinstance(node, FieldNode):
                found.own.aliases += node.alias is not None
                inner_counts = counts and not _is_introspection(node.name)
                level += inner_counts
                found.own.depth = max(found.own.depth, level)
            inner = getattr(node, "selection_set", None)
            if inner is not None:
                pending.append((inner, level, inner_counts))
    return found


def _is_introspection(name: NameNode) -> bool:
    return name.value.startswith("__")


def _whole_fragments(fragments: dict[str, _Selection]) -> dict[str, Extent]:
    """Each fragment with those it spreads, innermost first, without recursion."""
    whole: dict[str, Extent] = {}
    for start in fragments:
        path = [(start, iter(fragments[start].spreads))] if start not in whole else []
        begun = {start}
        while path:
            name, spreads = path[-1]
            for spread, _ in spreads:
                if spread in fragments and spread not in whole and spread not in begun:
                    path.append((spread, iter(fragments[spread].spreads)))
                    begun.add(spread)
                    break
            else:
                whole[name] = _filled(fragments[name], whole)
                path.pop()
    return whole


def _filled(selection: _Selection, whole: dict[str, Extent]) -> Extent:
    filled = Extent(selection.own.depth, selection.own.aliases)
    for name, above in selection.spreads:
        extent = whole.get(name, Extent())
        filled.depth = max(filled.depth, above + extent.depth)
        filled.aliases += extent.aliases
        filled.spreads = max(filled.spreads, 1 + extent.spreads)
    return filled
