"""Reads matching lines from the files: each file's lines come from one state of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO, Final, NamedTuple

from rolltop.core.errors import Unavailable
from rolltop.toolsets.retrieval.grep import ripgrep
from rolltop.toolsets.retrieval.grep.ripgrep import LineMatch, Pattern
from rolltop.toolsets.retrieval.models import Line, SearchMatch, SearchRoot
from rolltop.workspace import FileStat, is_binary
from rolltop.workspace.encoding import decode_as, decode_prefix, detect_encoding
from rolltop.workspace.file_stat import is_open_for_writing, is_stable
from rolltop.workspace.safe_open import (
    UTF16_BOMS,
    FileNotAllowed,
    NotRegularFile,
    OpenFile,
    open_checked,
    still_names,
)

SkipFile = Callable[[FileStat, str], None]

_HEAD_BYTES: Final = 8192
# The largest file that is copied when it may change under our eyes.
MAX_COPY_BYTES: Final = 4 << 20
# Files open at the same time.
_MAX_OPEN: Final = 64
_ATTEMPTS: Final = 3
# Bytes of a line that no budget truncates before its match.
_SHORT_LINE: Final = 40
# Bytes of a long line that are first searched for its match; of lines searched together, about.
MAX_LINE_BYTES: Final = 16 << 20
# The longest preview in code points, its ellipses counted.
MAX_PREVIEW: Final = 400
ELLIPSIS: Final = "…"
# Minimum of code points before a match in a truncated line.
_LEAD: Final = 100
_BLOCK_BYTES: Final = 1 << 16
# Bytes of the longest preview, plus a character damaged at their start.
_WINDOW_BYTES: Final = 4 * MAX_PREVIEW + 16
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_UTF8: Final = "utf-8"
_CONTINUATION_BYTES: Final = bytes(range(0x80, 0xC0))
_MAX_CONTINUATION: Final = 3
# All bytes but those that are a character of their own in every encoding.
_NOT_SEPARATE: Final = bytes(range(0x30, 0x100))


@dataclass(frozen=True)
class VerifiedHits:
    """The matches of one file; `as_listed` if it was read in the state in which it was listed."""

    entry: FileStat
    hits: list[SearchMatch]
    as_listed: bool

    def __iter__(self) -> Iterator[SearchMatch]:
        """Iterate over the hits."""
        return iter(self.hits)


class _OpenCandidate:
    """An open file, or a copy of it, in one state, and its matching lines."""

    def __init__(
        self, entry: FileStat, file: BinaryIO, state: tuple[int, ...], *, as_listed: bool
    ) -> None:
        """Read the file's head. Raises Unreadable."""
        self.entry: Final = entry
        self.file: Final = file
        self.state: Final = state
        self.as_listed: Final = as_listed
        self.reader: Final = MatchReader(descriptor_reader(file.fileno()), state[0])
        self.lines: list[LineMatch] | None = []
        """None if they could not be read."""


