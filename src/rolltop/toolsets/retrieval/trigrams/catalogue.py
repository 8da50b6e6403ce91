"""A root's chosen files, kept between searches and compared with the disk at each.

A walk judges every name by git's rules; a catalogue remembers what was decided. A directory that
changed is listed again, and where rules changed, all they reach is judged anew. What changed is
told by the states of every directory and file, which processes of their own look at where there
are many; or, where that is asked for, by what the kernel noted since the last search.
"""

from __future__ import annotations

import os
from functools import partial
from operator import attrgetter, eq
from threading import Lock
from typing import TYPE_CHECKING, Final, cast

from rolltop.core.errors import Unavailable
from rolltop.core.roots import Skipped
from rolltop.core.roots.choice import (
    GIT_DIRECTORY,
    RULE_NAMES,
    DirectoryRules,
    Standing,
    rules_at_root,
)
from rolltop.core.roots.states import OPEN_TO_LIST, packed
from rolltop.toolsets.retrieval.models import Whole
from rolltop.toolsets.retrieval.trigrams.folders import FileState, Folder
from rolltop.toolsets.retrieval.trigrams.rulefiles import (
    State,
    folder_state,
    root_state,
    settled,
    state_of,
)
from rolltop.toolsets.retrieval.trigrams.sentries import WORTH, Ended, Sentries
from rolltop.toolsets.retrieval.trigrams.watching import Watch, mounts, own_devices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rolltop.core.roots import Entry, Root, Roots

_STATE: Final = cast(
    "Callable[[os.stat_result], FileState]",
    attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev", "st_nlink"),
)
_NEVER: Final = (0, 0)
_MOST_STARTS: Final = 3
"""How often processes for a root may end: after that this one looks itself."""

Ticket = tuple[Sentries, int]
"""A look that was begun, and who looks."""


