"""The folder of an index: whose it is, and where a damaged one goes.

``stamp.json`` says that the folder is ours and by which rules its index was made; ``segments/`` is
the index; ``aside/`` is the last one that could not be used, kept until the next one takes its
place or a person removes it. A folder with anything else in it, or with another's stamp, is
refused: nothing of somebody else's is ever moved or overwritten. One that holds nothing but an
index, and has lost its stamp or has a torn one, is ours and damaged.
"""

from __future__ import annotations

import os
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec
import structlog

from providers.tantivy.documents import DOCUMENT_FORMAT, KEY, LOG, SEQ, TEXT, TRAITS
from sessiongraph.errors import InvalidConfig
from sessiongraph.search.analysis import ANALYSIS_VERSION

_log: Final = structlog.get_logger(__name__)

_STAMP: Final = "stamp.json"
_NEW_STAMP: Final = "stamp.json.new"
_META: Final = "meta.json"
_PRODUCT: Final = "sessiongraph full-text index"


class Stamp(msgspec.Struct, frozen=True):
    """By which rules an index was made; one made by others is outdated."""

    product: str
    documents: int
    analysis: str
    tantivy: str


_DAMAGED: Final = Stamp(_PRODUCT, 0, "", "")
"""Stands for a stamp that cannot be read."""

_FIELDS: Final = frozenset({TEXT, TRAITS, KEY, LOG, SEQ})
"""What an index is recognised by that has lost its stamp."""


class _Field(msgspec.Struct):
    name: str


class _Meta(msgspec.Struct):
    """Of what Tantivy says of an index, the fields."""

    schema: list[_Field]


OUR_STAMP: Final = Stamp(_PRODUCT, DOCUMENT_FORMAT, ANALYSIS_VERSION, version("tantivy"))


class IndexFolder:
    """One folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.segments = path / "segments"
        self._aside = path / "aside"

    def prepare(self) -> None:
        """Make the folder ours, and its index one that can be opened; an outdated one goes aside.

        Raises:
            InvalidConfig: the folder is somebody else's.
        """
        stamp = self._stamp()
        if stamp != OUR_STAMP:
            if stamp is not None:
                is_damaged = stamp is _DAMAGED
                self.set_aside("its stamp is lost" if is_damaged else "it was made by other rules")
            self._write_stamp()
        self.segments.mkdir(exist_ok=True)

    def is_usable(self) -> bool:
        """Whether there is an index that was made by our rules.

        Raises:
            InvalidConfig: the folder is somebody else's.
        """
        return self._stamp() == OUR_STAMP and self.segments.is_dir()

    def has_index(self) -> bool:
        """Whether there is anything that should be an index of our rules.

        Raises:
            InvalidConfig: the folder is somebody else's.
        """
        return self.is_usable() and any(self.segments.iterdir())

    def set_aside(self, reason: str) -> None:
        """Put the index away and begin an empty one."""
        if self.segments.exists():
            shutil.rmtree(self._aside, ignore_errors=True)
            self.segments.rename(self._aside)
            _log.warning(
                "the index was set aside and is built anew", reason=reason, aside=str(self._aside)
            )
        self.segments.mkdir()

    def clear(self) -> None:
        """Remove the index and begin an empty one."""
        shutil.rmtree(self.segments, ignore_errors=True)
        self.segments.mkdir()

    def _stamp(self) -> Stamp | None:
        """The stamp of a folder of ours; None where there is no folder, or an empty one."""
        if not self.path.exists():
            return None
        try:
            stamp = msgspec.json.decode((self.path / _STAMP).read_bytes(), type=Stamp)
        except (msgspec.MsgspecError, OSError) as error:
            names = self._names()
            if names <= {_NEW_STAMP}:
                return None
            if self._holds_an_index_alone(names):
                return _DAMAGED
            raise self._foreign() from error
        if stamp.product != _PRODUCT:
            raise self._foreign()
        return stamp

    def _names(self) -> set[str]:
        """What lies in the folder.

        Raises:
            InvalidConfig: it is none, or nobody may look into it.
        """
        try:
            return {each.name for each in self.path.iterdir()}
        except OSError as error:
            raise self._foreign() from error

    def _holds_an_index_alone(self, names: set[str]) -> bool:
        """Whether an index with our fields lies where ours does, and nothing beside it."""
        if not names <= {_STAMP, _NEW_STAMP, self.segments.name, self._aside.name}:
            return False
        try:
            meta = msgspec.json.decode((self.segments / _META).read_bytes(), type=_Meta)
        except (msgspec.MsgspecError, OSError):
            return False
        return {field.name for field in meta.schema} >= _FIELDS

    def _foreign(self) -> InvalidConfig:
        return InvalidConfig(
            f"{self.path} is not an index of SessionGraph and was left alone: move it away"
        )

    def _write_stamp(self) -> None:
        self.path.mkdir(exist_ok=True)
        unfinished = self.path / _NEW_STAMP
        with unfinished.open("wb") as file:
            file.write(msgspec.json.encode(OUR_STAMP))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.path / _STAMP)
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
