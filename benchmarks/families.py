"""A process and those it started: the processor time they took, the memory they hold, their rest.

Read from /proc, so under Linux only.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PROC: Final = Path("/proc")
_LOOK_EVERY: Final = 0.1
_IDLE: Final = 0.03
"""The share of a core below which a family counts as at rest."""


class Work(NamedTuple):
    """What a family did until it came to rest."""

    wall: float
    """Seconds until it did nothing any more."""
    cpu: float
    """Seconds of processor time it has taken since it began."""
    peak: int
    """The most memory it held, in bytes."""


def processor_time(pid: int) -> float:
    """Return the seconds of processor time that a process and those it started have taken."""
    total = 0
    for member in _members(pid):
        with suppress(OSError):
            fields = (_PROC / str(member) / "stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15]))  # its own, and that of children that ended
    return total / _TICKS


def memory(pid: int) -> int:
    """Return the bytes of memory of a process and those it started, what they share once.

    Files in memory count too, mapped or not.
    """
    total = 0
    for member in _members(pid):
        total += _files_in_memory(member) // 1024
        with suppress(OSError):
            text = (_PROC / str(member) / "smaps_rollup").read_text()
            total += sum(int(line.split()[1]) for line in text.splitlines() if line[:4] == "Pss:")
    return total * 1024


def _files_in_memory(pid: int) -> int:
    """Return the bytes of the files without a name that a process holds in memory."""
    held: dict[int, int] = {}
    with suppress(OSError):
        for link in (_PROC / str(pid) / "fd").iterdir():
            with suppress(OSError):
                if str(link.readlink()).startswith("/memfd:"):
                    status = link.stat()
                    held[status.st_ino] = status.st_blocks * 512
    return sum(held.values())


def until_at_rest(pid: int, *, still: float = 5.0, most: float = 3_600.0) -> Work:
    """Wait until a family has done nothing for `still` seconds; return what it did.

    Raises TimeoutError after `most` seconds.
    """
    began = busy = time.monotonic()
    before, peak = processor_time(pid), 0
    last = began
    while time.monotonic() - busy < still:
        time.sleep(_LOOK_EVERY)
        now, taken = time.monotonic(), processor_time(pid)
        if now - last < 1.0:
            continue
        if taken - before > _IDLE * (now - last):
            busy = now
        before, last = taken, now
        peak = max(peak, memory(pid))
        if now - began > most:
            raise TimeoutError(f"still at work after {most:.0f} s")
    return Work(busy - began, processor_time(pid), peak)


def _members(pid: int) -> list[int]:
    """Return the process and all below it."""
    found = [pid]
    for member in found:
        with suppress(OSError):
            for task in (_PROC / str(member) / "task").iterdir():
                found += map(int, (task / "children").read_text().split())
    return found
