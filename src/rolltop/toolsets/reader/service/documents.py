"""Documents that are open: read once, with their outline and counts, kept while unchanged.

Two caches. In memory, whole documents by the identity of their file (path, size, times,
inode); a file that was changed within two seconds of being read is compared by its bytes, as
its times might not tell two changes apart. In the store, outlines and counts by a hash of the
file's name and bytes, so that they can never be those of another state of the file. The store
takes nothing from an answer: it is waited for at most `_PATIENCE`, longer where a text would be
extracted instead, written after the answer, and its failures are passed over.

The text of a PDF or an Office file is kept nowhere but in memory. While it is not there, what
the store keeps answers those who ask for no text, so that they need not wait until it is
extracted.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from rolltop.core import tokens
from rolltop.core.errors import Invalid, RolltopError
from rolltop.core.lazy import lazy
from rolltop.core.roots.near import near
from rolltop.core.roots.problems import PathProblem, unreadable
from rolltop.core.roots.settling import is_settled
from rolltop.core.text.lines import line_starts
from rolltop.toolsets.reader.formats import is_extracted, read_document
from rolltop.toolsets.reader.models import Identity, KeptOutline
from rolltop.toolsets.reader.service import outlines
from rolltop.toolsets.reader.summary import SAMPLE, Entry, Material, analyse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import BinaryIO

    from rolltop.core.call import Call
    from rolltop.core.desk import Desk
    from rolltop.core.roots import Located
    from rolltop.core.text.outline import Section
    from rolltop.toolsets.reader import store
    from rolltop.toolsets.reader.formats import Document
    from rolltop.toolsets.reader.models import Encoding, JsonObject
else:
    store = lazy("rolltop.toolsets.reader.store")

_MORE: Final = 1 << 20
"""Bytes read at once of what a file holds beyond its size."""
_PATIENCE: Final = 0.05
_PATIENCE_OF_EXTRACTED: Final = 1.0
"""Seconds: to extract a text takes that and more."""
_WORTH_KEEPING: Final = 32_768
"""Bytes: the outline of a smaller file is made as fast as it is looked up."""
_BYTES_PER_SECTION: Final = 400
_BYTES_OF_MATERIAL: Final = 8
"""Bytes of what a summary is made of, by the character it was read from."""


@dataclass
class Opened:
    """A document as read from one open file, with its outline and counts."""

    identity: Identity
    settled: bool
    """Whether a change after it was read shows in the file's times for certain."""
    content: str
    """A hash of the file's name and bytes."""
    document: Document
    starts: Sequence[int]
    """The offset of each line."""
    tokens: int
    costs: Sequence[int]
    """The tokens of each section, its children included."""
    has_text: bool = True
    """Whether the text is there: else only the outline and the counts are."""
    summaries: dict[tuple[str, int, int], JsonObject | None] = field(
        default_factory=dict[tuple[str, int, int], "JsonObject | None"]
    )
    """Summaries that were given, by style, bound and limit."""
    _others: dict[Encoding, int] = field(default_factory=dict["Encoding", int])

    @property
    def path(self) -> str:
        """The file's real path."""
        return self.identity.path

    @property
    def text(self) -> str:
        """The document's text."""
        return self.document.text

    @property
    def sections(self) -> Sequence[Section]:
        """The document's sections in order."""
        return self.document.outline.sections

    @cached_property
    def material(self) -> Material:
        """What a summary of the document may be made of."""
        entries = [
            Entry(section.title, section.level, section.start_line, cost)
            for section, cost in zip(self.sections, self.costs, strict=True)
        ]
        offsets = [self.starts[section.start_line - 1] for section in self.sections]
        return analyse(self.text, self.document.kind, entries, offsets)

    @property
    def weight(self) -> int:
        """About how many bytes of memory the document takes."""
        text = sys.getsizeof(self.text)
        read = min(len(self.text), SAMPLE)
        return text + _BYTES_OF_MATERIAL * read + _BYTES_PER_SECTION * len(self.sections)

    def offsets(self, section: Section) -> tuple[int, int]:
        """Return where a section starts and ends in the text."""
        return outlines.offsets(self.text, self.starts, section)

    def count(self, encoding: Encoding) -> int:
        """Return the document's tokens in an encoding."""
        if encoding == "cl100k_base":
            return self.tokens
        if encoding not in self._others:
            self._others[encoding] = tokens.count(self.text, encoding)
        return self._others[encoding]


