"""How many fields of a document must be compared with each other to see whether they can be merged.

Fields of one selection that answer under the same name must be the same field with the same
arguments, and so must those below them. Validation compares every pair of them, so that a document
of a few thousand fields, all alike, takes it seconds. Here the pairs are counted, in time linear in
what is counted, before anything is compared.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    SelectionSetNode,
)

_STEPS_FOR_EACH: Final = 4
"""Fields that are walked over for each pair that there may be; the same again costs no less."""


def too_many_comparisons(document: DocumentNode, most: int) -> bool:
    """Whether more than so many pairs of fields must be compared.

    The document must have no fragment that spreads itself.
    """
    fragments = {
        definition.name.value: definition.selection_set
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    pairs = steps = 0
    pending = [
        [definition.selection_set]
        for definition in document.definitions
        if hasattr(definition, "selection_set")
    ]
    while pending:
        by_name: defaultdict[str, list[FieldNode]] = defaultdict(list)
        merged = pending.pop()
        spread: set[str] = set()
        while merged:
            selections = merged.pop().selections
            steps += len(selections)
            if steps > most * _STEPS_FOR_EACH:
                return True
            for node in selections:
                if isinstance(node, FieldNode):
                    by_name[(node.alias or node.name).value].append(node)
                elif isinstance(node, FragmentSpreadNode):
                    name = node.name.value
                    if name not in spread and name in fragments:
                        spread.add(name)
                        merged.append(fragments[name])
                else:
                    merged.append(node.selection_set)
        for nodes in by_name.values():
            pairs += len(nodes) * (len(nodes) - 1) // 2
            inner: list[SelectionSetNode] = [
                node.selection_set for node in nodes if node.selection_set is not None
            ]
            if inner:
                pending.append(inner)
        if pairs > most:
            return True
    return False
