"""Zip files that documents come in, opened only within bounds."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final
from zipfile import BadZipFile, ZipFile

from rolltop.toolsets.reader.formats.failures import damaged, encrypted, too_large

if TYPE_CHECKING:
    from zipfile import ZipInfo

MAX_UNPACKED: Final = 512 << 20
"""Bytes of all parts together, unpacked."""

MAX_MARKUP: Final = 96 << 20
"""Bytes of one part that is parsed as markup; pictures are not."""

MAX_PARTS: Final = 20_000

_MARKUP_ENDINGS: Final = (".xml", ".rels", ".xhtml", ".html", ".htm", ".opf", ".ncx")
_ENCRYPTED_FLAG: Final = 1


def open_archive(data: bytes, name: str) -> ZipFile:
    """Return the archive, after its directory was checked.

    `zipfile` never unpacks a part beyond the size the directory states, so the stated sizes
    bound what the whole can cost.

    Raises:
        Invalid: FILE_UNREADABLE if damaged or encrypted, FILE_TOO_LARGE beyond the bounds.

    """
    try:
        archive = ZipFile(io.BytesIO(data))
    except (BadZipFile, ValueError, OSError, NotImplementedError) as fault:
        raise damaged(name) from fault
    _check(archive.infolist(), name)
    return archive


def _check(parts: list[ZipInfo], name: str) -> None:
    if any(part.flag_bits & _ENCRYPTED_FLAG for part in parts):
        raise encrypted(name)
    if len(parts) > MAX_PARTS:
        raise too_large(name, f"{MAX_PARTS} parts")
    if sum(part.file_size for part in parts) > MAX_UNPACKED:
        raise too_large(name, f"{MAX_UNPACKED >> 20} MiB")
    markup = (part for part in parts if part.filename.lower().endswith(_MARKUP_ENDINGS))
    if any(part.file_size > MAX_MARKUP for part in markup):
        raise too_large(name, f"{MAX_MARKUP >> 20} MiB in one part")
