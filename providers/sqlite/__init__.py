"""The canonical log store, in one SQLite file."""
