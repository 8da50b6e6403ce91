"""The limits that tests raise are, outside of them, as users have them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.forks import PATIENCE
from tests.limits import RAISED

SHIPPED = {
    "rolltop.server.app:_EXPIRED_CALLS_GRACE": 0.1,
    "rolltop.server.client_roots:_TIMEOUT": 1.0,
    "rolltop.server.http:_EXIT_LIMIT": 1.9,
    "rolltop.server.oauth:_TIMEOUT": 5.0,
    "rolltop.server.rate_limits:_MINUTE": 60.0,
    "rolltop.server.stdio:EXIT_LIMIT": 1.9,
    "rolltop.server.stdio:GRACE_SECONDS": 1.5,
    "rolltop.server.stdio:REFUSE_REST_SECONDS": 1.7,
    "rolltop.server.stdio:_CLOSE_TIMEOUT": 0.1,
    "rolltop.toolsets.retrieval.service.exact_search:_SUGGESTION_SECONDS": 1.0,
    "rolltop.toolsets.retrieval.service.ranking:READ_TIMEOUT": 10.0,
    "rolltop.toolsets.retrieval.service.ranking:_WORD_CHECK_SECONDS": 1.0,
    "rolltop.toolsets.retrieval.service.touched:LISTING_SECONDS": 0.01,
    "rolltop.toolsets.retrieval.service.touched:LOOK_SECONDS": 0.25,
    "rolltop.toolsets.retrieval.store:BUSY_SECONDS": 2.0,
    "rolltop.toolsets.retrieval.store:_RETRY_SECONDS": 60.0,
    "rolltop.web.colours:MAX_SECONDS": 10.0,
    "rolltop.web.pages.tasks:_EVIDENCE_SECONDS": 1.0,
    "rolltop.workspace.suggestions:_SCAN_TIMEOUT": 0.5,
}
PROGRAM = """
import json, sys
from importlib import import_module
pairs = {name: name.split(":") for name in json.load(sys.stdin)}
print(json.dumps({name: getattr(import_module(one[0]), one[1]) for name, one in pairs.items()}))
"""


def test_what_tests_raise_is_shipped_as_users_have_it() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(list(RAISED)),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
        env=os.environ,
    )
    assert json.loads(ended.stdout) == SHIPPED