class Verifier:
    """Reads the matching lines of a root's files."""

    def __init__(
        self,
        search_root: SearchRoot,
        pattern: Pattern,
        *,
        context: int,
        max_bytes: int,
        deadline: float,
        after: int = 0,
    ) -> None:
        """Prepare it; of each file, only lines after the line `after` are read."""
        self._after: Final = after
        self._tree: Final = search_root
        self._pattern: Final = pattern
        self._context: Final = context
        self._max_bytes: Final = max_bytes
        self._deadline: Final = deadline

    def read(
        self, entries: Sequence[FileStat], wanted: int, drop: SkipFile
    ) -> Iterator[VerifiedHits]:
        """Yield the matches of each file that has any or changed; at most `wanted` of one file.

        Lines are matched again in the open file; in a copy of it if it changed since it was listed
        or may change without its times showing it. Files that prove binary or unreadable are
        dropped.
        """
        for at in range(0, len(entries), _MAX_OPEN):
            yield from self._read_batch(entries[at : at + _MAX_OPEN], wanted, drop)

    def _read_batch(
        self, entries: Sequence[FileStat], wanted: int, drop: SkipFile
    ) -> Iterator[VerifiedHits]:
        """Yield the matches of files opened together; of half as many if descriptors run out."""
        with ExitStack() as stack:
            try:
                opened = self._open_all(entries, wanted, drop, stack)
                columns = self._find_columns(opened)
            except Unavailable:
                if len(entries) == 1:
                    raise
            else:
                for number, one in enumerate(opened):
                    yield from self._hits(one, columns.get(number, {}), wanted, drop)
                return
        middle = len(entries) // 2
        yield from self._read_batch(entries[:middle], wanted, drop)
        yield from self._read_batch(entries[middle:], wanted, drop)

    def _open_all(
        self, entries: Sequence[FileStat], wanted: int, drop: SkipFile, stack: ExitStack
    ) -> list[_OpenCandidate]:
        """Open the files, in order, and match them."""
        opened: list[_OpenCandidate] = []
        for entry in entries:
            ripgrep.check_deadline(self._deadline)
            try:
                one = self._open(entry, stack)
                if one.state[0] > self._max_bytes:
                    drop(entry, "too_large")
                elif one.reader.binary:
                    drop(entry, "binary")
                else:
                    opened.append(one)
            except (FileNotAllowed, NotRegularFile, FileNotFoundError, NotADirectoryError):
                drop(entry, "changed")
            except (OSError, UnreadableFile):
                drop(entry, "unreadable")
        if opened:
            self._match(opened, wanted)
        return opened

    def _match(self, opened: Sequence[_OpenCandidate], wanted: int) -> None:
        """Find the matching lines of open files."""
        descriptors = [one.file.fileno() for one in opened]
        most = wanted + self._after
        found = ripgrep.find_lines(self._pattern, descriptors, most, self._deadline)
        for one, lines in zip(opened, found, strict=True):
            one.lines = lines and [match for match in lines if match.line > self._after]

    def _open(self, entry: FileStat, stack: ExitStack) -> _OpenCandidate:
        """Open a file, or a copy of it, that is still to be matched.

        Raises:
            FileNotAllowed, NotRegularFile, OSError, Unreadable.

        """
        path = self._tree.root.absolute_path(entry.relative)
        for _ in range(_ATTEMPTS):
            file = stack.enter_context(_open_admitted(self._tree, entry))
            state = _file_stamp(file)
            as_listed = state == entry[1:5]
            data = None
            if not (as_listed and _is_stable(file, state)) and state[0] <= MAX_COPY_BYTES:
                data = _read_at_once(file)
            if data is None:  # a large file is read as it comes
                return _OpenCandidate(entry, file, _file_stamp(file), as_listed=as_listed)
            if still_names(path, file):
                try:
                    copy = stack.enter_context(_copy(data))
                except OSError:  # without room for a copy it is read as it comes, too
                    return _OpenCandidate(entry, file, state, as_listed=as_listed)
                return _OpenCandidate(entry, copy, _file_stamp(copy), as_listed=as_listed)
        raise FileNotFoundError

    def _find_columns(self, opened: Sequence[_OpenCandidate]) -> dict[int, dict[LineMatch, int]]:
        """Return the bytes at which lines match first that may be truncated, by file and line."""
        columns: dict[int, dict[LineMatch, int]] = {}
        cut: dict[int, list[LineMatch]] = {}
        for long in self._long_lines(opened):
            found = ripgrep.find_columns(self._pattern, [line for *_, line in long], self._deadline)
            for index, (number, match, line) in enumerate(long):
                if index in found:
                    columns.setdefault(number, {})[match] = found[index]
                elif len(line) == MAX_LINE_BYTES:
                    cut.setdefault(number, []).append(match)
        for number, lines in cut.items():
            file = opened[number].file.fileno()
            columns.setdefault(number, {}).update(
                ripgrep.find_offsets(self._pattern, file, lines, self._deadline)
            )
        return columns

    def _long_lines(
        self, opened: Sequence[_OpenCandidate]
    ) -> Iterator[list[tuple[int, LineMatch, bytes]]]:
        """Yield the matching lines that may be truncated, as many together as memory allows."""
        long: list[tuple[int, LineMatch, bytes]] = []
        size = 0
        for number, one in enumerate(opened):
            for match in one.lines or ():
                line = self._line_bytes(one, match)
                if len(line) <= _SHORT_LINE:
                    continue
                long.append((number, match, line))
                size += len(line)
                if size >= MAX_LINE_BYTES:
                    yield long
                    long, size = [], 0
        if long:
            yield long

    @staticmethod
    def _line_bytes(one: _OpenCandidate, match: LineMatch) -> bytes:
        try:
            line = one.reader.line_bytes(match, MAX_PREVIEW + 1)
            if len(line) > MAX_PREVIEW:
                return one.reader.line_bytes(match, MAX_LINE_BYTES)
        except UnreadableFile:
            return b""
        return line

    def _hits(
        self, one: _OpenCandidate, columns: dict[LineMatch, int], wanted: int, drop: SkipFile
    ) -> Iterator[VerifiedHits]:
        """Yield the file's hits, if it has some or changed since it was listed."""
        entry, as_listed = one.entry, one.as_listed
        try:
            hits = self._hits_of(one, columns)
            if _file_stamp(one.file) != one.state:
                as_listed = False
                hits = self._read_again(one, wanted)
        except UnreadableFile:
            drop(entry, "unreadable")
            return
        except (FileNotAllowed, NotRegularFile, OSError):
            drop(entry, "changed")
            return
        if hits or not as_listed:
            yield VerifiedHits(entry, hits, as_listed)

    def _read_again(self, one: _OpenCandidate, wanted: int) -> list[SearchMatch]:
        """Return the hits of a file that changed meanwhile. Raises as `_open`, and OSError."""
        for attempt in range(1, _ATTEMPTS + 1):
            with ExitStack() as stack:
                entry = one.entry._replace(size=-1)  # no state: it is copied
                again = self._open(entry, stack)
                if again.reader.binary or again.state[0] > self._max_bytes:
                    return []
                self._match([again], wanted)
                columns = self._find_columns([again]).get(0, {})
                hits = self._hits_of(again, columns)
                now = _file_stamp(again.file)
                if now == again.state:
                    return hits
                if attempt == _ATTEMPTS and now[0] > again.state[0]:
                    # It grows all the time: what it held before is not touched by that.
                    end = again.reader.end_of_lines()
                    whole = sum(match.offset < end for match in again.lines or ())
                    return hits[:whole]
        raise FileNotFoundError

    def _hits_of(self, one: _OpenCandidate, columns: dict[LineMatch, int]) -> list[SearchMatch]:
        """Read the matching lines. Raises UnreadableFile."""
        if one.lines is None:
            raise UnreadableFile
        return [self._hit(one, match, columns.get(match, 0)) for match in one.lines]

    def _hit(self, one: _OpenCandidate, match: LineMatch, column: int) -> SearchMatch:
        ripgrep.check_deadline(self._deadline)
        preview = one.reader.preview(match, column)
        return SearchMatch(
            self._tree.root.name,
            one.entry.relative,
            match.line,
            preview.text,
            one.reader.lines_before(match, self._context),
            one.reader.lines_after(match, self._context),
            preview.at,
        )


