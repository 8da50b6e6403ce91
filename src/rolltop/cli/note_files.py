"""`rolltop notes export` and `rolltop notes import`: notes as plain files, and back."""

from __future__ import annotations

import asyncio
import os
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rolltop.cli import local_context, options
from rolltop.cli.progress_bar import ProgressBar
from rolltop.core.errors import InvalidArgument
from rolltop.core.lazy_imports import lazy

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator

    from rolltop.core.context import AppContext
    from rolltop.core.principal import Principal
    from rolltop.server import identity
    from rolltop.toolsets.notes import import_export
    from rolltop.toolsets.notes.import_export import PortableNote, UnreadableNoteFile
else:
    import_export = lazy("rolltop.toolsets.notes.import_export")
    identity = lazy("rolltop.server.identity")

_MAX_EXPORT_BYTES: Final = 1 << 30  # bytes of one export
_TRASH: Final = "trash"
_TEXT_SUFFIXES: Final = frozenset({".md", ".markdown", ".txt"})
_ARCHIVE_MEMBER: Final = "source/notes.json"
_MAX_NAMES: Final = 1_000_000


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments of the command that was chosen."""
    if parser.get_default("command") == "notes export":
        place = "a new or empty folder for Markdown files, or a new .json file"
    else:
        place = "a folder of Markdown files, or Simplenote's export (.json or .zip)"
    parser.add_argument("path", metavar="PATH", type=Path, help=place)
    options.add_identity(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Do what was asked and say so; 1 where some files could not be read."""
    path: Path = arguments.path
    with local_context.open_context(options.read_settings(arguments)) as context:
        user = identity.LocalUser(context)
        user.check()
        scope = asyncio.run(user.principal(local_context.ACTOR))
        if arguments.command == "notes export":
            return _export(context, scope, path)
        return _import(context, scope, path)


def _export(app: AppContext, principal: Principal, path: Path) -> int:
    notes = _all_notes(app, principal)
    if path.suffix.lower() == ".json":
        data = import_export.render_export(notes)
        _write(path, data)
        options.print_line(f"Wrote {path}.")
        return 0
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InvalidArgument(f"{path} is there already", hint="Name a new or an empty folder.")
    count = 0
    taken: set[str] = set()
    for note in notes:
        folder = path / _TRASH if note.content.trash else path
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write(folder / _free_name(note, taken), import_export.render_markdown(note))
        count += 1
    options.print_line(f"Wrote {count} notes to {path}.")
    return 0


def _all_notes(app: AppContext, principal: Principal) -> Iterator[PortableNote]:
    last = ""
    while True:
        batch = app.database.read_sync(principal, import_export.read_batch, app.settings, last)
        if not batch:
            return
        yield from batch
        last = batch[-1].id or last


def _free_name(note: PortableNote, taken: set[str]) -> str:
    """Return a file name that no other note has, on file systems that ignore case too."""
    name = import_export.markdown_name(note)
    for number in range(1, _MAX_NAMES):
        tried = f"{name}.md" if number == 1 else f"{name}-{number}.md"
        if tried.casefold() not in taken:
            taken.add(tried.casefold())
            return tried
    raise InvalidArgument(f"Too many notes are called {name}")


def _write(path: Path, data: bytes) -> None:
    """Write a new file that only its owner may read. Raises InvalidArgument where one is there."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
    except OSError as error:
        raise InvalidArgument(
            f"{path} cannot be written ({error.strerror})", hint="Choose another place."
        ) from None


def _import(app: AppContext, principal: Principal, path: Path) -> int:
    counts, refused = import_export.ImportCounts(), 0
    batch: list[PortableNote] = []
    with ProgressBar(sys.stderr) as bar:
        for note in _read(path):
            if isinstance(note, import_export.UnreadableNoteFile):
                refused += 1
                options.print_line(f"Left out: {note.message}.")
                continue
            batch.append(note)
            if len(batch) == import_export.BATCH_SIZE:
                counts = _import_batch(app, principal, batch, counts)
                batch = []
                bar.report(counts.added, None, f"{counts.added} notes")
        counts = _import_batch(app, principal, batch, counts)
    options.print_line(
        f"Added {counts.added} notes, changed {counts.changed}; {counts.unchanged} were here as "
        f"they are, {counts.older} are newer here, {refused} could not be read."
    )
    return 1 if refused else 0


def _import_batch(
    app: AppContext,
    principal: Principal,
    batch: list[PortableNote],
    counts: import_export.ImportCounts,
) -> import_export.ImportCounts:
    return app.database.write_sync(
        principal, import_export.import_notes, app.settings, batch, counts
    )


def _read(path: Path) -> Iterable[PortableNote | UnreadableNoteFile]:
    """Return the notes of a folder or an export. Raises InvalidArgument for what is neither."""
    try:
        if path.is_dir():
            return _read_folder(path)
        if path.suffix.lower() == ".zip":
            return import_export.parse_export(_read_archive(path))
        if path.stat().st_size > _MAX_EXPORT_BYTES:
            raise InvalidArgument(f"{path} is larger than an export can be")
        return import_export.parse_export(path.read_bytes())
    except OSError as error:
        raise InvalidArgument(
            f"{path} cannot be read ({error.strerror})", hint="Check the path."
        ) from None


def _read_folder(path: Path) -> Iterator[PortableNote | UnreadableNoteFile]:
    for file in sorted(path.rglob("*")):
        name = file.relative_to(path).as_posix()
        if file.suffix.lower() not in _TEXT_SUFFIXES or file.is_symlink() or not file.is_file():
            continue
        try:
            yield import_export.parse_markdown(file.read_bytes(), name, file.stat().st_mtime)
        except OSError as error:
            yield import_export.UnreadableNoteFile(f"{name} cannot be read ({error.strerror})")
        except InvalidArgument as error:
            yield import_export.UnreadableNoteFile(error.message)


def _read_archive(path: Path) -> bytes:
    """Return the document inside Simplenote's archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(_ARCHIVE_MEMBER).file_size > _MAX_EXPORT_BYTES:
                raise InvalidArgument(f"{path} is larger than an export can be")
            return archive.read(_ARCHIVE_MEMBER)
    except (KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        raise InvalidArgument(
            f"{path} is no export of Simplenote", hint=f"It would hold {_ARCHIVE_MEMBER}."
        ) from None
