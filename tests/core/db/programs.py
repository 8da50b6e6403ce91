"""Other processes on the same store, for tests that need a second one."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

PATIENCE: Final = 60.0
"""Seconds after which a process that should have ended is a failure."""


def start(source: str, *arguments: str) -> subprocess.Popen[str]:
    """Return a running Python process whose stdin, stdout and stderr are pipes of text."""
    return subprocess.Popen(
        [sys.executable, "-u", "-c", source, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(processes: Sequence[subprocess.Popen[str]]) -> list[str]:
    """Return what each process printed; one that fails fails the test with its own words."""
    printed: list[str] = []
    for process in processes:
        output, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
        printed.append(output)
    return printed
