"""The hosts' programs, each run in a home and a project of its own."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.conformance.programs import NODE, ROLLTOP, environment

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGES: Final = Path(__file__).with_name("node_modules")
CODEX: Final = (NODE, PACKAGES / "@openai/codex/bin/codex.js")
GEMINI: Final = (NODE, PACKAGES / "@google/gemini-cli/bundle/gemini.js")
CLAUDE: Final = tuple(PACKAGES.glob("@anthropic-ai/claude-code-*/claude*"))
QUIET: Final = {
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
}
SECONDS: Final = 90


class Host:
    """One host's program in a home and a project of its own."""

    def __init__(self, program: Sequence[str | Path], home: Path) -> None:
        self.program = program
        self.home = home
        self.project = home / "project"
        self.project.mkdir()
        self.sent = home / "sent.jsonl"
        self.variables = {**environment(home), **QUIET}

    @property
    def recorded_server(self) -> list[str]:
        """The command of a server over stdio that records what its client sends."""
        return ["sh", "-c", f"tee -a '{self.sent}' | exec '{ROLLTOP}' serve"]

    def __call__(self, *arguments: str) -> str:
        """Return what a run of the program that succeeds prints; Gemini's list is on stderr."""
        run = self.run(*self.program, *arguments)
        return run.stdout or run.stderr

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command that succeeds as the host would: in its project, with its variables."""
        run = subprocess.run(
            command,
            cwd=self.project,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        return run

    def client_names(self) -> set[str]:
        """Return the names that the host gave itself to the recorded server."""
        return set(re.findall(r'clientInfo":\{"name":"([^"]+)"', self.sent.read_text()))
