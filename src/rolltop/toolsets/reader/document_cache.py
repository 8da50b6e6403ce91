"""Open documents: read once and cached, with outline and token counts, while unchanged.

Memory holds whole documents by the identity of their file (path, size, times, inode); a file whose
last change is too recent for its times to be trusted is compared by its bytes. The store holds
outlines and counts by a hash of the file's name and bytes, over restarts, and never any text. No
answer waits for a slow store, or fails with it: reads have a timeout and writes come afterwards.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate, pairwise
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Final, TypeVar

from rolltop.core import token_counter
from rolltop.core.context import AppContext, CallContext
from rolltop.core.errors import InvalidArgument, RolltopError
from rolltop.core.text.lines import line_starts
from rolltop.documents.extractors.document_reader import (
    MAX_SECONDS,
    ExtractionPool,
    ParserFault,
    library_versions,
)
from rolltop.documents.extractors.extracted_text import ParsedDocument
from rolltop.documents.extractors.formats import is_extracted
from rolltop.documents.outline import VERSION, Outline, Section
from rolltop.toolsets.reader import store
from rolltop.toolsets.reader.models import JsonObject, TokenEncoding
from rolltop.toolsets.reader.summary.material import (
    KINDS_OF_TEXT,
    SAMPLE_CHARACTERS,
    Material,
    analyze,
)
from rolltop.workspace import PathError, ResolvedPath
from rolltop.workspace.encoding import decode
from rolltop.workspace.errors import path_unreadable
from rolltop.workspace.file_stat import StatState, is_stable_state, state_of
from rolltop.workspace.suggestions import suggest_paths

T = TypeVar("T")

_READ_BYTES: Final = 1 << 20
STORE_TIMEOUT: Final = 0.05
EXTRACTED_STORE_TIMEOUT: Final = 1.0
"""Seconds: extracting a text takes that long and more."""
_MIN_STORED_BYTES: Final = 32_768
"""A smaller file is parsed as fast as its outline is looked up."""
_BYTES_PER_SECTION: Final = 400
_BYTES_OF_MATERIAL: Final = 8
"""For each character that was read for a summary."""
_MAX_FAILURES: Final = 1_000
_LAYOUT: Final = 1
"""Version of the JSON that `dump_outline` writes."""


@dataclass
class OpenDocument:
    """A document as read from one open file, with its outline and counts.

    `path` is the file's real one, `stable` says that any later change shows in its `state`,
    `content` is a hash of its name and bytes, `starts` the offset of each line, `costs` the tokens
    of each section with its children. Without `has_text` only the outline and the counts are known.
    """

    path: str
    state: StatState
    stable: bool
    content: str
    document: ParsedDocument
    starts: Sequence[int]
    tokens: int
    costs: Sequence[int]
    has_text: bool = True
    is_rewritten: bool = False
    """Whether another text was read at this path, of which a caller may go on with the next page.

    One that this text begins with is no other.
    """
    summaries: dict[tuple[str | None, str, int, int], JsonObject | None] = field(
        default_factory=dict[tuple[str | None, str, int, int], "JsonObject | None"]
    )
    """Answers by address, style, bound and budget."""

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
        """What summaries of the document are made from."""
        kind = KINDS_OF_TEXT.get(self.path.rpartition(".")[2].lower(), self.document.kind)
        titled = () if self.document.outline.is_divided else self.sections
        return analyze(self.text, kind, titled, self.costs, self.starts)

    @property
    def weight(self) -> int:
        """Bytes of memory the document takes, roughly."""
        material = _BYTES_OF_MATERIAL * min(len(self.text), SAMPLE_CHARACTERS)
        return sys.getsizeof(self.text) + material + _BYTES_PER_SECTION * len(self.sections)

    def offsets(self, section: Section) -> tuple[int, int]:
        """Return where a section starts and ends in the text."""
        return section_offsets(self.text, self.starts, section)

    def count(self, encoding: TokenEncoding) -> int:
        """Count the document's tokens in an encoding."""
        if encoding == "cl100k_base":
            return self.tokens
        return token_counter.count(self.text, encoding)


