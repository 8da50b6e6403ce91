"""What get_stats answers, and the reset of an account's copies."""

from __future__ import annotations

import platform
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rolltop import __version__
from rolltop.core.errors import Conflict
from rolltop.toolsets.notes.migrations import HEAD
from rolltop.toolsets.notes.models import LOCAL, Account
from rolltop.toolsets.notes.service import changes, notebooks
from rolltop.toolsets.notes.store import accounts, reading

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.db import Tx
    from rolltop.core.settings import Settings
    from rolltop.toolsets.notes.models import JsonObject, Note, Notebook

_MEBIBYTE: Final = 1 << 20
_KIBIBYTE: Final = 1 << 10
_NAMED: Final = 20
"""Notes that an error names."""
UNSENT: Final = ("pending", "conflict")


def stats(tx: Tx, settings: Settings, file: Path | None) -> JsonObject:
    """Return figures of the caller's notes, of the sync and of this process."""
    notebook, account = notebooks.current(tx, settings)
    known = account or Account(LOCAL, status="local")
    last, took = known.last_sync_at, known.sync_duration_ms
    return {
        "version": __version__,
        "python_version": platform.python_version(),
        "memory_rss_mb": _resident_mebibytes(),
        "db_encryption": _encryption(tx, settings),
        "db_file_size_mb": None if file is None else _mebibytes(file.stat().st_size),
        "db_total_notes": reading.count(tx, notebook.account),
        "db_last_sync_at": None if last is None else int(last // 1),
        "db_sync_duration_ms": None if took is None else round(took),
        "db_sync_status": known.status,
        "db_sync_error_count": known.error_count,
        "db_schema_version": int(HEAD.rsplit("_", 1)[1]),
        "backend_cursor": known.cursor,
        "pending_writes": reading.count(tx, notebook.account, *UNSENT),
    }


def _encryption(tx: Tx, settings: Settings) -> str:
    """Return whether the store is encrypted: with a key, no other opens."""
    if tx.kind != "sqlite":
        return "unavailable"
    return "enabled" if settings["db_encryption_key"] else "disabled"


def reset(tx: Tx, notebook: Notebook, account: Account) -> int:
    """Drop the copies of an account's notes and its cursor; return how many copies there were.

    History stays. Raises Conflict (PENDING_WRITES) while there is what the backend does not have.
    """
    unsent = reading.count(tx, notebook.account, *UNSENT)
    if unsent:
        raise _unsent(unsent, reading.in_state(tx, notebook.account, ["conflict"], _NAMED))
    dropped = changes.forget_all(tx, notebook)
    accounts.put(tx, replace(account, cursor=None, state={}))
    return dropped


def _unsent(count: int, refused: Sequence[Note]) -> Conflict:
    """Return the error of notes that the backend does not have; a sync sends no refused one."""
    hint = "Call note_manage with action sync first; nothing was dropped."
    details: JsonObject = {"pending_writes": count}
    if refused:
        details["refused"] = [note.id for note in refused]
        hint = (
            "Simplenote did not take the notes in details.refused, most often since they are too "
            "large: make them smaller with note_save; nothing was dropped."
        )
    return Conflict(
        f"{count} notes hold changes that the backend does not have yet",
        code="PENDING_WRITES",
        hint=hint,
        data={"details": details},
    )


def _resident_mebibytes() -> float | None:
    """Return the memory this process holds now; its peak where only that is known."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return _peak_mebibytes()
    import resource  # noqa: PLC0415  # not on Windows

    return _mebibytes(pages * resource.getpagesize())


def _peak_mebibytes() -> float | None:
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415  # as above

    unit = 1 if sys.platform == "darwin" else _KIBIBYTE
    return _mebibytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def _mebibytes(size: int) -> float:
    return round(size / _MEBIBYTE, 2)
