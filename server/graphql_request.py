"""One GraphQL request as any transport brings it: a document, and what goes with it.

A request is a JSON object whose members are of the right types, before anybody looks at what the
document says. Members that nobody knows are left alone, as GraphQL over HTTP has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sessiongraph.errors import BadUserInput

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GraphQLRequest:
    """What a client asks to be run.

    query: the document; empty while it is only named.
    operation_name: which operation of the document; None when there is but one.
    document_id: the name of a trusted document.
    extensions: what clients say beside the request; nothing of it is used yet.
    """

    query: str
    variables: dict[str, Any] = field(default_factory=dict)
    operation_name: str | None = None
    extensions: dict[str, Any] = field(default_factory=dict)
    document_id: str | None = None

    @classmethod
    def of(cls, members: Mapping[str, Any]) -> GraphQLRequest:
        """The request that a JSON object stands for.

        Raises:
            BadUserInput: a member is of the wrong type, or there is not just one document.
        """
        query = _member(members, "query", str)
        variables = _member(members, "variables", dict)
        operation_name = _member(members, "operationName", str)
        extensions = _member(members, "extensions", dict)
        document_id = _member(members, "documentId", str)
        if not query and not document_id:
            raise BadUserInput("No GraphQL query found in the request")
        if query and document_id:
            raise BadUserInput("`query` and `documentId` cannot be given both")
        return cls(
            query or "", variables or {}, operation_name or None, extensions or {}, document_id
        )


def _member(members: Mapping[str, Any], key: str, kind: type[T]) -> T | None:
    value = members.get(key)
    if value is not None and not isinstance(value, kind):
        wanted = "an object" if kind is dict else "a string"
        raise BadUserInput(f"`{key}` must be {wanted} or null")
    return value
