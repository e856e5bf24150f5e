"""The contract as text: what ``schema.graphql`` holds and ``sessiongraph schema`` prints."""

from __future__ import annotations

from pathlib import Path

from schema.served import build_schema

COMMITTED = Path(__file__).with_name("schema.graphql")
"""The exported contract of this version."""


def sdl() -> str:
    """The served schema in GraphQL's schema language, types by name; the same on every run."""
    return build_schema().as_str() + "\n"
