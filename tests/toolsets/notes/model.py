"""What notes should do, in plain Python: a dictionary of lists of versions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rolltop.core.text import patch
from tests.toolsets.histories import Refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.text.patch import LineChange
    from tests.databases import Clock

GUARDED = 500
MONTH = 30 * 24 * 3600.0


@dataclass(frozen=True)
class Version:
    """One version of a note."""

    number: int
    text: str
    tags: tuple[str, ...]
    trash: bool
    modified: float


@dataclass
class Entry:
    """A note with all its versions, oldest first; `gone_at` is set once it is deleted for good."""

    versions: list[Version]
    gone_at: float | None = None

    @property
    def now(self) -> Version:
        """The present version."""
        return self.versions[-1]


@dataclass
class Model:
    """One user's notes; `keep` is how many versions of a note are kept."""

    clock: Clock
    keep: int
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])

    def create(self, note: str, text: str, tags: Sequence[str]) -> Entry:
        """Add a note that got this id."""
        moment = self.clock.now.timestamp()
        entry = Entry([Version(1, text, tuple(dict.fromkeys(tags)), trash=False, modified=moment)])
        self.entries[note] = entry
        return entry

    def save(self, note: str, version: int, text: str, tags: Sequence[str] | None) -> Entry:
        """Replace a note's text."""
        entry = self.found(note)
        if version != entry.now.number:
            raise Refused("VERSION_CONFLICT")
        self._guard(entry, text)
        return self._say(entry, text, tags)

    def patch(self, note: str, version: int, changes: Sequence[LineChange]) -> Entry:
        """Change lines of a note, moved where the version is an earlier one."""
        entry = self.found(note)
        given = next((v for v in self.kept(entry) if v.number == version), None)
        if given is None:
            raise Refused("VERSION_CONFLICT")
        try:
            patch.check_patch(given.text, changes)
            if given is not entry.now:
                moved = patch.rebase_patch(given.text, entry.now.text, changes)
                if moved is None:
                    raise Refused("VERSION_CONFLICT")
                changes = moved.changes
            text = patch.apply_patch(entry.now.text, changes)
        except patch.PatchError:
            raise Refused("INVALID_PATCH") from None
        self._guard(entry, text)
        return self._say(entry, text, None)

    def set_trash(self, note: str, version: int, *, trash: bool) -> Entry:
        """Put a note into the trash or take it out."""
        entry = self.at(note, version)
        if entry.now.trash != trash:
            self._add(entry, replace(entry.now, trash=trash))
        return entry

    def erase(self, note: str, version: int) -> Entry:
        """Delete a note for good."""
        entry = self.at(note, version)
        if not entry.now.trash:
            raise Refused("INVALID_ARGUMENT")
        entry.gone_at = self.clock.now.timestamp()
        return entry

    def restore(self, note: str, version: int, local_version: int) -> Entry:
        """Let a note say again what it said."""
        entry = self.entries.get(note)
        if entry is None:
            raise Refused("NOTE_NOT_FOUND")
        if local_version != entry.now.number:
            raise Refused("VERSION_CONFLICT")
        old = next((v for v in self.kept(entry) if v.number == version), None)
        if old is None:
            raise Refused("VERSION_NOT_FOUND")
        if entry.gone_at is None:
            return self._say(entry, old.text, old.tags)
        entry.gone_at = None
        moment = self.clock.now.timestamp()
        self._add(entry, replace(old, number=entry.now.number, trash=False, modified=moment))
        return entry

    def purge(self) -> None:
        """Forget what was deleted for good 30 days ago."""
        before = self.clock.now.timestamp() - MONTH
        for note, entry in list(self.entries.items()):
            if entry.gone_at is not None and entry.gone_at < before:
                del self.entries[note]

    def at(self, note: str, version: int) -> Entry:
        """Return a note that is at a version."""
        entry = self.found(note)
        if version != entry.now.number:
            raise Refused("VERSION_CONFLICT")
        return entry

    def found(self, note: str) -> Entry:
        """Return a note that is there."""
        entry = self.entries.get(note)
        if entry is None or entry.gone_at is not None:
            raise Refused("NOTE_NOT_FOUND")
        return entry

    def kept(self, entry: Entry) -> list[Version]:
        """Return the versions that are kept, oldest first."""
        return entry.versions[-self.keep :]

    def listed(self, *, word: str = "", tag: str = "", trash: bool = False) -> list[str]:
        """Return the ids of a list, last modified first."""
        found = [
            (-entry.now.modified, note)
            for note, entry in self.entries.items()
            if entry.gone_at is None and entry.now.trash == trash
            if not word or word in entry.now.text.split()
            if not tag or tag.casefold() in {own.casefold() for own in entry.now.tags}
        ]
        return [note for _modified, note in sorted(found)]

    def _say(self, entry: Entry, text: str, tags: Sequence[str] | None) -> Entry:
        said = tuple(dict.fromkeys(tags)) if tags is not None else entry.now.tags
        if (text, said) != (entry.now.text, entry.now.tags):
            moment = self.clock.now.timestamp()
            self._add(entry, replace(entry.now, text=text, tags=said, modified=moment))
        return entry

    def _add(self, entry: Entry, version: Version) -> None:
        entry.versions.append(replace(version, number=entry.now.number + 1))

    def _guard(self, entry: Entry, text: str) -> None:
        if len(entry.now.text) > GUARDED and len(text) * 5 < len(entry.now.text):
            raise Refused("SHRINK_NOT_CONFIRMED")
