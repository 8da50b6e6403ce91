"""Matching lines of files that may have some, found in the very files that are held open."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from rolltop.toolsets.retrieval.exact import ripgrep
from rolltop.toolsets.retrieval.exact.content import Content, Unreadable
from rolltop.toolsets.retrieval.exact.reading import Opened, opened
from rolltop.toolsets.retrieval.models import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.roots import Entry
    from rolltop.toolsets.retrieval.exact.expression import Expression
    from rolltop.toolsets.retrieval.exact.looking import Lines
    from rolltop.toolsets.retrieval.exact.packed import PackedLines
    from rolltop.toolsets.retrieval.exact.spots import Spot
    from rolltop.toolsets.retrieval.exact.tally import Tally
    from rolltop.toolsets.retrieval.exact.trees import Tree

_ATTEMPTS: Final = 3
_Places = dict[int, "list[Spot] | PackedLines | None"]


class Verifier:
    """Reads files for the lines an expression matches.

    At most `most` lines of a file are looked for; each is shown with `context` lines on both
    sides. Files larger than `most_bytes` are passed by.
    """

    def __init__(
        self, found: Expression, *, most: int, context: int, deadline: float, most_bytes: int
    ) -> None:
        """Read nothing yet; `deadline` is on the monotonic clock."""
        self._expression: Final = found
        self._of_ascii: Final = found.of_ascii or found
        self.most: Final = most
        self._left = most
        self._context: Final = context
        self._deadline: Final = deadline
        self._most_bytes: Final = most_bytes

    def matched(
        self,
        tree: Tree,
        entries: list[Entry],
        tally: Tally,
        listed: Lines | None,
    ) -> Iterator[list[Hit]]:
        """Yield the hits of each file that has some, in the files' order, each file read once.

        What a file's hits say was in the file at one time: one that changed while it was read
        is read again. `listed` are matching lines of files in the states that entries say. Files
        that turn out not to be text, or not readable, are counted.
        """
        with opened(tree.roots, tree.root, entries, self._most_bytes, tally) as files:
            held = [(file, content) for file in files if (content := self._text(file, tally))]
            if not held:
                return
            places = self._spots(held, listed)
            for file, content in held:
                ripgrep.check_time(self._deadline)
                try:
                    hits = self._hits(tree, file, content, places)
                    if not file.still():
                        hits = self._again(tree, file, tally)
                except Unreadable:
                    _count_unreadable(file, tally)
                    continue
                if hits:
                    yield hits
                    self._left -= len(hits)

    def count_binary(self, tree: Tree, entries: list[Entry], tally: Tally) -> None:
        """Count those of the files that are binary."""
        with opened(tree.roots, tree.root, entries, self._most_bytes, tally) as files:
            for file in files:
                self._text(file, tally)

    def _again(self, tree: Tree, file: Opened, tally: Tally) -> list[Hit]:
        """Return the hits of a file that changed under our eyes. Raises Unreadable."""
        for _ in range(_ATTEMPTS):
            if not file.restart():
                break
            content = Content(file.descriptor, file.size)
            if content.binary and file.still():
                tally.find_out(file.entry)
                return []
            hits = self._hits(tree, file, content, self._spots([(file, content)], None))
            if file.still():
                return hits
        tally.drop(file.entry)
        tally.changed += 1
        return []

    def _spots(self, files: list[tuple[Opened, Content]], listed: Lines | None) -> _Places:
        """Return the matching lines of each file, by descriptor; None where it cannot be read."""
        places: _Places = {}
        text = self._expression.literal
        for file, content in files:
            found = None if listed is None or not file.is_as_listed() else listed.of(file.entry)
            if found is None and text is not None:
                try:
                    found = content.spots(text, self.most)
                except Unreadable:
                    places[file.descriptor] = None
            if found is not None:
                places[file.descriptor] = found
        left = [(file, content) for file, content in files if file.descriptor not in places]
        if left:
            is_ascii = all(content.is_ascii for _, content in left)
            places |= self._found([file.descriptor for file, _ in left], is_ascii=is_ascii)
        return places

    def _found(self, descriptors: list[int], *, is_ascii: bool) -> dict[int, list[Spot] | None]:
        """Return the matching lines of open files as ripgrep tells them."""
        most, deadline = self.most, self._deadline
        if is_ascii:
            with suppress(ripgrep.Refused):
                return ripgrep.spots(self._of_ascii, descriptors, most, deadline)
        return ripgrep.spots(self._expression, descriptors, most, deadline)

    def _hits(
        self,
        tree: Tree,
        file: Opened,
        content: Content,
        places: _Places,
    ) -> list[Hit]:
        """Return those of a file's hits that are still wanted. Raises Unreadable."""
        found = places.get(file.descriptor, [])
        if found is None:
            raise Unreadable
        spots = found[: self._left] if isinstance(found, list) else found.spots(self._left)
        return [self._hit(tree, file.entry, content, spot) for spot in spots]

    def _hit(self, tree: Tree, entry: Entry, content: Content, spot: Spot) -> Hit:
        preview, at = content.shown(spot)
        return Hit(
            tree.root.name,
            entry.relative,
            spot.line,
            preview,
            content.before(spot, self._context),
            content.after(spot, self._context),
            at,
        )

    def _text(self, file: Opened, tally: Tally) -> Content | None:
        """Return the file's content; None, and counted, where it is no text or cannot be had."""
        ripgrep.check_time(self._deadline)
        try:
            if file.restless() and not file.restart():
                tally.drop(file.entry)
                tally.changed += 1
                return None
            content = Content(file.descriptor, file.size)
        except Unreadable:
            _count_unreadable(file, tally)
            return None
        if content.binary:
            tally.find_out(file.entry)
            return None
        return content


def _count_unreadable(file: Opened, tally: Tally) -> None:
    tally.drop(file.entry)
    tally.unreadable += 1
