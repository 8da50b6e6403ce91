"""What a backend does for the sync: the interface, and what it takes and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Data = Mapping[str, Any]
"""A note as the backend has it, in its own form."""


@dataclass(frozen=True)
class RemoteNote:
    """A note at a version of the backend; `data` is None where only the version was asked for."""

    id: str
    version: int
    data: Data | None = None


@dataclass(frozen=True)
class IndexPage:
    """A part of the list of notes, newest changes first.

    `current` is the cursor of the whole list when the page was made; `mark` continues the list.
    `unreadable` counts notes whose form is not one this program knows: they are left alone.
    """

    notes: tuple[RemoteNote, ...]
    current: str
    mark: str | None = None
    unreadable: int = 0


Outcome = Literal["stored", "unchanged", "duplicate", "gone", "stale"]
"""What became of a write: stored (with the object as it is now); nothing to change; this very
change was there already; the note, or its base, is not there any more; it has to be made anew
from the present version."""


@dataclass(frozen=True)
class Written:
    """What the backend answered to a write; `note` comes with the outcome "stored"."""

    outcome: Outcome
    note: RemoteNote | None = None


class Backend(Protocol):
    """A place where notes are kept. All methods raise the errors of `failures`."""

    async def authenticate(self) -> None:
        """Make sure that the account's credentials are accepted."""
        ...

    async def index(
        self, *, limit: int, mark: str | None, since: str | None, data: bool
    ) -> IndexPage | None:
        """Return a page of the list; None for a cursor that the backend does not know."""
        ...

    async def get(self, note_id: str, version: int | None = None) -> RemoteNote | None:
        """Return a note, now or at a version; None if it is not there."""
        ...

    async def put(self, note_id: str, data: Data, base: int | None, change_id: str) -> Written:
        """Write the whole note, made from version `base` (None: new)."""
        ...

    async def delete(self, note_id: str, base: int | None, change_id: str) -> Written:
        """Delete the note for good."""
        ...
