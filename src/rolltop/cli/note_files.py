"""`rolltop notes export` and `rolltop notes import`: notes as plain files, and back."""

from __future__ import annotations

import asyncio
import os
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rolltop.cli import local, options
from rolltop.cli.progress import ProgressBar
from rolltop.core.errors import Invalid
from rolltop.core.lazy import lazy

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator

    from rolltop.core.desk import Desk
    from rolltop.core.scope import Scope
    from rolltop.server import identity
    from rolltop.toolsets.notes import formats
    from rolltop.toolsets.notes.formats import NotReadable, Portable
    from rolltop.toolsets.notes.service import transfer
else:
    formats = lazy("rolltop.toolsets.notes.formats")
    identity = lazy("rolltop.server.identity")
    transfer = lazy("rolltop.toolsets.notes.service.transfer")

_LARGEST: Final = 1 << 30  # bytes of one export
_TRASH: Final = "trash"
_TEXTS: Final = frozenset({".md", ".markdown", ".txt"})
_IN_ARCHIVE: Final = "source/notes.json"
_MOST_NAMES: Final = 1_000_000


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments of the command that was chosen."""
    if parser.get_default("command") == "notes export":
        place = "a new or empty folder for Markdown files, or a new .json file"
    else:
        place = "a folder of Markdown files, or Simplenote's export (.json or .zip)"
    parser.add_argument("path", metavar="PATH", type=Path, help=place)
    options.add_user(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Do what was asked and say so; 1 where some files could not be read."""
    path: Path = arguments.path
    with local.opened(options.read_settings(arguments)) as desk:
        user = identity.LocalUser(desk)
        user.check()
        scope = asyncio.run(user.scope(local.ACTOR))
        if arguments.command == "notes export":
            return _export(desk, scope, path)
        return _import(desk, scope, path)


def _export(desk: Desk, scope: Scope, path: Path) -> int:
    notes = _all_notes(desk, scope)
    if path.suffix.lower() == ".json":
        data = formats.simplenote.written(notes)
        _write(path, data)
        options.show(f"Wrote {path}.")
        return 0
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise Invalid(f"{path} is there already", hint="Name a new or an empty folder.")
    count = 0
    taken: set[str] = set()
    for note in notes:
        folder = path / _TRASH if note.content.trash else path
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(folder / _free_name(note, taken), formats.markdown.written(note))
        count += 1
    options.show(f"Wrote {count} notes to {path}.")
    return 0


def _all_notes(desk: Desk, scope: Scope) -> Iterator[Portable]:
    last = ""
    while True:
        batch = desk.database.read_now(scope, transfer.batch_after, desk.settings, last)
        if not batch:
            return
        yield from batch
        last = batch[-1].id or last


def _free_name(note: Portable, taken: set[str]) -> str:
    """Return a file name that no other note has, on file systems that ignore case too."""
    name = formats.markdown.file_name(note)
    for number in range(1, _MOST_NAMES):
        tried = f"{name}.md" if number == 1 else f"{name}-{number}.md"
        if tried.casefold() not in taken:
            taken.add(tried.casefold())
            return tried
    raise Invalid(f"Too many notes are called {name}")


def _write(path: Path, data: bytes) -> None:
    """Write a new file that only its owner may read. Raises Invalid where one is there."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
    except OSError as error:
        raise Invalid(
            f"{path} cannot be written ({error.strerror})", hint="Choose another place."
        ) from None


def _import(desk: Desk, scope: Scope, path: Path) -> int:
    tally, refused = transfer.Tally(), 0
    batch: list[Portable] = []
    with ProgressBar(sys.stderr) as bar:
        for note in _read(path):
            if isinstance(note, formats.NotReadable):
                refused += 1
                options.show(f"Left out: {note.message}.")
                continue
            batch.append(note)
            if len(batch) == transfer.BATCH:
                tally = tally.plus(_bring(desk, scope, batch))
                batch = []
                bar.report(tally.added, None, f"{tally.added} notes")
        tally = tally.plus(_bring(desk, scope, batch))
    options.show(
        f"Added {tally.added} notes, changed {tally.changed}; {tally.unchanged} were here as "
        f"they are, {tally.older} are newer here, {refused} could not be read."
    )
    return 1 if refused else 0


def _bring(desk: Desk, scope: Scope, batch: list[Portable]) -> transfer.Tally:
    return desk.database.write_now(scope, transfer.bring, desk.settings, batch)


def _read(path: Path) -> Iterable[Portable | NotReadable]:
    """Return the notes of a folder or an export. Raises Invalid for what is neither."""
    try:
        if path.is_dir():
            return _read_folder(path)
        if path.suffix.lower() == ".zip":
            return formats.simplenote.read(_from_archive(path))
        if path.stat().st_size > _LARGEST:
            raise Invalid(f"{path} is larger than an export can be")
        return formats.simplenote.read(path.read_bytes())
    except OSError as error:
        raise Invalid(f"{path} cannot be read ({error.strerror})", hint="Check the path.") from None


def _read_folder(path: Path) -> Iterator[Portable | NotReadable]:
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path).as_posix()
        if file.suffix.lower() not in _TEXTS or file.is_symlink() or not file.is_file():
            continue
        try:
            yield formats.markdown.read(file.read_bytes(), name, file.stat().st_mtime)
        except OSError as error:
            yield formats.NotReadable(f"{name} cannot be read ({error.strerror})")
        except Invalid as error:
            yield formats.NotReadable(error.message)


def _from_archive(path: Path) -> bytes:
    """Return the document inside Simplenote's archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(_IN_ARCHIVE).file_size > _LARGEST:
                raise Invalid(f"{path} is larger than an export can be")
            return archive.read(_IN_ARCHIVE)
    except (KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        raise Invalid(
            f"{path} is no export of Simplenote", hint=f"It would hold {_IN_ARCHIVE}."
        ) from None
