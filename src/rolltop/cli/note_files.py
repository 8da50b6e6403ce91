"""`rolltop notes export` and `rolltop notes import`: notes as plain files, and back."""

from __future__ import annotations

import sys
import zipfile
import zlib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rolltop.cli import local_context, options, plain_files, render, users
from rolltop.cli.lazy_modules import portable_notes
from rolltop.cli.progress_bar import ProgressBar
from rolltop.core.errors import InvalidArgument

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator

    from rolltop.core.context import AppContext
    from rolltop.core.db import Tx
    from rolltop.core.principal import Principal
    from rolltop.toolsets.notes.import_export import PortableNote, UnreadableNoteFile

_TRASH: Final = "trash"
_TEXT_SUFFIXES: Final = frozenset({".md", ".markdown", ".txt"})
_ARCHIVE_MEMBER: Final = "source/notes.json"


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments of the command that was chosen."""
    if parser.get_default("command") == "notes export":
        place = "a new or empty folder for Markdown files, or a new .json file"
    else:
        place = "a folder of Markdown files, or Simplenote's export (.json, .zip, unpacked)"
    parser.add_argument("path", metavar="PATH", type=Path, help=place)
    options.add_identity(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Do what was asked and say so; 1 where something was left out."""
    path: Path = arguments.path
    with local_context.open_context(options.read_settings(arguments)) as context:
        scope = local_context.local_principal(context)
        if arguments.command == "notes export":
            lines = _export(context, scope, path)
            users.record_export(context, arguments, path)
            for line in lines:
                options.print_line(line)
            return 0
        local_context.require_write(scope)
        return _import(context, scope, path)


def _export(app: AppContext, principal: Principal, path: Path) -> list[str]:
    """Write the notes as they are at one moment, and return what to say of it."""
    is_file = path.suffix.lower() == ".json"
    if not is_file:
        plain_files.require_empty(path)

    def write(tx: Tx) -> list[str]:
        notes = portable_notes.read_notes(tx, app.settings)
        written = f"{path}"
        if is_file:
            plain_files.write_file(path, portable_notes.render_export(notes))
        else:
            count = sum(1 for _written in write_notes(path, path / _TRASH, notes))
            written = f"{count} notes to {path}"
        return [
            f"Wrote {written}.",
            *tell_elsewhere(portable_notes.count_elsewhere(tx, app.settings)),
        ]

    return app.database.read_sync(principal, write)


def tell_elsewhere(count: int) -> Iterator[str]:
    """Say how many notes an export has not, if there are any."""
    if count:
        yield f"Notes of other Simplenote accounts, or of none, that are not in it: {count}."


def write_notes(
    folder: Path, trash: Path, notes: Iterable[PortableNote]
) -> Iterator[tuple[PortableNote, str]]:
    """Write notes as Markdown files named after their titles; yield each with its file's name.

    The names of both folders differ.
    """
    names = plain_files.FreeNames()
    for note in notes:
        place = trash if note.content.trash else folder
        name = names.take(title_stem(note.content.text), ".md")
        plain_files.write_file(place / name, portable_notes.render_markdown(note))
        yield note, name


def title_stem(text: str) -> str:
    """Return the stem of the name of a note's file."""
    lines = (line.strip() for line in text.lstrip("\ufeff").splitlines())
    return plain_files.file_stem(next(filter(None, lines), ""), "note")


def _import(app: AppContext, principal: Principal, path: Path) -> int:
    counts, left_out = portable_notes.ImportCounts(), 0

    def take() -> Iterator[PortableNote]:
        nonlocal left_out
        for note in portable_notes.refuse_repeated_ids(_read(path)):
            if isinstance(note, portable_notes.UnreadableNoteFile):
                left_out += 1
                options.print_line(f"Left out: {render.printable(note.message)}.")
            else:
                yield note

    with ProgressBar(sys.stderr) as bar:
        taken = take()
        while batch := list(islice(taken, portable_notes.BATCH_SIZE)):
            given = app.settings, batch, counts
            counts = app.database.write_sync(principal, portable_notes.import_notes, *given)
            bar.report(counts.added, None, f"{counts.added} notes")
    options.print_line(
        f"Added {counts.added} notes, changed {counts.changed}; {counts.unchanged} were here as "
        f"they are, {counts.older} are newer here, {left_out} were left out."
    )
    if counts.kept:
        options.print_line(
            f"Left as they are here: {counts.kept} of the account's that differ in the files."
        )
    return 1 if left_out else 0


def _read(path: Path) -> Iterable[PortableNote | UnreadableNoteFile]:
    """Return the notes of a folder or an export. Raises InvalidArgument for what is neither."""
    try:
        if path.is_dir():
            unpacked = _read_unpacked(path)
            return read_folder(path) if unpacked is None else unpacked
        if path.suffix.lower() == ".zip":
            return portable_notes.parse_export(_read_archive(path))
        return portable_notes.parse_export(_read_document(path))
    except OSError as error:
        raise InvalidArgument(
            f"{path} cannot be read ({error.strerror})", hint="Check the path."
        ) from None


def _read_unpacked(folder: Path) -> list[PortableNote | UnreadableNoteFile] | None:
    """Read Simplenote's unpacked archive; None for any other folder.

    Its text files are copies without ids, tags and dates, those of the trash among them.
    """
    document = folder / _ARCHIVE_MEMBER
    if not document.is_file():
        return None
    try:
        notes = list(portable_notes.parse_export(_read_document(document)))
    except portable_notes.UnreadableNoteFile:
        return None
    options.print_line(f"This is Simplenote's export: {_ARCHIVE_MEMBER} is read, nothing else.")
    return notes


def _read_document(path: Path) -> bytes:
    if path.stat().st_size > plain_files.MAX_FILE_BYTES:
        raise InvalidArgument(f"{path} is larger than an export can be")
    return path.read_bytes()


def read_folder(root: Path, below: str = "") -> Iterator[PortableNote | UnreadableNoteFile]:
    """Yield the notes of a folder's Markdown and text files, and an error for each bad one."""
    for found in plain_files.list_files(root, below):
        if isinstance(found, InvalidArgument):
            yield portable_notes.UnreadableNoteFile(found.message)
            continue
        if found.path.suffix.lower() not in _TEXT_SUFFIXES:
            continue
        try:
            content = plain_files.read_file(found)
            yield portable_notes.parse_markdown(content.data, found.name, content.modified)
        except InvalidArgument as error:
            yield portable_notes.UnreadableNoteFile(error.message)


def _read_archive(path: Path) -> bytes:
    """Return the document inside Simplenote's archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(_ARCHIVE_MEMBER).file_size > plain_files.MAX_FILE_BYTES:
                raise InvalidArgument(f"{path} is larger than an export can be")
            return archive.read(_ARCHIVE_MEMBER)
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        raise InvalidArgument(
            f"{path} is no export of Simplenote", hint=f"It would hold {_ARCHIVE_MEMBER}."
        ) from None
