"""Suites that every provider of a port must pass, and the providers that run them."""

import pytest

pytest.register_assert_rewrite(
    "tests.contracts.checkpoint_store",
    "tests.contracts.confined_reads",
    "tests.contracts.log_appends",
    "tests.contracts.log_feed",
    "tests.contracts.log_reads",
    "tests.contracts.log_recordings",
    "tests.contracts.log_reopening",
    "tests.contracts.log_stage",
    "tests.contracts.log_staging",
    "tests.contracts.search_index",
    "tests.contracts.session_lists",
)
