"""A tree whose files never rest, and every state each of them was in, with the time of it."""

from __future__ import annotations

import mmap
import os
import random
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

HEAD: Final = "a stable line 1\n"
MARK: Final = "edit is "
"""Stands before the number of the edit: eight digits at an offset that eight divides."""
_SIZE: Final = 64
_FOLDERS: Final = 8
_EACH: Final = 15
_HOT: Final = 12
_MAX_PAUSE: Final = 0.004


def text_of(number: int) -> str:
    """Return what a file holds after that edit, padded so that one write replaces another."""
    return f"{HEAD}{MARK}{number:08d}\n".ljust(_SIZE, "\n")


@dataclass
class State:
    """What a path named from a time on: a text, or nothing."""

    text: str | None
    begun: float
    """When the change to this state began."""
    done: float
    """When it was over: infinite while it lasts."""


class Moving:
    """Edits files of a folder in a thread of its own, mostly the same few, and remembers it all."""

    def __init__(self, folder: Path) -> None:
        self.folder: Final = folder
        self.edits = 0
        self._lock: Final = threading.Lock()
        self._states: Final[dict[str, list[State]]] = {}
        self._random: Final = random.Random(20261122)  # noqa: S311  # the same edits in each run
        self._hot: list[str] = []
        self._stop: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._edit)
        self.names: Final = [f"d{n % _FOLDERS}/f{n}.txt" for n in range(_FOLDERS * _EACH)]
        for name in self.names:
            (folder / name).parent.mkdir(exist_ok=True)
            self._write(name)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.rest()

    def rest(self) -> None:
        """Change nothing any more."""
        self._stop.set()
        self._thread.join()

    def possible(self, since: float, until: float) -> dict[str, set[str | None]]:
        """Return for each path that ever was one what it may have named at some time between."""
        with self._lock:
            return {
                name: {
                    state.text
                    for state, following in zip(states, [*states[1:], None], strict=True)
                    if state.begun <= until and (following is None or following.done >= since)
                }
                for name, states in self._states.items()
            }

    def _edit(self) -> None:
        kinds = (self._write, self._replace, self._cut, self._delete, self._rename, self._map)
        while not self._stop.is_set():
            if self.edits % 40 == 0:
                self._hot = self._random.sample(self.names, _HOT)
            if self.edits % 97 == 0:
                self._rename_folder()
            else:
                kind = self._random.choices(kinds, (4, 2, 1, 1, 2, 2))[0]
                kind(self._random.choice(self._hot))
            self.edits += 1
            self._stop.wait(self._random.uniform(0, _MAX_PAUSE))

    def _change(self, changes: Iterable[tuple[str, str | None]], act: Callable[[], object]) -> None:
        """Do something that gives paths new states, and note when it began and was over."""
        new = [(name, State(text, time.monotonic(), float("inf"))) for name, text in changes]
        with self._lock:
            for name, state in new:
                self._states.setdefault(name, [State(None, 0.0, 0.0)]).append(state)
        act()
        done = time.monotonic()
        with self._lock:
            for _, state in new:
                state.done = done

    def _now(self, name: str) -> str | None:
        return self._states[name][-1].text if name in self._states else None

    def _write(self, name: str) -> None:
        """Write in place, or make a new file; its size and name may stay."""
        text = text_of(self.edits)

        def write() -> None:
            handle = os.open(self.folder / name, os.O_WRONLY | os.O_CREAT)
            os.pwrite(handle, text.encode(), 0)
            os.close(handle)

        self._change([(name, text)], write)

    def _map(self, name: str) -> None:
        """Write through a map of the file into memory."""
        if self._now(name) not in {None, HEAD}:
            text = text_of(self.edits)

            def write() -> None:
                file = (self.folder / name).open("r+b")
                with file, mmap.mmap(file.fileno(), _SIZE) as mapped:
                    mapped[:] = text.encode()

            self._change([(name, text)], write)

    def _replace(self, name: str) -> None:
        """Put another file in its place, as editors do."""
        text = text_of(self.edits)
        other = self.folder / ".new"
        other.write_text(text)
        self._change([(name, text)], lambda: other.replace(self.folder / name))

    def _cut(self, name: str) -> None:
        """Leave its first line alone."""
        if self._now(name) is not None:
            self._change([(name, HEAD)], lambda: os.truncate(self.folder / name, len(HEAD)))

    def _delete(self, name: str) -> None:
        if self._now(name) is not None:
            self._change([(name, None)], (self.folder / name).unlink)

    def _rename(self, name: str) -> None:
        """Give it another's name, whether that is there or not."""
        other = self._random.choice(self._hot)
        text = self._now(name)
        if text is not None and other != name:
            changes = [(name, None), (other, text)]
            self._change(changes, lambda: (self.folder / name).replace(self.folder / other))

    def _rename_folder(self) -> None:
        """Give a folder a new name, and take the old one back."""
        for old, new in (("d1", "moved"), ("moved", "d1")):
            there = {n: t for n in self._states if n.startswith(f"{old}/") and (t := self._now(n))}
            changes: list[tuple[str, str | None]] = [(name, None) for name in there]
            changes += [(name.replace(old, new, 1), text) for name, text in there.items()]
            source, target = self.folder / old, self.folder / new
            self._change(changes, lambda a=source, b=target: a.rename(b))
