"""Which of many files may match: a fast look at all of them, ahead of those that are read."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter, deque
from itertools import accumulate, chain, islice, repeat, takewhile
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core.roots import Skipped
from rolltop.core.roots.settling import is_settled
from rolltop.toolsets.retrieval.exact import ripgrep
from rolltop.toolsets.retrieval.exact.packed import Asked, may_look

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence

    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.exact.expression import Expression
    from rolltop.toolsets.retrieval.exact.packed import PackedLines
    from rolltop.toolsets.retrieval.exact.spots import Spot
    from rolltop.toolsets.retrieval.exact.trees import Tree
    from rolltop.toolsets.retrieval.models import Whole

READ_AT_ONCE: Final = 64
"""Files that are read without a first look. Each is held open, and where little is allowed, a
process may hold 256."""
_TRIED: Final = 16
"""Files that are read before it is decided whether to look at others."""
_LOOKED_AT_ONCE: Final = (_TRIED, READ_AT_ONCE, 256, 1024, 4096, 1 << 14)
"""Files of the first look, of the second and so on, of all others: what is wanted is often near the
start. So few as the first are read at once."""
_LISTED_AT_ONCE: Final = (512, 4096, 1 << 14)
"""The same where lines are listed. Ripgrep takes as long to compile an expression as to look for it
in hundreds of files."""
_FEW: Final = 256
"""Files that are looked at by themselves sooner than among all texts in memory."""
_NAMED_BY_FOLDERS: Final = 1024
"""Files from which on a look names directories: ripgrep lists them faster than it takes names."""
_LEAST_IN_FOLDER: Final = 4
"""Files of a directory from which on it is named in place of them."""
_BESIDE_TEXTS: Final = 1024
"""Files that are looked at along with texts in memory."""
_MOST_LINES: Final = 20
"""Lines of a file that a first look lists; a file that has as many is looked through again."""
_LARGE: Final = 4096
"""Files of a look from which on others are begun ahead; where lines are listed, of any."""
_AHEAD: Final = 2
"""First looks under way at a time where they take long, so that listing and looking overlap."""
PATIENCE: Final = 20.0
"""Seconds for one first look. A file may be replaced by a FIFO before it is opened."""
ARGUMENT_BYTES: Final = 900_000
POINTER: Final = 12
"""Bytes that an argument takes besides its name."""
_ENCODING: Final = sys.getfilesystemencoding(), sys.getfilesystemencodeerrors()
_READ_IN_ONE_GO: Final = 1 << 16
"""Bytes of a file that ripgrep reads at one time: what moves within a larger one it may not see."""
_NONE: Final[Mapping[str, Whole]] = {}
_PATH: Final = itemgetter(0)
_STATE: Final = attrgetter("st_size", "st_mtime_ns", "st_ctime_ns", "st_ino", "st_dev")


class Lines:
    """Matching lines that a look listed, by files: those that lay where they were named.

    A name led to the file that has it now, unless a directory on the way was renamed or filled.
    """

    def __init__(self, directory: str) -> None:
        """Hold no lines yet; files are named from the directory."""
        self._directory: Final = directory
        self._kept: dict[Entry, tuple[int, list[ripgrep.Row]]] = {}
        self._held: dict[Entry, tuple[int, list[ripgrep.Row]]] = {}
        self._packed: Mapping[Entry, PackedLines] = {}
        self._begun = 0

    def begin(self, begun: int) -> None:
        """Forget the lines of the last look: the next began then, in nanoseconds since 1970."""
        self._kept = {}
        self._begun = begun

    def keep(self, entry: Entry, rows: list[ripgrep.Row]) -> None:
        """Keep the lines of a file."""
        self._kept[entry] = self._begun, rows

    def hold(self, packed: Mapping[Entry, PackedLines]) -> None:
        """Take lines out of memory, and never forget them, nor those of the last look."""
        self._packed, self._held = packed, self._kept

    def of(self, entry: Entry) -> list[Spot] | PackedLines | None:
        """Return the lines of a file that is open by now; None where they are not known."""
        packed = self._packed.get(entry)
        if packed is not None:
            return packed
        begun, rows = self._kept.get(entry) or self._held.get(entry) or (0, None)
        if rows is None or not self._lies_still(entry.relative, begun):
            return None
        return ripgrep.spots_in(rows)

    def _lies_still(self, relative: str, begun: int) -> bool:
        """Return whether no directory on the way was renamed or filled since a look began."""
        above = relative.rpartition("/")[0]
        while True:
            try:
                status = os.lstat(f"{self._directory}/{above}")
            except OSError:
                return False
            if not is_settled(status.st_mtime_ns, status.st_ctime_ns, begun):
                return False
            if not above:
                return True
            above = above.rpartition("/")[0]


class _Look(NamedTuple):
    """A first look at files; `run` is None where they are to be read at once."""

    begun: int
    """When, in nanoseconds since 1970."""
    files: list[Entry]
    run: ripgrep.Run | None
    folders: Mapping[str, Whole]
    """The directories that are named in place of all their files."""


class Looks:
    """First looks at files of one tree, to find those that may match, within a deadline.

    `unlooked` gathers those that were passed by without learning whether they are text. Of what
    only ripgrep can find, a look lists lines: `lines` holds those of files, for as long as these
    are in the states that their entries say.
    """

    def __init__(
        self, tree: Tree, found: Expression, deadline: float, most: int | None = None
    ) -> None:
        """Look at nothing yet; `deadline` is on the monotonic clock.

        Where the first `most` lines of each file are wanted, texts in memory are looked through.
        """
        self._most: Final = most
        self._found: Final = found
        self._unsure: Final = None if tree.index is None else tree.index.unsure()
        """The paths of the files of which it is not known whether they are text; None: of any."""
        self._whole: Mapping[str, Whole] | None = None
        self._looked: Collection[Entry] = ()
        """Files that need no other look."""
        self._tree: Final = tree
        self._directory: Final = str(tree.root.path)
        or_binary = found.or_binary if self._unsure is None else None
        self._expression: Final = or_binary or found
        self._tells_binary: Final = or_binary is not None
        self._lists: Final = found.literal is None
        self._deadline: Final = deadline
        self.unlooked: Final[list[Entry]] = []
        self.lines: Final = Lines(self._directory)
        self._read = self._matched = 0

    def told(self, read: int, matched: int) -> None:
        """Take note that of so many files read so many matched.

        Where most do, as an index may propose them, to look first would cost more than it spares.
        """
        self._read += read
        self._matched += matched

    def batches(self, entries: Iterable[Entry]) -> Generator[list[Entry], None, None]:
        """Yield the files to be read, a batch at a time, in order."""
        left = yield from self._through_texts(entries)
        groups = self._groups(iter(left))
        looks: deque[_Look] = deque()
        try:
            self._begin(groups, looks)
            while looks:
                batches = list(_batches(iter(self._matching(looks.popleft()))))
                last = batches.pop() if batches else []
                yield from batches
                self._begin(groups, looks)  # while the last are read
                if last:
                    yield last
        finally:
            for look in looks:
                if look.run is not None:
                    look.run.stop()

    def _begin(self, groups: Iterator[list[Entry]], looks: deque[_Look]) -> None:
        """Begin the next look: another one where they take long, for it may be in vain."""
        for group in groups:
            looks.append(self._look(group))
            if len(looks) >= _AHEAD or (len(group) < _LARGE and not self._lists):
                break

    def _through_texts(
        self, entries: Iterable[Entry]
    ) -> Generator[list[Entry], None, Iterable[Entry]]:
        """Yield the first of many files as texts in memory tell; return what is left to look at."""
        texts = self._tree.texts
        if self._most is None or texts is None or not may_look(self._found):
            return entries
        rest = iter(entries)
        listed = list(islice(rest, _FEW + 1))
        packs = texts.packs() if len(listed) > _FEW else None
        if packs is None:
            return chain(listed, rest)
        listed += rest
        sure, unsure = self._looked_through(Asked(packs, listed, self._most))
        left = [entry for entry in listed if entry in sure or entry in unsure]
        at = next((at for at, entry in enumerate(left) if entry in unsure), len(left))
        self._looked = sure
        yield from _batches(islice(left, at))
        return islice(left, at, None)

    def _looked_through(self, asked: Asked) -> tuple[Collection[Entry], Collection[Entry]]:
        """Return the files that match or may, by a look at texts in memory, and those left out."""
        beside = named_together(iter(asked.others), _BESIDE_TEXTS)
        unknown: set[Entry] = set()
        look = _Look(time.time_ns(), list(beside.values()), self._run_through(asked, beside), _NONE)
        ended = result_of(look.run, self._deadline)
        if ended is None and beside:  # among them is a FIFO by now, which is no file when opened
            unknown.update(beside.values())
            look = _Look(time.time_ns(), [], self._run_through(asked, ()), _NONE)
            ended = result_of(look.run, self._deadline)
        if ended is None:
            return (), asked.entries
        written, complaints = ended
        rows, unread = ripgrep.listed_lines(written), ripgrep.unread(complaints)
        self.lines.begin(look.begun)
        named = _named(look.files, unread | rows.keys())
        self._listed(look, named, rows, unread, asked.listed)
        found = {entry.relative for entry in named.values()}
        unknown.update(self._that_may_match(look, found, tells_binary=False))
        packed, unsure = asked.found(rows, ripgrep.unread_open(complaints))
        self.lines.hold(packed)
        return packed.keys() | unknown, unsure.union(asked.others[len(beside) :])

    def _run_through(self, asked: Asked, names: Iterable[bytes]) -> ripgrep.Run:
        """Start looking through texts in memory, and files by name."""
        return ripgrep.packed_run(
            self._found, asked.descriptors, names, self._directory, asked.listed
        )

    def _look(self, group: list[Entry]) -> _Look:
        unknown = group
        if self._looked:
            unknown = [entry for entry in group if entry not in self._looked]
        if len(unknown) <= READ_AT_ONCE or (not self._lists and 2 * self._matched > self._read):
            return _Look(time.time_ns(), group, None, _NONE)
        if len(unknown) == len(group) >= _NAMED_BY_FOLDERS:
            return self._look_into(group)
        return self._look_at(group, unknown)

    def _look_into(self, group: list[Entry]) -> _Look:
        """Begin a look at a group, at directories where they hold no other files."""
        if self._whole is None:  # asked for once: others may be listing files meanwhile
            index = self._tree.index
            self._whole = _NONE if index is None else index.whole_folders()
        known = self._whole
        around = [entry[0].rpartition("/")[0] for entry in group]
        whole = {
            folder: known[folder]
            for folder, count in Counter(around).items()
            if count >= _LEAST_IN_FOLDER and folder in known and known[folder].files == count
        }
        others = [entry for entry, folder in zip(group, around, strict=True) if folder not in whole]
        return self._look_at(group, others, whole)

    def _look_at(
        self, group: list[Entry], named: Iterable[Entry], folders: Mapping[str, Whole] = _NONE
    ) -> _Look:
        """Begin a look at those of a group that are named, and at all in directories."""
        begun, lines = time.time_ns(), _MOST_LINES if self._lists else None
        names = map(encoded, chain(folders, map(_PATH, named)))
        run = ripgrep.names_run(
            self._expression, names, self._directory, lines, in_folders=bool(folders)
        )
        return _Look(begun, group, run, folders)

    def _ended(self, look: _Look) -> tuple[_Look, set[bytes] | None]:
        """Return a look and the names of files that match or could not be read.

        None where it got stuck. One at directories that may have seen other files is done again.
        """
        ended = result_of(look.run, self._deadline)
        self.lines.begin(look.begun)  # those of the look before have been read
        if ended is None:
            return look, None
        written, complaints = ended
        listed, count = ripgrep.without_stats(written) if look.folders else (written, 0)
        unread = ripgrep.unread(complaints)
        rows = ripgrep.listed_lines(listed) if self._lists else {}
        names = unread | (rows.keys() if self._lists else ripgrep.matching(listed))
        named = _named(look.files, names)
        is_sure = not look.folders or (
            count + len(unread) == len(look.files)
            and len(named) == len(names)
            and self._stand(look.folders)
        )
        if not is_sure:
            return self._ended(self._look_at(look.files, look.files))
        self._listed(look, named, rows, unread, _MOST_LINES)
        return look, names

    def _stand(self, folders: Mapping[str, Whole]) -> bool:
        """Return whether directories hold the names that they held when they were listed."""
        try:
            return all(
                _STATE(os.lstat(f"{self._directory}/{folder}")) == whole.state
                for folder, whole in folders.items()
            )
        except OSError:
            return False

    def _matching(self, look: _Look) -> list[Entry]:
        """Return the files of a look that may match, those that could not be read among them."""
        look, names = self._ended(look)
        if names is None:
            return look.files
        found = set(map(os.fsdecode, names))
        if self._looked:
            found.update(entry.relative for entry in look.files if entry in self._looked)
        return self._that_may_match(look, found, tells_binary=self._tells_binary)

    def _that_may_match(self, look: _Look, found: set[str], *, tells_binary: bool) -> list[Entry]:
        """Return the files of a look that may match, by the paths of those that did."""
        large = [entry for entry in look.files if entry[1] > _READ_IN_ONE_GO]
        found.update(entry[0] for entry in large if is_torn(self._tree, entry, look.begun))
        if not tells_binary:
            unsure = look.files if self._unsure is None else _at(look.files, self._unsure)
            self.unlooked.extend(entry for entry in unsure if entry[0] not in found)
        return _at(look.files, found)

    def _listed(
        self,
        look: _Look,
        named: Mapping[bytes, Entry],
        listed: Mapping[bytes, list[ripgrep.Row]],
        unread: Collection[bytes],
        most: int,
    ) -> None:
        """Keep the lines that a look listed, where a change of the file would show since then.

        At most so many were listed of a file.
        """
        for name, rows in listed.items():
            entry = named.get(name)
            is_whole = len(rows) < most and name not in unread
            if entry is not None and is_whole and is_settled(entry[2], entry[3], look.begun):
                self.lines.keep(entry, rows)

    def _groups(self, entries: Iterator[Entry]) -> Iterator[list[Entry]]:
        """Yield the files in groups that are looked at together: growing, and short to name."""
        sizes = _LISTED_AT_ONCE if self._lists else _LOOKED_AT_ONCE
        left: list[Entry] = []
        for size in chain(sizes, repeat(sizes[-1])):
            group = [*left, *islice(entries, max(0, size - len(left)))]
            if not group:
                return
            ripgrep.check_time(self._deadline)
            fits = _how_many_fit(group)
            left = group[fits:]
            yield group[:fits]


def result_of(run: ripgrep.Run | None, deadline: float) -> tuple[bytes, bytes] | None:
    """Return what a first look wrote and complained of; None where it got stuck, or there is none.

    Raises TimedOut past the deadline, which is on the monotonic clock.
    """
    if run is None:
        return None
    try:
        return run.result(min(PATIENCE, deadline - time.monotonic()))
    except ripgrep.Stuck:
        ripgrep.check_time(deadline)
        return None


def is_torn(tree: Tree, entry: Entry, begun: int) -> bool:
    """Return whether a file may have changed while it was read, part by part, since a moment."""
    if entry.size <= _READ_IN_ONE_GO:
        return False
    now = tree.roots.state(tree.root, entry.relative, Skipped())
    return now is not None and (
        now != entry or not is_settled(entry.mtime_ns, entry.ctime_ns, begun)
    )


def encoded(relative: str) -> bytes:
    """Return a path's bytes, as os.fsencode would in several times as long."""
    return relative.encode() if relative.isascii() else relative.encode(*_ENCODING)


