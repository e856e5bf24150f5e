"""Failures of running the program, as opposed to those of what a client asks of it."""

from __future__ import annotations


class OperatorError(Exception):
    """The person who runs the program can do something about it; the message is one line."""
