"""Readers of recorders' files: one recorder a module."""