class Catalogue:
    """The chosen files of one root. Any number of threads may ask."""

    def __init__(self, roots: Roots, root: Root, *, watch: bool) -> None:
        """List nothing yet; `watch` allows to rely on the kernel's notes where they hold."""
        self._root: Final = str(root.path).rstrip("/")
        self._left_out: Final = roots.stores.names_by_directory
        self._hidden: Final = roots.stores.hide(str(root.path))
        self._lock: Final = Lock()
        self._may_watch: Final = watch
        self._watch: Watch | None = None
        self._sentries: Sentries | None = None
        self._starts = _MOST_STARTS
        self._devices = frozenset[int]()
        self._watched: Final[dict[int, Folder]] = {}
        self._always: Final[dict[int, Folder]] = {}
        """Directories to look at in any case, by the object's id."""
        self._top: Folder | None = None
        self._top_state: tuple[object, ...] = ()
        self._broken_off = False
        """Whether the last look did not come to its end."""
        self._wholes: Mapping[str, Whole] | None = None
        """Of the files as they are listed now."""

    def begin(self) -> Ticket | None:
        """Begin to look, where others do that: `files` is then answered the sooner."""
        sentries = self._sentries
        return None if sentries is None else (sentries, sentries.ticket())

    def files(
        self, skipped: Skipped, *, begun: Ticket | None = None, look_at_all: bool = False
    ) -> list[Entry]:
        """Return the files as they are, or as they were when the look was `begun`.

        They are ordered by path components. It is the same list, of the same objects, as long as
        nothing changed; it is not to be changed. What cannot be listed and what is no file is
        counted in `skipped`. `look_at_all` relies on no notes.
        """
        if self._hidden:
            return []
        with self._lock:
            top = self._look(begun, look_at_all=look_at_all)
            found = top.listed()
            if len(found.entries) >= WORTH and self._sentries is None and self._watch is None:
                self._begin_sentries(top)
            skipped.special += found.special
            skipped.unreadable += found.unreadable
            skipped.links += [f"{self._root}/{link}" for link in found.links]
            return found.entries

    def whole_folders(self, entries: list[Entry]) -> Mapping[str, Whole]:
        """Return the directories of which every file is chosen, as they were with these files.

        By their paths from the root; one that was changed too lately to tell is not among them.
        None are where `files` has found others since, or is looking: nobody waits for that.
        """
        if not self._lock.acquire(blocking=False):
            return {}
        try:
            if self._top is None or self._top.listed().entries is not entries:
                return {}
            if self._wholes is None:
                self._wholes = dict(self._found_whole(self._top))
            return self._wholes
        finally:
            self._lock.release()

    def _found_whole(self, top: Folder) -> Iterator[tuple[str, Whole]]:
        for folder in top.all():
            if folder.files and folder.state is not None and not folder.passed_by:
                yield folder.relative, Whole(len(folder.files), folder.state)

    def close(self) -> None:
        """Watch nothing any more; a later question begins again."""
        with self._lock:
            self._end_watch()
            self._top = self._wholes = None

    def _look(self, begun: Ticket | None, *, look_at_all: bool) -> Folder:
        """Bring everything up to date with the disk."""
        mounted = mounts() if self._may_watch else b""
        state = (mounted, *root_state(self._root or "/"))
        top = self._top
        if top is None or state != self._top_state:
            top = self._top = Folder("", "", None, tracked_only=False)
            self._top_state = state
            self._begin_watch(mounted)
        noted = self._noted() if self._sentries is None else self._reported(top, begun)
        everything = look_at_all or noted is None or top.identity == _NEVER or self._broken_off
        self._broken_off = True  # unless it comes to its end, what was noted is to be looked at yet
        pending = [top] if everything else cast("list[Folder]", noted)
        while pending:
            folder = pending.pop()
            if folder.gone:
                continue
            linked = folder.linked
            self._update(folder)
            if self._watch is not None and not everything and folder.linked - linked:
                everything, pending = True, [top]  # where the other name lies, nothing was noted
                continue
            below = folder.folders.values()
            pending.extend(child for child in below if everything or child.identity == _NEVER)
        self._broken_off = False
        return top

    def _noted(self) -> list[Folder] | None:
        """Return the directories to look at, None where it has to be all."""
        if self._watch is None:
            return None
        changed = self._watch.changed()
        for number in self._watch.ended():
            folder = self._watched.pop(number, None)
            if folder is not None:
                folder.watch = None
                self._always[id(folder)] = folder
        if changed is None:
            return None
        return [
            *(self._watched[number] for number in changed if number in self._watched),
            *self._always.values(),
        ]

    def _reported(self, top: Folder, begun: Ticket | None) -> list[Folder] | None:
        """Return the directories that have changed, None where nobody is left to tell."""
        sentries = self._sentries
        if sentries is None:
            return None
        ours = begun is not None and begun[0] is sentries
        try:
            changed = sentries.changed(begun[1] if begun and ours else sentries.ticket())
        except Ended:
            self._starts -= 1
            self._end_watch()
            for folder in top.all():
                folder.watch = None
            return None
        return [
            *(self._watched[number] for number in changed if number in self._watched),
            *self._always.values(),
        ]

    def _begin_sentries(self, top: Folder) -> None:
        """Let others look at the files from now on."""
        if not self._starts:
            return
        try:
            self._sentries = Sentries()
        except OSError:  # no more processes are to be had: then this one looks at everything
            self._starts -= 1
            return
        for folder in top.all():
            self._classify(folder)
        self._sentries.ticket()  # their first look takes the longest, and need not be waited for

    def _update(self, folder: Folder) -> None:
        """Bring one directory up to date, and forget what is no longer in it."""
        path = f"{self._root}/{folder.relative}" if folder.relative else self._root or "/"
        try:
            opened = os.open(path, OPEN_TO_LIST)
        except OSError as error:
            self._empty(folder, error)
            return
        try:
            state = state_of(os.fstat(opened))
            self._follow(folder, opened, state)
            if state != folder.state or folder.rule_state != folder_state(path, folder.present):
                self._list(folder, path, opened, state)
            else:
                self._compare(folder, path, opened, state)
        except (OSError, Unavailable) as error:
            self._empty(folder, error)
        finally:
            os.close(opened)
        self._classify(folder)

    def _follow(self, folder: Folder, opened: int, state: State) -> None:
        """Watch the directory that lies at the folder's place now, before it is looked at."""
        identity = state[3:5]
        if folder.identity != identity:
            self._unwatch(folder)
            folder.identity, folder.state = identity, None
        if folder.watch is None and self._watch is not None and identity[1] in self._devices:
            number = self._watch.add(opened)
            if number is not None and number not in self._watched:
                folder.watch = number
                self._watched[number] = folder

    def _classify(self, folder: Folder) -> None:
        """Remember who looks at a directory, and which ones have to be looked at here each time."""
        if self._sentries is not None:
            self._hand_over(self._sentries, folder)
            return
        noted = folder.watch is not None and folder.parent is not None
        if noted and not folder.linked and GIT_DIRECTORY not in folder.present:
            self._always.pop(id(folder), None)
        elif not folder.gone:
            self._always[id(folder)] = folder

    def _hand_over(self, sentries: Sentries, folder: Folder) -> None:
        """Let others look at a directory where all that matters are the states they look at."""
        self._unwatch(folder)
        states = folder.all_states() if folder.parent is not None else None
        if folder.gone:
            return
        if states is None:
            self._always[id(folder)] = folder
            return
        self._always.pop(id(folder), None)
        path = f"{self._root}/{folder.relative}"
        folder.watch = sentries.add(path, [*folder.files, *folder.rule_names()], packed(states))
        self._watched[folder.watch] = folder

    def _drop(self, folder: Folder) -> None:
        """Forget a directory and all below it."""
        for one in folder.all():
            one.gone = True
            self._unwatch(one)
            self._always.pop(id(one), None)

    def _unwatch(self, folder: Folder) -> None:
        looking = self._watch or self._sentries
        if folder.watch is not None and looking is not None:
            self._watched.pop(folder.watch, None)
            looking.drop(folder.watch)
        folder.watch = None

    def _begin_watch(self, mounted: bytes) -> None:
        """Watch from now on, as far as can be; nothing of what was watched before."""
        if self._sentries is not None:
            for number in self._watched:
                self._sentries.drop(number)
            self._watched.clear()
            self._always.clear()
            return
        self._end_watch()
        self._devices = own_devices(mounted)
        if self._devices:
            try:
                self._watch = Watch()
            except OSError:
                self._watch = None  # then everything is looked at each time

    def _end_watch(self) -> None:
        if self._watch is not None:
            self._watch.close()
        if self._sentries is not None:
            self._sentries.close()
        self._watch = self._sentries = None
        self._watched.clear()
        self._always.clear()

    def _compare(self, folder: Folder, path: str, opened: int, state: State) -> None:
        """Note which of the directory's files have changed; list it anew where one is gone."""
        look = partial(os.stat, dir_fd=opened, follow_symlinks=False)
        try:
            # This runs for every file at every search: nothing is kept that is as it was.
            if all(map(eq, map(_STATE, map(look, folder.files)), folder.states)):
                return
            folder.note(list(map(_STATE, map(look, folder.files))))
        except OSError:
            self._list(folder, path, opened, state)
        self._changed(folder)

    def _list(self, folder: Folder, path: str, opened: int, state: State) -> None:
        """List the directory and judge its names; what it holds is kept where rules allow."""
        found, present = self._visible(path, opened)
        before, folder.folders = folder.folders, {}
        try:
            self._choose(folder, path, found, present, before)
        finally:
            for name, child in before.items():
                if folder.folders.get(name) is not child:
                    self._drop(child)
        folder.state = state if settled(state) else None
        self._changed(folder)

    def _choose(
        self,
        folder: Folder,
        path: str,
        found: Iterable[os.DirEntry[str]],
        present: tuple[str, ...],
        known: dict[str, Folder],
    ) -> None:
        """Judge what a directory holds by its rules; `known` are the directories of before."""
        rule_state = folder_state(path, present)
        if folder.rules is None or rule_state != folder.rule_state:
            folder.rules = self._rules(folder, path, present)
            known = {}
        folder.present, folder.rule_state = present, rule_state
        folder.special = folder.unreadable = 0
        folder.passed_by = len(self._left_out.get(path, ()))
        folder.links = []
        chosen: list[tuple[str, FileState]] = []
        for entry in found:
            try:
                self._judge(folder, folder.rules, entry, known, chosen)
            except OSError as error:
                _count(folder, error)
        folder.files = [name for name, _ in chosen]
        folder.note([one for _, one in chosen])

    def _changed(self, folder: Folder) -> None:
        """Take note that what is known of all files is out of date where the folder lies."""
        self._wholes = None
        if self._top is not None:
            self._top.changed(folder)

    def _visible(self, path: str, opened: int) -> tuple[list[os.DirEntry[str]], tuple[str, ...]]:
        """Return what the directory shows, sorted, and the rule files it holds."""
        with os.scandir(opened) as listing:
            found = list(listing)
        left_out = self._left_out.get(path, frozenset[str]())
        present = sorted(entry.name for entry in found if entry.name in RULE_NAMES)
        visible = [entry for entry in found if entry.name[0] != "." and entry.name not in left_out]
        visible.sort(key=attrgetter("name"))
        return visible, tuple(present)

    def _rules(self, folder: Folder, path: str, present: Iterable[str]) -> DirectoryRules:
        if folder.parent is None:
            return rules_at_root(self._root or "/")
        return folder.parent.inside(
            path, folder.name, tracked_only=folder.tracked_only, present=tuple(present)
        )

    def _judge(
        self,
        folder: Folder,
        rules: DirectoryRules,
        entry: os.DirEntry[str],
        known: dict[str, Folder],
        chosen: list[tuple[str, FileState]],
    ) -> None:
        """Put a name where it belongs: among the chosen files, the directories, or nowhere."""
        name = entry.name
        if entry.is_file(follow_symlinks=False):
            if rules.free or rules.chooses_file(name):
                chosen.append((name, _STATE(entry.stat(follow_symlinks=False))))
            else:
                folder.passed_by += 1
        elif entry.is_dir(follow_symlinks=False):
            standing = rules.standing(name)
            if standing is not Standing.LEFT_OUT:
                folder.folders[name] = _kept(
                    known.get(name), folder, entry, tracked_only=standing is Standing.TRACKED_ONLY
                )
        elif rules.chooses_file(name):
            if entry.is_symlink():
                folder.links.append(name)
            else:
                folder.special += 1

    def _empty(self, folder: Folder, error: OSError | Unavailable) -> None:
        """Forget what a directory held that cannot be listed (any more).

        Raises Unavailable where it is this process that lacks something, not the directory.
        """
        for child in folder.folders.values():
            self._drop(child)
        folder.files, folder.folders = [], {}
        folder.note([])
        folder.state = None
        folder.special = folder.unreadable = 0
        folder.links = []
        if not folder.gone:
            self._always[id(folder)] = folder  # it may come back without a note
        self._changed(folder)
        if isinstance(error, Unavailable):
            raise error
        _count(folder, error)


def _kept(
    known: Folder | None, parent: Folder, entry: os.DirEntry[str], *, tracked_only: bool
) -> Folder:
    """Return what is known of a subdirectory, or a new beginning where it is another one."""
    same = known is not None and known.identity[0] in {0, entry.inode()}
    if known is not None and same and known.tracked_only is tracked_only:
        return known
    relative = f"{parent.relative}/{entry.name}" if parent.relative else entry.name
    return Folder(relative, entry.name, parent.rules, tracked_only)


def _count(folder: Folder, error: OSError) -> None:
    passed = Skipped()
    passed.count(error)
    folder.unreadable += passed.unreadable