@dataclass(frozen=True)
class _FileBytes:
    """The bytes of one open file; `unchanged` says that it stayed the same while it was read."""

    data: bytes
    state: StatState
    stable: bool
    unchanged: bool
    content: str
    path: Path
    extracted: bool

    @property
    def is_storable(self) -> bool:
        return self.extracted or len(self.data) >= _MIN_STORED_BYTES


class DocumentCache:
    """The documents last used, within `reader.cache_bytes`; the very last in any case."""

    def __init__(self, app: AppContext) -> None:
        self._app: Final = app
        seconds = min(MAX_SECONDS, app.settings["call_timeout"])
        self._pool: Final = ExtractionPool(seconds)
        self._lock: Final = Lock()
        self._documents: Final = OrderedDict[str, OpenDocument]()
        self._failures: Final = OrderedDict[str, None]()
        """Contents that could not be parsed."""
        self._weight = 0
        self._writes: Final = set[asyncio.Task[None]]()

    async def open(
        self, call: CallContext, path: str, *, with_text: bool = True, retry: bool = True
    ) -> OpenDocument:
        """Return the document at a path as it is now; `with_text`: its text is needed.

        Without `retry` none is parsed that could not be before. Raises RolltopError: the path's
        problem, FILE_TOO_LARGE, FILE_UNREADABLE, FILE_BINARY, FORMAT_UNSUPPORTED.
        """
        found = await call.run_in_thread(self._find_or_read, path, with_text=with_text)
        if isinstance(found, OpenDocument):
            return found
        if not retry and found.content in self._failures:
            raise path_unreadable(path, "could not be parsed before")
        return await self._open_new(call, found, with_text=with_text)

    async def answer(
        self, call: CallContext, path: str, function: Callable[[OpenDocument], T]
    ) -> T:
        """Run `function` on a worker thread with the document that `open` gives.

        A cached document is found and answered from in one turn: each costs a tenth of such a call.
        """

        def find_and_answer() -> _FileBytes | tuple[T]:
            found = self._find_or_read(path, with_text=True)
            return (function(found),) if isinstance(found, OpenDocument) else found

        found = await call.run_in_thread(find_and_answer)
        if isinstance(found, tuple):
            return found[0]
        opened = await self._open_new(call, found, with_text=True)
        return await call.run_in_thread(function, opened)

    async def _open_new(
        self, call: CallContext, found: _FileBytes, *, with_text: bool
    ) -> OpenDocument:
        stored = None
        if found.is_storable and not (found.extracted and with_text):
            stored = await self._find_stored(call, found)
        opened = await call.run_in_thread(self._parse, found, stored)
        if stored is None and found.is_storable and _is_reproducible(opened, found):
            task = asyncio.ensure_future(self._store(call, opened))
            self._writes.add(task)
            task.add_done_callback(self._writes.discard)
        return opened

    async def wait_for_writes(self) -> None:
        """Wait until every outline is stored, or has failed to be."""
        while self._writes:
            await asyncio.wait(self._writes)

    def _find_or_read(self, path: str, *, with_text: bool) -> OpenDocument | _FileBytes:
        """Return the cached document if the file is unchanged, else the file's bytes."""
        if not path.strip():
            raise InvalidArgument(
                "file_path is blank", hint="Give the path of a file inside a root."
            )
        located = self._locate(path)
        try:
            with self._app.roots.open_regular(located) as file:
                state = state_of(os.fstat(file.fileno()))
                stable = is_stable_state(state)
                cached = self._find(str(located.path))
                if cached and with_text and not cached.has_text:
                    cached = None
                if cached and cached.stable and cached.state == state:
                    return cached
                limit = self._app.settings["reader.max_file_bytes"]
                raw = _read_bytes(file, state, located.path, limit)
        except OSError:  # of the disk or a network file system
            raise path_unreadable(path, "cannot be read") from None
        if cached and raw.unchanged and cached.content == raw.content:
            cached.state, cached.stable = state, stable
            return cached
        return raw

    def _locate(self, path: str) -> ResolvedPath:
        """Resolve a path; where no file has it, suggest those that may be meant."""
        try:
            return self._app.roots.locate(path, reader=True)
        except PathError as problem:
            if problem.code == "FILE_NOT_FOUND":
                if meant := suggest_paths(self._app.roots, path):
                    problem.hint = f"Did you mean {meant[0]}? {problem.hint}"
                if self._app.registry.has_tools(["repo_list_dir"]):
                    problem.hint += " repo_list_dir shows what is there."
            raise

    def _find(self, path: str) -> OpenDocument | None:
        with self._lock:
            if path in self._documents:
                self._documents.move_to_end(path)
            return self._documents.get(path)

    def _put(self, document: OpenDocument) -> None:
        """Cache a document and evict the least recently used ones over the bound."""
        limit: int = self._app.settings["reader.cache_bytes"]
        with self._lock:
            before = self._documents.pop(document.path, None)
            if before and before.has_text:
                is_longer = document.text.startswith(before.text)
                document.is_rewritten = before.is_rewritten or not is_longer
            self._weight += document.weight - (before.weight if before else 0)
            self._documents[document.path] = document
            while self._weight > limit and len(self._documents) > 1:
                self._weight -= self._documents.popitem(last=False)[1].weight

    def _parse(self, raw: _FileBytes, stored: str | None) -> OpenDocument:
        """Make the document of a file's bytes, with the stored outline or a new one."""
        has_text = stored is None or not raw.extracted
        if stored is None:
            document = self._read(raw)
            starts = line_starts(document.text)
            total, costs = count_tokens(document.text, starts, document.outline.sections)
        else:
            document, total, costs = load_outline(stored, raw.data if has_text else None)
            starts = line_starts(document.text)
        opened = OpenDocument(
            *(str(raw.path), raw.state, raw.stable, raw.content, document),
            *(starts, total, costs, has_text),
        )
        if raw.unchanged:
            self._put(opened)
        return opened

    def _read(self, raw: _FileBytes) -> ParsedDocument:
        try:
            document = self._pool.read(raw.data, raw.path)
        except (InvalidArgument, ParserFault):
            with self._lock:
                self._failures[raw.content] = None
                if len(self._failures) > _MAX_FAILURES:
                    self._failures.popitem(last=False)
            raise
        with self._lock:
            self._failures.pop(raw.content, None)
        return document

    async def _find_stored(self, call: CallContext, raw: _FileBytes) -> str | None:
        """Look up the stored outline; None if there is none in time."""
        if not self._app.database.is_open():
            return None
        lookup = asyncio.ensure_future(call.read(store.find_outline, raw.content))
        # Nobody may be waiting any more when it fails.
        lookup.add_done_callback(lambda task: None if task.cancelled() else task.exception())
        timeout = EXTRACTED_STORE_TIMEOUT if raw.extracted else STORE_TIMEOUT
        done, _ = await asyncio.wait({lookup}, timeout=timeout)
        return lookup.result() if done and lookup.exception() is None else None

    async def _store(self, call: CallContext, document: OpenDocument) -> None:
        if not self._app.database.is_open():
            return
        outline = dump_outline(document.document, document.tokens, document.costs)
        limit: int = self._app.settings["reader.cache_bytes"]
        try:
            await call.write(store.store_outline, document.content, outline, limit)
        except RolltopError:
            return


