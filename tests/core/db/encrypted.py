"""Encrypted stores for tests, with a key that is made quickly."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rolltop.core.accounts import ensure_default_user
from rolltop.core.db import SYSTEM, Database
from rolltop.core.db.encryption import Encryption
from rolltop.core.principal import Principal
from tests.desks import call_tool, make_desk

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

ITERATIONS: Final = 10_000
KEY: Final = Encryption("pass ' phrase \" ü", ITERATIONS)
OTHER: Final = Encryption("another", ITERATIONS)
MARKER: Final = "walrus in the harbour"
ACCENTED: Final = "Żółć Straße größe"


def url_of(file: Path) -> str:
    """Return the URL of a store's file."""
    return f"sqlite:///{file}"


@contextmanager
def opened(file: Path, encryption: Encryption | None) -> Generator[Database]:
    """Return the opened store for as long as the test needs it."""
    database = Database(url_of(file), encryption=encryption)
    try:
        database.open()
        yield database
    finally:
        database.close()


def fill(database: Database) -> None:
    """Keep the marker as a task, a note of two versions and a cell, all tagged and searchable."""
    desk = make_desk(database)
    scope = Principal.for_user(database.write_sync(SYSTEM, ensure_default_user).id)
    for tool, arguments in (
        ("add_task", {"title": MARKER, "description": ACCENTED, "tags": [MARKER]}),
        ("note_save", {"text": f"{MARKER}\n{ACCENTED}\n", "tags": [MARKER]}),
        ("scratch_create", {"cells": [{"language": "md", "content": f"# {MARKER}\n{ACCENTED}"}]}),
    ):
        answer = call_tool(desk, scope, tool, **arguments)
        assert not answer.is_error, answer.text


def found(database: Database) -> list[int]:
    """Return how many tasks, notes and cells are found by the marker's words."""
    desk = make_desk(database)
    scope = Principal.for_user(database.write_sync(SYSTEM, ensure_default_user).id)
    tasks = call_tool(desk, scope, "list_tasks").structured["data"]
    notes = call_tool(desk, scope, "note_list", q="walrus harbour").structured["items"]
    cells = call_tool(desk, scope, "scratch_search", query="walrus", mode="words")
    return [len(tasks), len(notes), len(cells.structured["hits"])]


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return every file below the folder."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def plain(folder: Path) -> list[str]:
    """Return which files below the folder hold anything of the marker's text as it is."""
    words = [word.encode() for word in (*MARKER.split(), *ACCENTED.split()) if len(word) > 3]
    return [
        name
        for name, content in bytes_of(folder).items()
        if content.startswith(b"SQLite format 3") or any(word in content.lower() for word in words)
    ]
