"""Values of settings as people type them, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

from server.web_addresses import Authority, Origin


def directory(value: object) -> object:
    """A path as typed by a person: not blank, ``~`` meant as the home directory."""
    if isinstance(value, str):
        if not value.strip():
            raise ValueError("must not be blank")
        return Path(value).expanduser()
    return value


def switch(value: object) -> object:
    """On or off, besides the spellings that a boolean has anyway."""
    return {"on": True, "off": False}.get(value, value) if isinstance(value, str) else value


def host_name(value: str) -> str:
    """A name of a server.

    Raises:
        ValueError: it is none.
    """
    if Authority.read(value) is None:
        raise ValueError(f"{value!r} is not as a Host header has it: name, name:port or [v6]:port")
    return value


def origin(value: str) -> str:
    """An origin of web pages.

    Raises:
        ValueError: it is none.
    """
    if Origin.read(value) is None:
        raise ValueError(f"{value!r} is no origin: scheme://host or scheme://host:port")
    return value
