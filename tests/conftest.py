"""Fixtures every test may use."""

from __future__ import annotations

import gc
import logging
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest_plugins = [
    "tests.forks",  # before those that import it
    "tests.limits",
    "tests.databases",
    "tests.case_selection",
    "tests.loopback_only",
    "tests.time_budgets",
]

# How fast a shared machine draws examples says nothing about the product.
settings.register_profile(
    "rolltop", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("rolltop")


# A run makes millions of objects that stay: at the usual 700 a twelfth of its time went into this.
gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish() -> None:
    """Keep the collector off what lives as long as the run: a million objects of 9,000 tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def logging_restored() -> Iterator[None]:
    """Let a test set up the log, and put back what was there before."""
    root, own = logging.getLogger(), logging.getLogger("rolltop")
    kept = (root.handlers[:], root.level, own.level, threading.excepthook)
    root.handlers = []
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers, level, own_level, threading.excepthook = kept
    root.setLevel(level)
    own.setLevel(own_level)
    logging.raiseExceptions = True
    logging.captureWarnings(capture=False)
