"""Where the settings of one server come from.

A value comes from the first of these that has it: the command line, the environment
(``SESSIONGRAPH_`` and the key in capitals), a file in TOML, the default. The file is the one named
by ``--config``, else ``sessiongraph.toml`` in the data directory when there is one. Keys are flat
and spelled alike everywhere. A key that nobody knows is refused, never ignored, and the refusal
names the nearest key that exists: a misspelt limit must not be a limit that is off.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource, TomlConfigSettingsSource

from server.settings import CONFIGURATION_FILE, ENVIRONMENT_PREFIX, NOT_SETTINGS, Settings
from sessiongraph.errors import InvalidConfig
from sessiongraph.references.errors import InvalidReferenceConfig

_OF_REFERENCES: Final = frozenset({"max_references", "max_reference_bytes", "candidate_limit"})
"""Settings whose refusal has a public code of its own."""


def load_settings(
    command_line: Mapping[str, Any] | None = None, config: Path | None = None
) -> Settings:
    """The settings in force.

    command_line: what was asked for there, by key; values of None were not.
    config: the file named by ``--config``.

    Raises:
        InvalidConfig: an unknown key, a value of the wrong type or outside its range, a file that
            cannot be read.
        InvalidReferenceConfig: such a value of a setting of references.
    """
    asked = {key: value for key, value in (command_line or {}).items() if value is not None}
    environment = _environment()
    places = {key: f"{ENVIRONMENT_PREFIX}{key.upper()} (environment)" for key in environment}
    places |= {key: f"--{key.replace('_', '-')}" for key in asked}
    chosen = {**environment, **asked}
    path = config or _validated(chosen, places).data_dir / CONFIGURATION_FILE
    if config is None and not path.is_file():
        return _validated(chosen, places)
    from_file = _file(path)
    if config is None and "data_dir" in from_file:
        raise InvalidConfig(f"{path}: data_dir cannot be set in the data directory itself")
    return _validated(
        {**from_file, **chosen}, {key: f"{path}: {key}" for key in from_file} | places
    )


def _validated(values: Mapping[str, Any], places: Mapping[str, str]) -> Settings:
    """``places``: where each value was found, for the refusal of a bad one."""
    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"].removeprefix("Value error, ").removeprefix("Input ")
        key = str(first["loc"][0])
        refused = InvalidReferenceConfig if key in _OF_REFERENCES else InvalidConfig
        raise refused(f"{places[key]}: {message}") from error


def _environment() -> dict[str, Any]:
    names = {f"{ENVIRONMENT_PREFIX}{key.upper()}" for key in Settings.model_fields} | NOT_SETTINGS
    for name in sorted(os.environ):
        if name.upper().startswith(ENVIRONMENT_PREFIX) and name.upper() not in names:
            raise InvalidConfig(f"environment: {_unknown(name, names - NOT_SETTINGS)}")
    return dict(EnvSettingsSource(Settings)())


def _file(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InvalidConfig(f"{path}: there is no such configuration file")
    try:
        values = TomlConfigSettingsSource(Settings, toml_file=path).toml_data
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidConfig(f"{path}: {error}") from error
    for key in values:
        if key not in Settings.model_fields:
            raise InvalidConfig(f"{path}: {_unknown(key, Settings.model_fields)}")
    return values


def _unknown(name: str, known: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return f"there is no setting {name!r}; the nearest is {nearest[0]!r}"
