"""A person's shell: a home of one's own, a folder to stand in, and `rolltop`."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rolltop.cli import main
from tests.forks import PATIENCE, Forked

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "src"


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str


class Shell:
    """Runs `rolltop` in `folder` with `home` as the user's home directory."""

    def __init__(
        self, tmp_path: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]
    ) -> None:
        self.home = tmp_path / "home"
        self.folder = tmp_path / "folder"
        self.data = tmp_path / "data"
        self.home.mkdir()
        self.folder.mkdir()
        self._patch = patch
        self._capture = capture
        for name in list(os.environ):
            if name.startswith(("ROLLTOP_", "DATABASE_URL", "LOG_", "DOCS_ROOT", "CODE_ROOT")):
                patch.delenv(name)
        patch.setenv("HOME", str(self.home))
        patch.setenv("XDG_CONFIG_HOME", str(self.home / ".config"))
        patch.setenv("XDG_DATA_HOME", str(self.home / ".local" / "share"))
        patch.setenv("ROLLTOP_DATA_DIR", str(self.data))
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.chdir(self.folder)

    def set(self, name: str, value: str) -> None:
        """Set an environment variable."""
        self._patch.setenv(name, value)

    def user_file(self, text: str) -> Path:
        """Write the user's own rolltop.toml."""
        path = self.home / ".config" / "rolltop" / "rolltop.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def __call__(self, *arguments: str, stdin: str = "") -> Outcome:
        """Run a command in this process."""
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        self._capture.readouterr()
        try:
            code = main(arguments)
        except SystemExit as ended:
            code = int(ended.code or 0)
        captured = self._capture.readouterr()
        return Outcome(code, captured.out, captured.err)

    def process(self, *arguments: str, stdin: str = "") -> Outcome:
        """Run a command as a process of its own, as a shell does."""
        environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
        run = Forked(["-m", "rolltop", *arguments], folder=Path.cwd(), environment=environment)
        out, err = run.communicate(stdin.encode())
        return Outcome(run.wait(), out, err)

    def interpreter(self, *arguments: str, stdin: str = "") -> Outcome:
        """Run a command in an interpreter that starts in the shell's own environment."""
        ended = subprocess.run(
            [sys.executable, "-m", "rolltop", *arguments],
            input=stdin.encode(),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
        )
        return Outcome(ended.returncode, ended.stdout.decode(), ended.stderr.decode())


@pytest.fixture
def shell(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    logging_restored: None,  # noqa: ARG001  # its end
) -> Shell:
    """A shell of a user who has never used Rolltop; logging is left as it was."""
    return Shell(tmp_path, monkeypatch, capsys)
