"""Processes forked for the tests end as others do."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from tests.forks import PATIENCE, Forked

if TYPE_CHECKING:
    import pytest


def test_a_signal_to_a_process_whose_end_is_not_yet_told_is_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Forked(["-c", "pass"]) as process:
        assert process.wait() == 0
        monkeypatch.setattr(process, "poll", lambda: None)
        process.kill()
        monkeypatch.undo()


def test_a_process_whose_end_nobody_waits_for_keeps_no_other_from_starting() -> None:
    process = Forked(["-c", "input()"])
    # As when it is forgotten, which would be complained of: nobody hears how it ends.
    process._told.close()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    process.returncode = 0
    process.stdin.write(b"\n")
    process.stdin.close()
    end = time.monotonic() + PATIENCE
    with suppress(ProcessLookupError):
        while time.monotonic() < end:
            os.kill(process.pid, 0)
    process.stdout.close()
    process.stderr.close()
    for _ in range(2):
        with Forked(["-c", "pass"]) as other:
            assert other.wait() == 0
