"""The format's own program accepts the bundle for desktop clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.programs import PACKAGES, ROOT, node

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = PACKAGES / "@anthropic-ai/mcpb/dist/cli/cli.js"


def test_the_manifest_is_valid(tmp_path: Path) -> None:
    run = node([PROGRAM, "validate", ROOT / "packaging" / "manifest.json"], tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_manifest_that_misses_its_server_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "manifest.json"
    text = (ROOT / "packaging" / "manifest.json").read_text("utf-8")
    broken.write_text(text.replace('"server"', '"servers"'))
    assert node([PROGRAM, "validate", broken], tmp_path).returncode != 0
