"""How large one GraphQL document may be: tokens, depth, aliases.

All three are looked at before a document is validated or run, and each costs time linear in the
document: the depth and the aliases of a fragment are computed once, however often and in however
many layers it is spread, because a document of thirty lines can otherwise stand for a billion
fields. A refusal names the limit and its setting.
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
    GraphQLError,
    NameNode,
    OperationDefinitionNode,
    SelectionSetNode,
)
from strawberry.extensions import SchemaExtension

from server.settings import Settings
from sessiongraph.errors import BadUserInput

_TOKEN_LIMIT_MESSAGE: Final = "Syntax Error: Document contains more than"


class DocumentLimits(SchemaExtension):
    """Refuses a document that is larger than the settings allow."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def on_parse(self) -> Iterator[None]:
        most = self._settings.max_query_tokens
        context = self.execution_context
        context.parse_options["max_tokens"] = most
        yield
        errors = context.pre_execution_errors or ()
        if any(error.message.startswith(_TOKEN_LIMIT_MESSAGE) for error in errors):
            raise _refusal(f"the document has more than {most} tokens (max_query_tokens)")

    def on_validate(self) -> Iterator[None]:
        context = self.execution_context
        if context.graphql_document is not None and context.pre_execution_errors is None:
            excess = self._excess(context.graphql_document)
            if excess is not None:
                context.pre_execution_errors = [_refusal(excess)]
        yield

    def _excess(self, document: DocumentNode) -> str | None:
        deepest, most_aliases = self._settings.max_query_depth, self._settings.max_query_aliases
        for extent in operation_extents(document):
            if extent.depth > deepest:
                return f"the operation is more than {deepest} levels deep (max_query_depth)"
            if extent.aliases > most_aliases:
                return f"the operation has more than {most_aliases} aliases (max_query_aliases)"
        return None


def _refusal(message: str) -> GraphQLError:
    extensions = {"code": BadUserInput.code, "retriable": BadUserInput.retriable}
    return GraphQLError(message, extensions=extensions)


@dataclass(slots=True)
class Extent:
    """How far a selection reaches.

    depth: levels of fields, its own included, introspection left out.
    aliases: aliased fields anywhere in it.
    """

    depth: int = 0
    aliases: int = 0


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
    return filled
