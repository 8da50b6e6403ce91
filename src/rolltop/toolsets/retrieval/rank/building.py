"""Files read into what is kept of a root: in this process, or in children of ours."""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from rolltop.core.children import Child, Ended
from rolltop.core.roots import Entry, Roots
from rolltop.toolsets.retrieval.rank.pieces import words_of
from rolltop.toolsets.retrieval.rank.reading import Unreadable, read, settled
from rolltop.toolsets.retrieval.rank.unitfile import Noted, UnitFile
from rolltop.toolsets.retrieval.rank.units import units_of
from rolltop.toolsets.retrieval.store import PACKAGE, Busy, Damaged, Unusable, batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rolltop.core.roots import Root
    from rolltop.toolsets.retrieval.rank.units import Unit

Task = Literal["words", "units", "tidy"]
Work = tuple[int, Entry]
"""A file with the number it is kept by; 0 where it is to be noted."""

_BATCH_BYTES: Final = 2 << 20
_BATCH_FILES: Final = 2_000
_FEW_BYTES: Final = 1 << 20
"""What is read in this process: starting another one takes longer."""
_MOST_CHILDREN: Final = min(2, os.cpu_count() or 1)
_MOST_STARTS: Final = 3
"""How many of them may end by themselves: after that this process reads."""
_ATTEMPTS: Final = 5
"""How often what was read is tried to be kept, while other processes write: seconds each time."""

_FACTORY: Final = f"{__name__}:child"
_LOWEST: Final = 19
_PROBLEMS: Final[dict[str, type[Exception]]] = {
    one.__name__: one for one in (Busy, Damaged, Unusable)
}


class Building:
    """The reading of a root's files, in one go or several: in processes where there is much."""

    def __init__(self, roots: Roots, root: Root, file: UnitFile, folder: Path, name: str) -> None:
        """Take the root, what is kept of it, and the folder and name it is kept by."""
        self._roots: Final = roots
        self._root: Final = root
        self.file: Final = file
        self._where: Final = [str(root.path), str(folder), name]
        self._children: dict[int, Child] = {}
        self._starts = _MOST_STARTS
        self._closed = False

    def run(self, task: Task, work: Sequence[Work]) -> Iterator[None]:
        """Do the work in batches, each of which is kept whole. Raises Busy or Unusable.

        What was begun is finished where the rest is not asked for.
        """
        large = self._children or sum(one.size for _, one in work) > _FEW_BYTES
        most = _MOST_CHILDREN if large else 0
        asked: deque[tuple[Child | None, list[Work]]] = deque()
        try:
            for number, batch in enumerate(batches(work, _size_of, _BATCH_BYTES, _BATCH_FILES)):
                if asked and len(asked) >= most:
                    self._finish(task, *asked.popleft())
                    yield
                asked.append((self._asked(number % most, task, batch) if most else None, batch))
            while asked:
                self._finish(task, *asked.popleft())
                yield
        finally:
            for child, _ in asked:
                if child is not None:
                    with suppress(Ended):
                        child.receive()

    def tidy(self) -> None:
        """Give back the room on disk that much reading left, by a process if there is one.

        Raises Busy or Unusable.
        """
        self._finish("tidy", self._asked(0, "tidy", ()) if self._children else None, ())

    def close(self) -> None:
        """End the processes, whatever they are doing."""
        self._closed = True
        while self._children:
            self._children.popitem()[1].kill()

    def _asked(self, number: int, task: Task, batch: Sequence[Work]) -> Child | None:
        """Have one of the processes do it; return which, None where that cannot be."""
        if self._closed or not self._starts:
            return None
        child = self._children.get(number)
        try:
            if child is None:
                child = self._children[number] = Child(
                    _FACTORY, *self._where, nice=_LOWEST, passing=PACKAGE
                )
            child.send((task, batch))
        except (Ended, OSError):
            return self._buried(child)
        return child

    def _buried(self, child: Child | None) -> None:
        """Let go of a process that has ended: the next batch has another one, a few times."""
        if child is not None and child in self._children.values():
            child.kill()
            self._starts -= 1
            self._children = {n: one for n, one in self._children.items() if one is not child}

    def _finish(self, task: Task, child: Child | None, batch: Sequence[Work]) -> None:
        """Wait until a process has done it, and do here what none does. Raises as `run`."""
        problem: object = None
        try:
            if child is not None:
                problem = child.receive()
        except Ended:
            child = self._buried(child)
        if child is None:
            if self._closed:
                raise Unusable  # the server is stopping
            do(self._roots, self._root, self.file, task, batch)
        elif isinstance(problem, str):
            raise _PROBLEMS[problem]


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
    """Keep the words or the units of some files, all or none. Raises Busy or Unusable.

    What another process has kept meanwhile is passed by.
    """
    if task == "tidy":
        file.tidy()
    elif task == "words":
        kept = file.rows_of(entry.relative for _, entry in batch)
        lacking = [
            entry
            for _, entry in batch
            if entry.relative not in kept or kept[entry.relative].stamp != entry[1:5]
        ]
        noted = [one for entry in lacking if (one := _noted(roots, root, entry)) is not None]
        _keep(lambda: file.put(noted))
    else:
        known = file.cut_of(number for number, _ in batch)
        cut = [(number, _cut(roots, root, entry)) for number, entry in batch if number not in known]
        kept_units = [(number, units) for number, units in cut if units is not None]
        _keep(lambda: file.keep_units(kept_units))


def _keep(write: Callable[[], None]) -> None:
    """Write what took longer to read than others take to write. Raises Busy or Unusable."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return write()
        except Busy:
            pass
    return write()


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


def _size_of(work: Work) -> int:
    return work[1].size
