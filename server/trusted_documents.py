"""Trusted documents: what an operator has looked at, by the digest of its text.

A client names a document by ``documentId`` instead of sending it, as the draft of persisted
documents for GraphQL over HTTP has it: ``sha256:`` and the digest of the text in UTF-8, in
hexadecimal. An id is checked against its text when it is read, so that it never stands for another.
Where only these documents are run, one that is sent as a text must be one of them, over every
transport.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from server.graphql_request import GraphQLRequest
from sessiongraph.errors import BadUserInput, InvalidConfig

_PREFIX: Final = "sha256:"
_SHOWN: Final = 100
"""Characters of an id that a message shows."""


def document_id(text: str) -> str:
    """The id of a document."""
    return _PREFIX + hashlib.sha256(text.encode("utf-8")).hexdigest()


class TrustedDocuments:
    """The documents that clients may name.

    only: whether no others may be run.
    """

    def __init__(self, texts: Iterable[str] = (), *, only: bool = False) -> None:
        self._texts = {document_id(text): text for text in texts}
        self._known = frozenset(self._texts.values())
        self._only = only

    @classmethod
    def read(cls, path: Path | None, *, only: bool) -> TrustedDocuments:
        """The documents of a file or a folder; none without one.

        Raises:
            InvalidConfig: it cannot be read, an id is not that of its text, or nothing could be run
                at all.
        """
        if path is None:
            if only:
                raise InvalidConfig("documents: trusted needs trusted_documents to name some")
            return cls()
        try:
            texts = _folder(path) if path.is_dir() else _file(path)
        except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
            raise InvalidConfig(f"trusted_documents: {path}: {error}") from error
        return cls(texts, only=only)

    def ids(self) -> list[str]:
        """The ids of all of them, in order."""
        return sorted(self._texts)

    def resolved(self, request: GraphQLRequest) -> GraphQLRequest:
        """The request with the text of the document that it names.

        Raises:
            BadUserInput: no document has the id, or the document is not one of them and must be.
        """
        if request.document_id is None:
            if self._only and request.query not in self._known:
                raise BadUserInput(
                    "only trusted documents are run on this server (documents): send a `documentId`"
                )
            return request
        text = self._texts.get(request.document_id)
        if text is None:
            raise BadUserInput(
                f"no trusted document has the id {request.document_id[:_SHOWN]!r} "
                "(trusted_documents)"
            )
        return replace(request, query=text)


def _folder(path: Path) -> list[str]:
    return [each.read_text("utf-8") for each in sorted(path.rglob("*.graphql"))]


def _file(path: Path) -> list[str]:
    texts: Mapping[str, str] = msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    for name, text in texts.items():
        if name != document_id(text):
            raise InvalidConfig(
                f"trusted_documents: {path}: {name[:_SHOWN]!r} is not the id of its text, which is "
                f"{document_id(text)}"
            )
    return list(texts.values())
