"""The test server as clients see it that this project did not write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.forks import PATIENCE
from tests.simperium import Simperium
from tests.simperium.http import Served

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY: Final = Path(__file__).resolve().parents[2]
EMAIL: Final = "ada@example.org"
PASSWORD: Final = "correct horse"  # noqa: S105  # of nobody


@pytest.fixture
def served() -> Iterator[Served]:
    """A server with one user, on a port of its own."""
    simperium = Simperium()
    simperium.add_user(EMAIL, PASSWORD)
    with Served(simperium) as listening:
        yield listening


def seen_by(package: str, served: Served, home: Path) -> dict[str, Any]:
    """Return what a package's program prints at its end."""
    environment = {**os.environ, "HOME": str(home), "SIMPLENOTE_OFFLINE_MODE": "false"}
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            f"tests.simperium.witnesses.by_{package}",
            served.url,
            EMAIL,
            PASSWORD,
        ],
        cwd=REPOSITORY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    seen: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return seen


def test_simplenote_works_on_the_server(served: Served, tmp_path: Path) -> None:
    assert seen_by("simplenote", served, tmp_path) == {
        "merged": "ONE\ntwo\nTHREE\n",
        "version": 3,
        "listed": 1006,
        "since": ["again"],
        "trashed": True,
        "empty change": [412, -1],
        "deleted": [{}, 0],
        "missing": [404, -1],
    }


def test_simperium3_works_on_the_server(served: Served, tmp_path: Path) -> None:
    assert seen_by("simperium3", served, tmp_path) == {
        "token": True,
        "codes": [401, 409, 412, 405, 404],
        "merged": ["a", {"content": "x\nz\n", "n": 2}],
        "replaced": {"only": True},
        "versions": [{"content": "x\ny\n", "n": 1}, "none"],
        "pages": [[4, 3, 2, 1], [0, None]],
        "more": False,
        "since": ["a"],
    }


def test_simplenote_mcp_server_works_on_the_server(served: Served, tmp_path: Path) -> None:
    assert seen_by("simplenote_mcp_server", served, tmp_path) == {
        "first": 3,
        "changed": 1,
        "texts": ["a fresh one", "note 0", "note 1", "note 2"],
        "found": ["a fresh one"],
        "trashed": 1,
        "left": ["note 0", "note 1", "note 2"],
        "tags": ["t"],
    }
