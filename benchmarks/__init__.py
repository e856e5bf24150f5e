"""Measurements: how long things take, beside a peer or a limit measured in the same run.

``python -m benchmarks`` runs them; ``README.md`` says what the columns mean. Nothing in the product
imports this package. Each area is one module with a ``measure`` that gives its figures; the corpora
are written by :mod:`benchmarks.conversations`, the same bytes on every run.
"""
