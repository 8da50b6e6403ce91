"""Reads files for ranking, each in one known state."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from typing import BinaryIO, Final

from rolltop.documents.extractors.formats import HEADER_BYTES, has_document_name, is_extracted
from rolltop.toolsets.retrieval.store import MAX_INTEGER, Stamp
from rolltop.workspace import FileStat, PathError, Root, Roots, file_stat, is_binary
from rolltop.workspace.encoding import TextEncoding, decode, decode_prefix, detect_encoding
from rolltop.workspace.file_stat import is_open_for_writing
from rolltop.workspace.safe_open import still_names

# Larger files are data or generated: only their beginning is ranked.
MAX_BYTES: Final = 8 << 20

# Bytes ranked of a larger file, so that its name and purpose can be found.
BEGINNING: Final = 1 << 20

_ATTEMPTS: Final = 3

# Marks text that belongs to no known state of a file: it may be displayed, not indexed.
_NO_STATE: Final = (-1, 0, 0, 0)


class Unreadable(Exception):
    """The file is missing or binary, or may not be read."""


class DocumentFound(Unreadable):
    """The file is a document, whose text has to be extracted, in the state `stamp`."""

    def __init__(self, stamp: Stamp) -> None:
        super().__init__()
        self.stamp: Final = stamp


def read_text(
    roots: Roots, root: Root, entry: FileStat, *, keeping: bool = False
) -> tuple[Stamp, str]:
    """Read a file's state and text; with `keeping`, not of a file that is open for writing.

    Only the beginning of a file larger than `MAX_BYTES` is read. Raises Unreadable, DocumentFound.
    """
    for _ in range(_ATTEMPTS):
        try:
            with roots.open_entry(root, entry) as file:
                stamp = stamp_of(os.fstat(file.fileno()))
                if keeping and is_open_for_writing(file.fileno()):
                    return _NO_STATE, ""
                _require_no_document(file, entry.relative, stamp)
                most = BEGINNING if stamp[0] > MAX_BYTES else MAX_BYTES
                data = file.read(min(stamp[0], most) + 1)
                if (
                    len(data) != min(stamp[0], most + 1)
                    or stamp_of(os.fstat(file.fileno())) != stamp
                ):
                    data = os.pread(file.fileno(), most + 1, 0)  # at one time, not in two parts
                    stamp = _NO_STATE
                encoding = TextEncoding("ascii")
                if len(data) > most and not data.isascii():
                    encoding = detect_encoding(partial(_read_at, file.fileno()))
                if is_stable(stamp) or still_names(root.absolute_path(entry.relative), file):
                    break
        except (OSError, PathError):
            raise Unreadable from None
    else:
        raise Unreadable
    if is_binary(data) or is_extracted(data, entry.relative):
        raise Unreadable
    if len(data) <= most:
        return stamp, decode(data).text
    text = decode_prefix(data[encoding.bom_length : most], encoding.name)
    return stamp, text[: text.rfind("\n") + 1 or len(text)]


def _require_no_document(file: BinaryIO, path: str, stamp: Stamp) -> None:
    """Raise DocumentFound if an open file is named as a document and is one."""
    if has_document_name(path):
        if is_extracted(file.read(HEADER_BYTES), path):
            raise DocumentFound(stamp)
        file.seek(0)


def split_documents(entries: Iterable[FileStat]) -> tuple[list[FileStat], list[FileStat]]:
    """Return the other files, and those that are named as documents."""
    kinds: tuple[list[FileStat], list[FileStat]] = [], []
    for entry in entries:
        kinds[has_document_name(entry.relative)].append(entry)
    return kinds


def is_indexable(path: str, stamp: Stamp) -> bool:
    """Report whether an index may hold a file in a state.

    What is named as a document waits for the index, so the time that a user may set does not count.
    """
    if not has_document_name(path):
        return is_stable(stamp)
    size, _, changed, _ = stamp
    return size >= 0 and max(map(abs, stamp)) <= MAX_INTEGER and file_stat.is_stable(0, changed)


def is_stable(stamp: Stamp) -> bool:
    """Report whether the next change would show in the file's times."""
    is_in_range = min(stamp) >= 0 and max(stamp) <= MAX_INTEGER
    return is_in_range and file_stat.is_stable(stamp[1], stamp[2])


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the state of a file, as an index keeps it."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _read_at(descriptor: int, start: int, size: int) -> bytes:
    return os.pread(descriptor, size, start)
