"""The MCP conformance suite against the real server, both revisions, over HTTP."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from typing import TYPE_CHECKING

import pytest

from tests.conformance.programs import CONFORMANCE, HERE, free_port, listening, node

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BASELINE: dict[str, dict[str, str]] = tomllib.loads((HERE / "baseline.toml").read_text("utf-8"))
SUMMARY = re.compile(r"Total: (\d+) passed, (\d+) failed")


@pytest.mark.parametrize("revision", sorted(BASELINE))
def test_nothing_fails_but_what_the_baseline_names(
    revision: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    port = free_port()
    expected = tmp_path / "expected.yml"
    # JSON is YAML.
    expected.write_text(json.dumps({"server": sorted(BASELINE[revision])}), "utf-8")
    with listening([sys.executable, "-m", "tests.conformance.server", str(port)], port, tmp_path):
        run = node(
            [
                *(CONFORMANCE, "server", "--url", f"http://localhost:{port}/mcp"),
                *("--suite", "all", "--spec-version", revision),
                *("--expected-failures", expected, "--output-dir", tmp_path / "results"),
            ],
            tmp_path,
        )
    summary = run.stdout.partition("=== SUMMARY ===")[2]
    total = SUMMARY.search(run.stdout)
    assert run.returncode == 0, summary + run.stderr
    assert total is not None, run.stdout[-2000:]
    assert int(total[1]) > 0
    record_property("figures", f"{revision}: {total[0]}")


def test_every_exception_has_a_reason() -> None:
    reasons = [reason for exceptions in BASELINE.values() for reason in exceptions.values()]
    assert all(len(reason.split()) > 1 for reason in reasons)