def _is_reproducible(document: OpenDocument, raw: _FileBytes) -> bool:
    """Whether `load_outline` gives this document again for the same bytes."""
    return not document.document.is_cut if raw.extracted else not document.document.rendered


def _read_bytes(file: BinaryIO, state: StatState, path: Path, limit: int) -> _FileBytes:
    size = state[0]
    data = file.read(size + 1) if size <= limit else b""
    while size < len(data) <= limit and (more := file.read(_READ_BYTES)):
        data += more  # the file has grown, or is one of the kernel's, whose sizes are 0
    if size > limit or len(data) > limit:
        raise InvalidArgument(
            f"The file has {max(size, len(data))} bytes; at most {limit} are read",
            code="FILE_TOO_LARGE",
            hint="Raise the setting reader.max_file_bytes, or split the file.",
        )
    after = state_of(os.fstat(file.fileno()))
    stable = is_stable_state(after)
    unchanged = after == state and len(data) == size
    extracted = is_extracted(data, path.name)
    key = _hash_key(path, extracted=extracted)
    content = blake2b(data, digest_size=20, person=b"rolltop reader", key=key)
    return _FileBytes(data, state, stable, unchanged, content.hexdigest(), path, extracted)


def _hash_key(path: Path, *, extracted: bool) -> bytes:
    """Return what, besides its bytes, an outline depends on: file name, versions, libraries."""
    name = path.name.encode("utf-8", "surrogateescape")
    if extracted:
        name += b"\0" + library_versions().encode()
    return blake2b(name, digest_size=32, person=f"{_LAYOUT}.{VERSION}".encode()).digest()