def head_is_text(search_root: SearchRoot, entry: FileStat) -> bool | None:
    """Report whether the file's head is text; None if it cannot be read."""
    try:
        with _open_admitted(search_root, entry) as file:
            return not is_binary(descriptor_reader(file.fileno())(0, _HEAD_BYTES))
    except (FileNotAllowed, NotRegularFile, OSError, UnreadableFile):
        return None


def _open_admitted(search_root: SearchRoot, entry: FileStat) -> OpenFile:
    """Open the file if its path still names it and it is not one of our stores."""
    path = search_root.root.absolute_path(entry.relative)

    def admits(actual: str, status: os.stat_result) -> bool:
        return actual == path and not search_root.roots.hidden_paths.hides_hard_link(status)

    return open_checked(path, admits)


def _is_stable(file: BinaryIO, state: tuple[int, ...]) -> bool:
    return is_stable(*state[1:3]) and not is_open_for_writing(file.fileno())


def _read_at_once(file: OpenFile) -> bytes | None:
    """Read all of a small file; None if it outgrew the copy limit. Raises UnreadableFile."""
    data = descriptor_reader(file.fileno())(0, MAX_COPY_BYTES + 1)
    return data if len(data) <= MAX_COPY_BYTES else None


def _copy(data: bytes) -> BinaryIO:
    """Copy the data into an unnamed temporary file. Raises OSError."""
    if hasattr(os, "memfd_create"):
        copy: BinaryIO = os.fdopen(os.memfd_create("copy"), "w+b")
    else:
        copy = tempfile.TemporaryFile()  # noqa: SIM115  # closed by the caller's stack
    try:
        copy.write(data)
        copy.flush()
    except OSError:
        copy.close()
        raise
    return copy


