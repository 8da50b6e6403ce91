"""What a ranked search leaves out of the files it may see, and the calls that look there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from rolltop.core.context import AppContext
from rolltop.documents.extractors.formats import has_document_name
from rolltop.toolsets.retrieval.grep.verifier import head_is_text
from rolltop.toolsets.retrieval.index.file_text import BEGINNING, MAX_BYTES
from rolltop.toolsets.retrieval.models import SearchRoot
from rolltop.workspace import FileStat

# Large files that are looked at: whether they are text.
_MAX_EXAMINED: Final = 1_000


class LeftOut(NamedTuple):
    """How many files were ranked by their beginning only, and how many documents not at all.

    `unread` are files that the index waits for; an answer with a field for them has them there.
    `limited`: others may answer too, behind the best.
    """

    partly: int = 0
    documents: int = 0
    unread: int = 0
    limited: bool = False

    def add(self, tree: SearchRoot, entries: Iterable[FileStat], documents: int) -> LeftOut:
        """Count the large files of a root too, and so many documents."""
        large = islice(select_large(entries), _MAX_EXAMINED)
        partly = self.partly + sum(_is_text(tree, entry) for entry in large)
        return self._replace(partly=partly, documents=self.documents + documents)

    def hint(self, app: AppContext, *, is_empty: bool) -> str:
        """Name what was left out; documents only where nothing else was found."""
        said: list[str] = []
        if self.unread:
            what = "1 file that is" if self.unread == 1 else f"{self.unread} files that are"
            said.append(f"Not read: {what} not indexed yet. Search again in a minute.")
        if self.partly:
            what = "1 file" if self.partly == 1 else f"{self.partly} files"
            said.append(
                f"Only the first {BEGINNING >> 20} MiB was ranked of {what} over"
                f" {MAX_BYTES >> 20} MiB{_call(app, 'repo_search', 'finds every line')}."
            )
        if self.documents and is_empty:
            what = "1 document" if self.documents == 1 else f"{self.documents} documents"
            said.append(
                f"Not searched: {what} (PDF, DOCX, PPTX, EPUB)"
                f"{_call(app, 'read_plan', 'finds the sections of those that have a text')}."
            )
        return " ".join(said)


def select_large(entries: Iterable[FileStat]) -> Iterator[FileStat]:
    """Yield the files that are ranked by their beginning only, if they are text."""
    return (one for one in entries if one.size > MAX_BYTES and not has_document_name(one.relative))


def _is_text(tree: SearchRoot, entry: FileStat) -> bool:
    known = None if tree.index is None else tree.index.is_text(entry)
    return bool(head_is_text(tree, entry) if known is None else known)


def _call(app: AppContext, tool: str, does: str) -> str:
    return f"; {tool} {does}" if app.registry.has_tools([tool]) else ""
