"""The units of all roots: kept in one folder, in a file for each root.

Nothing here ever keeps a search from its answer: without what is kept, files are cut when asked.
"""

from __future__ import annotations

from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Final

from rolltop.core import logs
from rolltop.toolsets.retrieval.rank.building import Building
from rolltop.toolsets.retrieval.rank.index import RootUnits
from rolltop.toolsets.retrieval.rank.unitfile import UnitFile
from rolltop.toolsets.retrieval.store import Busy, Damaged, Unusable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rolltop.core.roots import Entry, Root, Roots


class UnitIndexes:
    """What this process knows of its roots' units. Any number of threads may ask."""

    def __init__(self, roots: Roots, folder: Path) -> None:
        """Take the roots, and the folder the units are kept in; open nothing yet."""
        self._roots: Final = roots
        self._folder: Final = folder
        self._lock: Final = Lock()
        self._files: Final[dict[str, UnitFile]] = {}
        self._building: Final[dict[str, Building]] = {}
        self._given_up: Final[set[str]] = set()
        self._built: Final[set[str]] = set()
        self._units: Final = {root.name: RootUnits(root) for root in roots.named}

    def units(self, root: Root) -> RootUnits:
        """Return what is known of a root's units."""
        return self._units[root.name]

    def file(self, root: Root, *, begin: bool = False) -> UnitFile | None:
        """Return what is kept of a root, None where there is none to be had; `begin` makes it."""
        name = kept_name("units", root)
        with self._lock:
            if root.name not in self._files and root.name not in self._given_up:
                if not begin and next(self._folder.glob(f"{name}-*.db"), None) is None:
                    return None
                try:
                    self._files[root.name] = _opened(self._folder, name)
                except Busy:
                    return None  # for now
                except (OSError, Unusable) as problem:
                    self._given_up.add(root.name)
                    logs.event("ranked index unusable", level="warn", reason=type(problem).__name__)
            return self._files.get(root.name)

    def update(
        self, root: Root, files: Callable[[], Sequence[Entry]], stopped: Callable[[], bool]
    ) -> None:
        """Keep the units of what has changed in a root, until stopped.

        The first time all its files are looked at, later only what a search found changed.
        """
        units = self._units[root.name]
        if stopped() or (root.name in self._built and not units.pending):
            return
        file = self.file(root, begin=True)
        if file is None:
            return
        building = self._building.get(root.name)
        if building is not None and building.file is not file:  # that one was given up meanwhile
            building.close()
            building = None
        if building is None:
            building = Building(self._roots, root, file, self._folder, kept_name("units", root))
            self._building[root.name] = building
        try:
            units.update(files(), file, building, stopped)
            if stopped():
                return  # its processes go on at the next call
        except Busy:
            pass  # the other process reads the same files
        except Unusable as problem:
            self.failed(root, file, problem)
        else:
            self._built.add(root.name)
        self._building.pop(root.name, None)
        building.close()

    def failed(self, root: Root, file: UnitFile, problem: Unusable) -> None:
        """Let go of a file that cannot be used: one that is damaged is begun anew."""
        with self._lock:
            if self._files.get(root.name) is not file:
                return
            del self._files[root.name]
            self._built.discard(root.name)
            if not isinstance(problem, Damaged):
                self._given_up.add(root.name)
        file.close()
        logs.event("ranked index failed", level="warn", reason=type(problem).__name__)

    def close(self) -> None:
        """Close all files, and end what reads."""
        for building in list(self._building.values()):
            building.close()
        with self._lock:
            for file in self._files.values():
                file.close()
            self._files.clear()
            self._given_up.update(self._units)


def kept_name(kind: str, root: Root) -> str:
    """Return what a root's files of a kind are called: nothing that tells where it is."""
    path = str(root.path).encode("utf-8", "surrogateescape")
    return f"{kind}{blake2b(path, digest_size=8).hexdigest()}"


def _opened(folder: Path, name: str) -> UnitFile:
    """Return a root's file; one that turns out to be damaged is begun anew."""
    try:
        return UnitFile(folder, name)
    except Damaged:
        return UnitFile(folder, name)
