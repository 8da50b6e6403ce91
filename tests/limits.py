"""Time limits of the product, so long here that no test depends on how fast a machine is.

They are raised in the processes of the tests and in all that are forked from theirs. A test that is
about a limit sets its own: here by `monkeypatch`, in a forked process by the variable.
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE: Final = "TEST_LIMITS"
LONG: Final = 10_800
"""Seconds: three hours."""
FOREVER: Final = 4_000_000_000
"""Seconds: about as long as Python's locks can wait."""
RAISED: Final = {
    "rolltop.server.app:_EXPIRED_CALLS_GRACE": FOREVER,
    "rolltop.server.client_roots:_TIMEOUT": LONG,
    "rolltop.server.http:_EXIT_LIMIT": LONG,
    "rolltop.server.oauth:_TIMEOUT": LONG,
    "rolltop.server.rate_limits:_MINUTE": LONG,
    "rolltop.server.stdio:EXIT_LIMIT": LONG,
    "rolltop.server.stdio:GRACE_SECONDS": LONG,
    "rolltop.server.stdio:REFUSE_REST_SECONDS": LONG,
    "rolltop.server.stdio:_CLOSE_TIMEOUT": FOREVER,
    "rolltop.toolsets.retrieval.service.exact_search:_SUGGESTION_SECONDS": LONG,
    "rolltop.toolsets.retrieval.service.ranking:READ_TIMEOUT": LONG,
    "rolltop.toolsets.retrieval.service.ranking:_WORD_CHECK_SECONDS": LONG,
    "rolltop.toolsets.retrieval.service.touched:LISTING_SECONDS": LONG,
    "rolltop.toolsets.retrieval.service.touched:LOOK_SECONDS": LONG,
    "rolltop.toolsets.retrieval.store:BUSY_SECONDS": 60.0,
    "rolltop.toolsets.retrieval.store:_RETRY_SECONDS": LONG,
    "rolltop.web.colours:MAX_SECONDS": LONG,
    "rolltop.web.pages.tasks:_EVIDENCE_SECONDS": LONG,
    "rolltop.workspace.suggestions:_SCAN_TIMEOUT": LONG,
}
DATABASE: Final = {"lock_timeout": 600, "statement_timeout": LONG}
"""Of every store. Whoever never gets a lock is told before the test that waits is ended."""
SETTINGS: Final = {
    "call_timeout": 300_000_000,
    "scratch.validation_timeout": LONG,
    **DATABASE,
}


def set_limits(limits: Mapping[str, float]) -> None:
    """Set constants of modules, each named as `module:NAME`."""
    for name, seconds in limits.items():
        module, _, constant = name.partition(":")
        loaded = import_module(module)
        assert hasattr(loaded, constant), name
        setattr(loaded, constant, seconds)


def raise_limits() -> None:
    """Raise the limits of this process."""
    set_limits(RAISED)
    database = import_module("rolltop.core.db").Database
    database.__init__.__kwdefaults__.update(DATABASE)


def set_given_limits() -> None:
    """Set those that the variable names, in JSON."""
    set_limits(json.loads(os.environ.get(VARIABLE, "{}")))


def pytest_collection_finish() -> None:
    """Raise the limits where tests run: by now most of the modules are loaded."""
    raise_limits()
