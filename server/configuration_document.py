"""``docs/configuration.md``, written from the settings themselves.

``python -m server.configuration_document > docs/configuration.md`` renews it; a test fails while
the committed file says something else than the code.
"""

from __future__ import annotations

import sys
import typing
from pathlib import Path
from typing import Any, Final, Literal

from pydantic.fields import FieldInfo

from server.client_limits import ClientLimits
from server.settings import (
    CONFIGURATION_FILE,
    ENVIRONMENT_PREFIX,
    NOT_SETTINGS,
    Settings,
    default_data_directory,
)

_KINDS: Final[dict[Any, str]] = {
    bool: "on or off",
    int: "integer",
    float: "number",
    str: "text",
    Path: "path",
    Path | None: "path",
}

_INTRODUCTION: Final = f"""\
# Configuration

<!-- Written by `python -m server.configuration_document`. Change the settings instead. -->

Every setting has one key. A value comes from the first of these that has it:

1. the command line: `--port 9000` (the commands have options for the settings that concern them);
2. the environment: `{ENVIRONMENT_PREFIX}` and the key in capitals,
   `{ENVIRONMENT_PREFIX}PORT=9000`;
3. a file in TOML, keys at its top level: `port = 9000`. It is the file named by `--config`, else
   `{CONFIGURATION_FILE}` in the data directory when there is one (it cannot set `data_dir`);
4. the default.

An unknown key in the file or in the environment is refused with the nearest key that exists, and a
value outside its range is refused with the place it came from: `SESSION_QUERY_INVALID_CONFIG`.
{" and ".join(f"`{name}`" for name in sorted(NOT_SETTINGS))} in the environment are left alone: they
steer the project's own tests.
"""


def configuration_document() -> str:
    """The whole file, Markdown."""
    limits = ClientLimits.model_fields
    own = {key: field for key, field in Settings.model_fields.items() if key not in limits}
    sections = [_section(key, field) for key, field in {**own, **limits}.items()]
    return "\n".join([_INTRODUCTION, *sections])


def _section(key: str, field: FieldInfo) -> str:
    facts = [
        f"`{ENVIRONMENT_PREFIX}{key.upper()}`",
        _kind(field),
        f"default {_default(field)}",
    ]
    return f"## `{key}`\n\n{field.description}\n\n{', '.join(facts)}\n"


def _default(field: FieldInfo) -> str:
    """A default that depends on the machine is named by what computes it."""
    if field.default_factory is default_data_directory:
        return "the platform's user data directory for `sessiongraph`"
    if field.default in ((), None):
        return "none"
    if field.default == "":
        return "empty"
    if isinstance(field.default, bool):
        return "`on`" if field.default else "`off`"
    return f"`{field.default}`"


def _kind(field: FieldInfo) -> str:
    annotation = field.annotation
    if typing.get_origin(annotation) is Literal:
        return "one of " + ", ".join(f"`{value}`" for value in typing.get_args(annotation))
    if typing.get_origin(annotation) is tuple:
        item, *_ = typing.get_args(typing.get_args(annotation)[0])
        items = "paths" if item is Path else "texts"
        return f"list of {items}; in the environment a JSON list"
    name = _KINDS[annotation]
    least = next((rule.ge for rule in field.metadata if hasattr(rule, "ge")), None)
    most = next((rule.le for rule in field.metadata if hasattr(rule, "le")), None)
    if least is not None and most is not None:
        return f"{name} from {least} to {most}"
    return f"{name}, at least {least}" if least is not None else name


if __name__ == "__main__":
    sys.stdout.write(configuration_document())
