"""What a document selects beside a field and below it, for whoever can read less then.

Whoever reads a list can leave out what nobody will see of its items; that is found once for each
place in a document. The answer is on the safe side: what variables may leave out counts as asked
for, and so does what other types of item have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from graphql import (
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    SelectionNode,
    SelectionSetNode,
)

from schema.by_node import ByNode
from schema.declaration import Info

KEPT_PLACES: Final = 1024
"""Places in documents whose answer is kept."""

_Fragments = Mapping[str, FragmentDefinitionNode]


def is_only_root(info: Info) -> bool:
    """Whether the root field that is being resolved is the only one of its operation."""
    selections = info._raw_info.operation.selection_set.selections
    return len(selections) == 1 and isinstance(selections[0], FieldNode)


class OnlyThese:
    """Tells whether the items of a connection are asked for nothing but some fields.

    item_type: of the items, an interface perhaps. names: of the fields.
    """

    def __init__(self, item_type: str, names: frozenset[str]) -> None:
        self._item_type = item_type
        self._names = names
        self._known: ByNode[bool] = ByNode(KEPT_PLACES)

    def are_asked_for(self, info: Info) -> bool:
        """The answer for the field that is being resolved, which gives the connection."""
        fragments = info._raw_info.fragments
        return all(
            self._known.of(node, partial(self._are_enough, node, fragments))
            for node in info._raw_info.field_nodes
        )

    def _are_enough(self, node: FieldNode, fragments: _Fragments) -> bool:
        items = self._items(node.selection_set, fragments)
        return all(self._suffices(each, fragments) for each in items)

    def _items(
        self, connection: SelectionSetNode | None, fragments: _Fragments
    ) -> Iterator[SelectionSetNode | None]:
        """What is selected of items, at every place of a connection that shows them."""
        for field in _fields(connection, fragments):
            assert isinstance(field, FieldNode), "a connection is no interface"
            if field.name.value == "nodes":
                yield field.selection_set
            elif field.name.value == "edges":
                for each in _fields(field.selection_set, fragments):
                    assert isinstance(each, FieldNode), "an edge is no interface"
                    if each.name.value == "node":
                        yield each.selection_set

    def _suffices(self, item: SelectionSetNode | None, fragments: _Fragments) -> bool:
        return all(
            isinstance(each, FieldNode) and each.name.value in self._names
            for each in _fields(item, fragments, self._item_type)
        )


def _fields(
    selected: SelectionSetNode | None, fragments: _Fragments, of_type: str | None = None
) -> Iterator[SelectionNode]:
    """The fields of a selection, those of its fragments among them.

    of_type: fragments on other types are not taken apart.
    """
    for each in selected.selections if selected is not None else ():
        inner: InlineFragmentNode | FragmentDefinitionNode
        if isinstance(each, FragmentSpreadNode):
            inner = fragments[each.name.value]
        elif isinstance(each, InlineFragmentNode):
            inner = each
        else:
            yield each
            continue
        condition = inner.type_condition
        if of_type is None or condition is None or condition.name.value == of_type:
            yield from _fields(inner.selection_set, fragments, of_type)
        else:
            yield each