def named_together(entries: Iterator[Entry], most: int) -> dict[bytes, Entry]:
    """Return the next files by their names, as many as ripgrep can be given: at most so many."""
    length = 0
    named: dict[bytes, Entry] = {}
    for entry in islice(entries, most):
        name = encoded(entry.relative)
        named[name] = entry
        length += len(name) + POINTER
        if length > ARGUMENT_BYTES:
            break
    return named


def _how_many_fit(entries: Sequence[Entry]) -> int:
    """Return how many of some files ripgrep can be given by their names: at least the first."""
    room = ARGUMENT_BYTES - POINTER * len(entries)
    paths = [entry[0] for entry in entries]
    if sum(map(len, paths)) <= room and len(encoded("".join(paths))) <= room:
        return len(entries)
    lengths = accumulate(len(encoded(path)) + POINTER for path in paths)
    return max(1, sum(1 for _ in takewhile(ARGUMENT_BYTES.__ge__, lengths)))


def _named(entries: Iterable[Entry], names: Collection[bytes]) -> dict[bytes, Entry]:
    """Return those of the files that have one of the names, by these."""
    wanted = {os.fsdecode(name): name for name in names}
    return {wanted[entry[0]]: entry for entry in entries if entry[0] in wanted}


def _at(entries: Iterable[Entry], paths: Collection[str]) -> list[Entry]:
    """Return those of the files that are at one of the paths."""
    return [entry for entry in entries if entry[0] in paths] if paths else []


def _batches(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    """Yield the files in batches that are held open together."""
    while batch := list(islice(entries, READ_AT_ONCE)):
        yield batch