@dataclass(frozen=True)
class _Raw:
    """The bytes of one open file."""

    data: bytes
    identity: Identity
    settled: bool
    stable: bool
    content: str
    path: Path
    extracted: bool
    """Whether the text takes libraries and time to read."""

    @property
    def is_worth_keeping(self) -> bool:
        return self.extracted or len(self.data) >= _WORTH_KEEPING


class _Memory:
    """The documents last used, within a bound of bytes; the very last in any case."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self._kept: OrderedDict[str, Opened] = OrderedDict()
        self._weight = 0

    def find(self, path: str) -> Opened | None:
        """Return the document last read from the path."""
        with self._lock:
            found = self._kept.get(path)
            if found is not None:
                self._kept.move_to_end(path)
            return found

    def keep(self, opened: Opened) -> None:
        """Keep a document, and forget the longest unused of the others over the bound."""
        with self._lock:
            before = self._kept.pop(opened.path, None)
            self._weight -= before.weight if before else 0
            self._kept[opened.path] = opened
            self._weight += opened.weight
            while self._weight > self._limit and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._weight -= oldest.weight


_memories: Final[WeakKeyDictionary[Desk, _Memory]] = WeakKeyDictionary()
_keeping: Final[set[asyncio.Task[None]]] = set()


async def open_document(call: Call, path: str, *, with_text: bool = True) -> Opened:
    """Return the document at a path as it is now; `with_text` says whether its text is needed.

    Raises:
        RolltopError: the path's own problem, FILE_TOO_LARGE, FILE_BINARY, FORMAT_UNSUPPORTED.

    """
    found = await call.work(_recall, call.desk, path, with_text=with_text)
    if isinstance(found, Opened):
        return found
    worth = found.is_worth_keeping
    is_of_use = not (found.extracted and with_text)  # the outline is extracted with the text
    kept = await _look_up(call, found) if worth and is_of_use else None
    opened = await call.work(_read, call.desk, found, kept)
    if worth and kept is None and _is_same_again(opened, found):
        _keep_later(call, opened)
    return opened


async def until_kept() -> None:
    """Return once every outline that was to be kept has been, or has failed to be."""
    while _keeping:
        await asyncio.wait(_keeping)


def _memory(desk: Desk) -> _Memory:
    return _memories.setdefault(desk, _Memory(desk.settings["reader.cache_bytes"]))


def _is_same_again(opened: Opened, raw: _Raw) -> bool:
    """Whether the file's bytes give this outline each time they are read, and `loads` does too.

    What is said to be left out of an extracted text may be there when it is read faster.
    """
    return not opened.document.note if raw.extracted else not opened.document.rendered


def _located(desk: Desk, path: str) -> Located:
    """Return the file a path means; where there is none, say which may be meant."""
    try:
        return desk.roots.locate(path, reader=True)
    except PathProblem as problem:
        meant = near(desk.roots, path) if problem.code == "FILE_NOT_FOUND" else []
        if meant:
            problem.hint = f"Did you mean {meant[0]}? {problem.hint}"
        if problem.code == "FILE_NOT_FOUND" and desk.registry.offers(["repo_list_dir"]):
            problem.hint += " repo_list_dir shows what is there."
        raise


def _recall(desk: Desk, path: str, *, with_text: bool) -> Opened | _Raw:
    """Return the document from memory if the file is unchanged, else the file's bytes."""
    if not path.strip():
        raise Invalid("file_path is blank", hint="Give the path of a file inside a root.")
    located = _located(desk, path)
    try:
        with desk.roots.open_regular(located) as file:
            identity, settled = _identity(file, str(located.path))
            remembered = _memory(desk).find(identity.path)
            if remembered and with_text and not remembered.has_text:
                remembered = None
            if remembered and remembered.settled and remembered.identity == identity:
                return remembered
            raw = _bytes_of(file, identity, located.path, desk.settings["reader.max_file_bytes"])
    except OSError:  # its disk or its server is at fault
        raise unreadable(path, "cannot be read") from None
    if remembered and raw.stable and remembered.content == raw.content:
        remembered.identity, remembered.settled = identity, settled
        return remembered
    return raw