def section_offsets(text: str, starts: Sequence[int], section: Section) -> tuple[int, int]:
    """Return where a section's first line starts and its last line ends in the text."""
    end = starts[section.end_line] if section.end_line < len(starts) else len(text)
    return starts[section.start_line - 1], end


def count_tokens(
    text: str, starts: Sequence[int], sections: Sequence[Section]
) -> tuple[int, tuple[int, ...]]:
    """Count a text's tokens, and those of each section with its children.

    The text is counted once, in parts between sections: no token reaches over the start of a line
    that is not blank, so the parts add up. Sections that begin or end elsewhere are counted alone.
    """
    spans = [section_offsets(text, starts, section) for section in sections]
    borders = {offset for span in spans for offset in span if _is_token_border(text, offset)}
    cuts = sorted(borders | {0, len(text)})
    costs = (token_counter.count(text[start:end]) for start, end in pairwise(cuts))
    before = dict(zip(cuts, accumulate(costs, initial=0), strict=True))
    return before[len(text)], tuple(
        before[end] - before[start]
        if start in before and end in before
        else token_counter.count(text[start:end])
        for start, end in spans
    )


def _is_token_border(text: str, offset: int) -> bool:
    """Whether a line that is not blank starts here, or the text starts or ends."""
    if offset in {0, len(text)}:
        return True
    end = text.find("\n", offset, offset + 200)
    line = text[offset : end if end >= 0 else offset + 200]
    indent = line[: len(line) - len(line.lstrip())]
    return text[offset - 1] == "\n" and len(indent) < len(line) and "\r" not in indent


def dump_outline(document: ParsedDocument, total: int, costs: Sequence[int]) -> str:
    """Serialize a document's outline and counts as ASCII JSON."""
    outline = document.outline
    rows = [
        [section.id, section.title, section.level, section.start_line, section.end_line, cost]
        for section, cost in zip(outline.sections, costs, strict=True)
    ]
    return json.dumps(
        [document.kind, document.note, outline.line_count, outline.is_divided, total, rows],
        separators=(",", ":"),
    )


def load_outline(outline: str, data: bytes | None) -> tuple[ParsedDocument, int, tuple[int, ...]]:
    """Return the document in the bytes, its tokens and those of its sections, from `dump_outline`.

    Without bytes it is a rendered document whose text is missing.
    """
    kind, note, lines, is_divided, total, rows = json.loads(outline)
    loaded = Outline(kind, tuple(_load_sections(rows)), lines, is_divided=is_divided)
    text = "" if data is None else decode(data).text
    document = ParsedDocument(text, loaded, note, rendered=data is None)
    return document, total, tuple(row[-1] for row in rows)


def _load_sections(rows: Sequence[Any]) -> Iterator[Section]:
    ancestors: list[tuple[int, str]] = []
    for section_id, title, level, start, end, _ in rows:
        while ancestors and ancestors[-1][0] >= level:
            ancestors.pop()
        ancestors.append((level, title))
        yield Section(section_id, title, level, start, end, tuple(t for _, t in ancestors))