def _file_stamp(file: BinaryIO) -> tuple[int, int, int, int]:
    """Return size, times and inode of an open file. Raises Unreadable."""
    try:
        status = os.fstat(file.fileno())
    except OSError as error:
        raise UnreadableFile from error
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


class UnreadableFile(Exception):
    """Reading an open file failed: I/O error or lack of memory."""


class _Window(NamedTuple):
    """Part of a line around a position in it."""

    text: str
    at: int
    starts: bool
    ends: bool


@dataclass(frozen=True)
class Preview:
    """A line, truncated around its match if it is long; the match starts at character `at`."""

    text: str
    at: int


class MatchReader:
    """An open file, addressed by byte offsets that exclude the byte order mark.

    UTF-16 is converted to UTF-8 as a whole; of other files only the requested parts are read.
    """

    def __init__(self, read_at: Callable[[int, int], bytes], size: int) -> None:
        """Read the head of a file of `size` bytes. All methods may raise UnreadableFile."""
        self._read_at: Final = read_at
        self._size: Final = size
        head = read_at(0, _HEAD_BYTES)
        self.binary: Final = is_binary(head)
        self._mark: Final = len(_UTF8_MARK) if head.startswith(_UTF8_MARK) else 0
        self._converted: Final = self._convert() if head.startswith(UTF16_BOMS) else None

    def line_bytes(self, match: LineMatch, most: int) -> bytes:
        """Read the line without its end, at most `most` bytes of it."""
        data = self._read(match.offset, most)
        return data.partition(b"\n")[0]

    def preview(self, match: LineMatch, column: int) -> Preview:
        """Read the line's preview around its byte `column`."""
        return self._truncate(self._window(match.offset, column))

    def end_of_lines(self) -> int:
        """Find the end of the last line that has one."""
        return self._line_start(self._end())

    def lines_before(self, match: LineMatch, count: int) -> tuple[Line, ...]:
        """Return up to `count` lines before a line, each truncated if it is long."""
        lines: list[Line] = []
        start, number = match.offset, match.line
        while len(lines) < count and start > 0:
            start, number = self._line_start(start - 1), number - 1
            lines.append(Line(number, self._truncate(self._window(start, 0)).text))
        return tuple(reversed(lines))

    def lines_after(self, match: LineMatch, count: int) -> tuple[Line, ...]:
        """Return up to `count` lines after a line, each truncated if it is long."""
        lines: list[Line] = []
        start, number = self._next_line(match.offset) if count else 0, match.line
        while len(lines) < count and self._read(start, 1):
            number += 1
            lines.append(Line(number, self._truncate(self._window(start, 0)).text))
            if len(lines) < count:
                start = self._next_line(start)
        return tuple(lines)

    def _convert(self) -> bytes:
        try:
            return self._read_at(0, self._size).decode("utf-16", "replace").encode()
        except MemoryError as error:
            raise UnreadableFile from error

    def _read(self, start: int, size: int) -> bytes:
        if self._converted is not None:
            return self._converted[start : start + size]
        return self._read_at(start + self._mark, size)

    def _end(self) -> int:
        return self._size - self._mark if self._converted is None else len(self._converted)

    def _line_start(self, end: int) -> int:
        """Return where the line starts whose line break is at `end`."""
        while end > 0:
            start = max(0, end - _BLOCK_BYTES)
            found = self._read(start, end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
        return 0

    def _next_line(self, start: int) -> int:
        """Return where the line after the one at `start` begins, at most the file's end."""
        while block := self._read(start, _BLOCK_BYTES):
            found = block.find(b"\n")
            if found >= 0:
                return start + found + 1
            start += len(block)
        return start

    def _window(self, offset: int, column: int) -> _Window:
        """Read the part of the line at `offset` that a preview of a byte in it needs."""
        start = max(0, column - _WINDOW_BYTES)
        size = column - start + _WINDOW_BYTES
        data = self._read(offset + start, size)
        ends = len(data) < size
        line = data[: data.find(b"\n", column - start) + 1]
        if line and not start and line.isascii():  # as nearly all are
            text = line[:-1].removesuffix(b"\r").decode()
            return _Window(text, min(column, len(text)), starts=True, ends=True)
        encoding = _UTF8 if data.isascii() else self._encoding
        first = self._character_start(data, encoding, offset, start)
        if first != start:
            data = self._read(offset + first, size + start - first)
        before = data[: column - first]
        line_break = data.find(b"\n", len(before))
        if line_break >= 0:
            text = decode_as(data[:line_break].removesuffix(b"\r") + b"\n", encoding)[:-1]
        else:
            text = decode_as(data, encoding) if ends else decode_prefix(data, encoding)
        at = len(decode_prefix(before, encoding))
        return _Window(text, at, not start, ends or line_break >= 0)

    def _character_start(self, data: bytes, encoding: str, offset: int, start: int) -> int:
        """Find a byte at or near `start` where a character begins.

        Decoding from there gives the same text as decoding from the line's start.
        """
        if not start:
            return 0
        if encoding == _UTF8:
            rest = data[:_MAX_CONTINUATION]
            return start + len(rest) - len(rest.lstrip(_CONTINUATION_BYTES))
        end = start
        while end > 0:
            block = self._read(offset + max(0, end - _BLOCK_BYTES), min(end, _BLOCK_BYTES))
            end = max(0, end - _BLOCK_BYTES)
            kept = len(block.rstrip(_NOT_SEPARATE))
            if kept:
                return end + kept
        return 0

    @staticmethod
    def _truncate(window: _Window) -> Preview:
        """Mark with an ellipsis each end at which the line continues."""
        text, at = window.text, window.at
        if window.starts and window.ends and len(text) <= MAX_PREVIEW:
            return Preview(text, at)
        room = MAX_PREVIEW - 2 * len(ELLIPSIS)
        first = 0
        if not window.starts or at > room - _LEAD:
            first = max(0, at - _LEAD)
            if window.ends:
                first = max(0, min(first, len(text) - room))
        before = ELLIPSIS if first > 0 or not window.starts else ""
        room = MAX_PREVIEW - len(before)
        at = len(before) + at - first
        if window.ends and len(text) - first <= room:
            return Preview(before + text[first:], at)
        return Preview(before + text[first : first + room - len(ELLIPSIS)] + ELLIPSIS, at)

    @cached_property
    def _encoding(self) -> str:
        if self._converted is not None:
            return _UTF8
        return detect_encoding(self._read_at).name


def descriptor_reader(descriptor: int) -> Callable[[int, int], bytes]:
    """Return a function that reads an open file by offset. It raises Unreadable."""

    def read_at(start: int, size: int) -> bytes:
        try:
            return os.pread(descriptor, size, start)
        except (OSError, MemoryError) as error:
            raise UnreadableFile from error

    return read_at