def _identity(file: BinaryIO, path: str) -> tuple[Identity, bool]:
    """Return the identity of an open file, and whether its last change is long enough ago."""
    status = os.fstat(file.fileno())
    identity = Identity(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
    return identity, is_settled(status.st_mtime_ns, status.st_ctime_ns)


def _bytes_of(file: BinaryIO, identity: Identity, path: Path, limit: int) -> _Raw:
    """Return what the open file holds, and whether it stayed the same while it was read."""
    data = file.read(identity.size + 1) if identity.size <= limit else b""
    while identity.size < len(data) <= limit and (more := file.read(_MORE)):
        data += more  # it has grown, or is one of the kernel's, which tell no size
    if identity.size > limit or len(data) > limit:
        raise Invalid(
            f"The file has {max(identity.size, len(data))} bytes; at most {limit} are read",
            code="FILE_TOO_LARGE",
            hint="Raise the setting reader.max_file_bytes, or split the file.",
        )
    after, settled = _identity(file, identity.path)
    stable = after == identity and len(data) == identity.size
    extracted = is_extracted(data, path)
    key = outlines.key(path, extracted=extracted)
    content = blake2b(data, digest_size=20, person=b"rolltop reader", key=key)
    return _Raw(data, identity, settled, stable, content.hexdigest(), path, extracted)


def _read(desk: Desk, raw: _Raw, kept: KeptOutline | None) -> Opened:
    """Return the document in a file's bytes, with the outline that is kept or made anew."""
    has_text = kept is None or not raw.extracted
    if kept is not None:
        document, total, costs = outlines.loads(kept.outline, raw.data if has_text else None)
        starts = line_starts(document.text)
    else:
        document = read_document(raw.data, raw.path)
        starts = line_starts(document.text)
        total, costs = outlines.counted(document.text, starts, document.outline.sections)
    opened = Opened(
        raw.identity, raw.settled, raw.content, document, starts, total, costs, has_text
    )
    if raw.stable:
        _memory(desk).keep(opened)
    return opened


async def _look_up(call: Call, raw: _Raw) -> KeptOutline | None:
    """Return what the store keeps of a file's content, None if nothing or if it takes its time."""
    if not call.desk.database.is_open():
        return None
    asked = asyncio.ensure_future(call.read(store.find_outline, raw.content))
    asked.add_done_callback(_pass_over)
    patience = _PATIENCE_OF_EXTRACTED if raw.extracted else _PATIENCE
    done, _ = await asyncio.wait({asked}, timeout=patience)
    return asked.result() if done and asked.exception() is None else None


def _pass_over(task: asyncio.Future[KeptOutline | None]) -> None:
    """Take note of a failure that nobody waits for."""
    if not task.cancelled():
        task.exception()


def _keep_later(call: Call, opened: Opened) -> None:
    """Write the document's outline into the store, after the answer."""
    if not call.desk.database.is_open():
        return
    task = asyncio.ensure_future(_keep(call, opened))
    _keeping.add(task)
    task.add_done_callback(_keeping.discard)


async def _keep(call: Call, opened: Opened) -> None:
    outline = outlines.dumps(opened.document, opened.tokens, opened.costs)
    kept = KeptOutline(opened.content, outline)
    try:
        await call.write(store.keep_outline, kept, call.desk.settings["reader.cache_bytes"])
    except RolltopError:
        return
