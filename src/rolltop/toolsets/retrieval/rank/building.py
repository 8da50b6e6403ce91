"""Files read into what is kept of a root: in this process, or in a child of ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from rolltop.core.children import Child, Ended
from rolltop.core.roots import Entry, Roots
from rolltop.toolsets.retrieval.rank.pieces import words_of
from rolltop.toolsets.retrieval.rank.reading import Unreadable, read, settled
from rolltop.toolsets.retrieval.rank.unitfile import Noted, UnitFile
from rolltop.toolsets.retrieval.rank.units import units_of
from rolltop.toolsets.retrieval.store import Busy, Damaged, Unusable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rolltop.core.roots import Root
    from rolltop.toolsets.retrieval.rank.units import Unit

Task = Literal["words", "units", "tidy"]
Work = tuple[int, Entry]
"""A file with the number it is kept by; 0 where it is to be noted."""

_BATCH_BYTES: Final = 16 << 20
_BATCH_FILES: Final = 2_000
_FEW_BYTES: Final = 1 << 20
"""What is read in this process: starting another one takes longer."""

_FACTORY: Final = f"{__name__}:child"
_LOWEST: Final = 19
_PROBLEMS: Final[dict[str, type[Exception]]] = {
    one.__name__: one for one in (Busy, Damaged, Unusable)
}


class Building:
    """The reading of a root's files, in one go or several: in a process where there is much."""

    def __init__(self, roots: Roots, root: Root, file: UnitFile, folder: Path, name: str) -> None:
        """Take the root, what is kept of it, and the folder and name it is kept by."""
        self._roots: Final = roots
        self._root: Final = root
        self._file: Final = file
        self._where: Final = [str(root.path), str(folder), name]
        self._child: Child | None = None
        self._closed = False

    def run(self, task: Task, work: Sequence[Work]) -> Iterator[None]:
        """Do the work in batches, each of which is kept whole. Raises Busy or Unusable."""
        large = self._child is not None or sum(one.size for _, one in work) > _FEW_BYTES
        for batch in _batches(work):
            if not (large and self._asked(task, batch)):
                do(self._roots, self._root, self._file, task, batch)
            yield

    def tidy(self) -> None:
        """Give back the room on disk that much reading left, by the process if there is one.

        Raises Busy or Unusable.
        """
        if self._child is None:
            self._file.tidy()
        else:
            self._asked("tidy", ())

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._closed = True
        if self._child is not None:
            self._child.kill()
            self._child = None

    def _asked(self, task: Task, batch: Sequence[Work]) -> bool:
        """Have the process do it; return whether it did."""
        try:
            if self._child is None:
                self._child = Child(_FACTORY, *self._where, nice=_LOWEST)
            self._child.send((task, batch))
            problem = self._child.receive()
        except (Ended, OSError):
            if self._closed:
                raise Unusable from None  # the server is stopping
            return False
        if isinstance(problem, str):
            raise _PROBLEMS[problem]
        return True


def child(top: str, folder: str, name: str) -> Callable[[tuple[Task, Sequence[Work]]], str | None]:
    """Return what does, in a child, what a `Building` asks; it answers the problem there was."""
    roots = Roots.open({"root": top}, base=Path(top))
    opened: list[UnitFile] = []

    def answer(request: tuple[Task, Sequence[Work]]) -> str | None:
        try:
            if not opened:
                opened.append(UnitFile(Path(folder), name))
            do(roots, roots.named[0], opened[0], *request)
        except (Busy, Damaged, Unusable) as problem:
            return type(problem).__name__
        return None

    return answer


def do(roots: Roots, root: Root, file: UnitFile, task: Task, batch: Sequence[Work]) -> None:
    """Keep the words or the units of some files, all or none. Raises Busy or Unusable."""
    if task == "tidy":
        file.tidy()
    elif task == "words":
        _note(roots, root, file, batch)
    else:
        cut = [(number, _cut(roots, root, entry)) for number, entry in batch]
        file.keep_units((number, units) for number, units in cut if units is not None)


def _note(roots: Roots, root: Root, file: UnitFile, batch: Sequence[Work]) -> None:
    """Keep the words of files, but for those that another process has noted meanwhile."""
    kept = file.rows_of(entry.relative for _, entry in batch)
    lacking = [
        entry
        for _, entry in batch
        if entry.relative not in kept or kept[entry.relative].stamp != entry[1:5]
    ]
    file.put([one for entry in lacking if (one := _noted(roots, root, entry)) is not None])


def _noted(roots: Roots, root: Root, entry: Entry) -> Noted | None:
    """Return the file with its words, none of one without text; None where it keeps changing."""
    try:
        stamp, text = read(roots, root, entry, keeping=True)
    except Unreadable:
        stamp, text = entry[1:5], ""
    return Noted(entry.relative, stamp, words_of(entry.relative, text)) if settled(stamp) else None


def _cut(roots: Roots, root: Root, entry: Entry) -> list[Unit] | None:
    """Return the units of a file, None where it is not as it was."""
    try:
        stamp, text = read(roots, root, entry, keeping=True)
    except Unreadable:
        return None
    return units_of(entry.relative, text) if stamp == entry[1:5] else None


def _batches(work: Sequence[Work]) -> Iterator[list[Work]]:
    """Yield the files in batches that are kept together."""
    batch: list[Work] = []
    size = 0
    for one in work:
        batch.append(one)
        size += one[1].size
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
