"""Suites that every provider of a port must pass, and the providers that run them."""

import pytest

pytest.register_assert_rewrite("tests.contracts.log_store", "tests.contracts.checkpoint_store")
