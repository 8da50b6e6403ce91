"""The Inspector's command line lists the tools and finds nothing to warn of in their schemas."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.conformance.programs import INSPECTOR, ROLLTOP, node

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

PACKAGE = json.loads((INSPECTOR / "package.json").read_text("utf-8"))
PROGRAM = INSPECTOR / PACKAGE["bin"]["mcp-inspector"]


def inspect(folder: Path, era: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The finished run of the Inspector against the server over stdio."""
    return node(
        [PROGRAM, "--cli", str(ROLLTOP), "serve", "--protocol-era", era, *arguments], folder
    )


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_strict_listing_finds_nothing(era: str, tmp_path: Path) -> None:
    run = inspect(tmp_path, era, "--method", "tools/list", "--strict", "--format", "json")
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert '"inputSchema"' in run.stdout
