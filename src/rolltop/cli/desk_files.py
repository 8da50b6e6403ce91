"""`rolltop export` and `rolltop import`: all of a user's desk as files that a person can read.

Notes and tasks are Markdown files, and a pad is a folder with a file for each cell; what notes were
before is JSON in `history`. `desk.json`, which has the links, is written last: a folder without it
is no finished export. What is not written is the journal, which tells of the store it is kept in.
"""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, cast

from rolltop.cli import local_context, note_files, options, plain_files, render, users
from rolltop.cli.lazy_modules import (
    asyncio,
    portable_links,
    portable_notes,
    portable_pads,
    portable_tasks,
    scratch_service,
)
from rolltop.cli.progress_bar import ProgressBar
from rolltop.core.errors import Conflict, InvalidArgument
from rolltop.core.pagination import replace_surrogates

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from typing import Concatenate, ParamSpec, TypeVar

    from rolltop.core.context import AppContext
    from rolltop.core.db import Tx
    from rolltop.core.principal import Principal
    from rolltop.core.settings import Settings
    from rolltop.toolsets.scratch.models.records import PadLimits

    T = TypeVar("T")
    P = ParamSpec("P")

_MANIFEST: Final = "desk.json"
_FORMAT: Final = "rolltop desk"
_VERSION: Final = 1
_NOTES, _TASKS, _PADS = "notes", "tasks", "pads"
_LINKS: Final = "links"
_ELSEWHERE: Final = "notes_elsewhere"
_TRASH: Final = "trash"
_HISTORY: Final = "history"
_ERASED: Final = "deleted"
"""The folder inside `history` of the notes that were deleted for good."""
_REPORT_INTERVAL: Final = 50
_NO_LINKS: Final = {"added": 0, "unchanged": 0}
_OUTCOMES: Final = {
    "added": "added",
    "changed": "changed",
    "unchanged": "here already",
    "older": "newer here",
    "kept": "different here and left so",
}
"""What became of the things that a folder has."""


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments of the command that was chosen."""
    is_export = parser.get_default("command") == "export"
    place = "a new or empty folder" if is_export else "a folder that `rolltop export` wrote"
    parser.add_argument("path", metavar="DIR", type=Path, help=place)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options.add_identity(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Do what was asked and say so; 1 where some files could not be read."""
    path: Path = arguments.path
    work = export_desk if arguments.command == "export" else import_desk
    with local_context.open_context(options.read_settings(arguments)) as context:
        principal = local_context.local_principal(context)
        if arguments.command == "import":
            local_context.require_write(principal)
        with ProgressBar(sys.stderr) as bar:
            answer = work(context, principal, path, bar)
        if arguments.command == "export":
            users.record_export(context, arguments, path)
    for line in [json.dumps(answer, ensure_ascii=False)] if arguments.json else _lines(answer):
        options.print_line(line)
    return 1 if answer.get("left_out") else 0


def export_desk(
    app: AppContext, principal: Principal, path: Path, bar: ProgressBar
) -> dict[str, Any]:
    """Write the desk as it is at one moment, and return how many things of each kind it has.

    Of an export that fails at most the empty folder stays. Raises InvalidArgument unless the
    folder is new or empty.
    """
    plain_files.require_empty(path)
    plain_files.make_folder(path / _NOTES)  # of two that begin at once, one
    try:
        counts = app.database.read_sync(principal, _write_desk, app.settings, path, bar)
    except BaseException:
        for below in (_NOTES, _TASKS, _PADS, _TRASH, _HISTORY, _MANIFEST):
            shutil.rmtree(path / below, ignore_errors=True)
            with suppress(OSError):
                (path / below).unlink()
        raise
    return {"command": "export", "directory": str(path), **counts}


def import_desk(
    app: AppContext, principal: Principal, path: Path, bar: ProgressBar
) -> dict[str, Any]:
    """Add what the folder has and is not here, and return what was done.

    A note that is here is changed where the file is as new or newer.
    Raises InvalidArgument unless the folder is a finished export.
    """
    return _Import(app, principal, path, _read_manifest(path), bar).run()


def _lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Say what was done."""
    for message in answer.get("left_out", ()):
        yield f"Left out: {render.printable(message)}."
    counts = {kind: answer[kind] for kind in (_NOTES, _TASKS, _PADS, _LINKS)}
    if answer[_LINKS] in (0, _NO_LINKS):
        del counts[_LINKS]
    if answer["command"] == "export":
        names = {
            kind: kind if count != 1 else kind.removesuffix("s") for kind, count in counts.items()
        }
        listed = ", ".join(f"{count} {names[kind]}" for kind, count in counts.items())
        yield f"Wrote {listed} to {answer['directory']}."
        yield from note_files.tell_elsewhere(answer.get(_ELSEWHERE, 0))
        return
    for kind, count in counts.items():
        told = ", ".join(f"{number} {_OUTCOMES[name]}" for name, number in count.items() if number)
        yield f"{kind.capitalize()}: {told or 'none'}."


def _write_desk(tx: Tx, settings: Settings, path: Path, bar: ProgressBar) -> dict[str, int]:
    trash = path / _TRASH
    counts = {_NOTES: _write_notes(tx, settings, path, bar)}
    names, counts[_TASKS] = plain_files.FreeNames(), 0
    for task in _report(bar, _TASKS, portable_tasks.read_tasks(tx)):
        place = trash / _TASKS if task.deleted_at else path / _TASKS
        name = names.take(plain_files.file_stem(task.title, "task"), ".md")
        plain_files.write_file(place / name, portable_tasks.render_task(task))
        counts[_TASKS] += 1
    names, counts[_PADS] = plain_files.FreeNames(), 0
    for pad in _report(bar, _PADS, portable_pads.read_pads(tx)):
        place = trash / _PADS if pad.deleted_at else path / _PADS
        folder = place / names.take(
            plain_files.file_stem(str(pad.metadata.get("title") or ""), "pad")
        )
        for name, data in portable_pads.render_pad(tx, pad):
            plain_files.write_file(folder / name, data)
        counts[_PADS] += 1
    links = portable_links.read_links(tx)
    counts[_LINKS] = len(links)
    manifest = {
        "format": _FORMAT,
        "version": _VERSION,
        "counts": counts,
        "namespaces": portable_pads.read_namespaces(tx),
        _LINKS: links,
    }
    plain_files.write_file(
        path / _MANIFEST, f"{json.dumps(manifest, ensure_ascii=False, indent=2)}\n".encode()
    )
    elsewhere = portable_notes.count_elsewhere(tx, settings)
    return counts | ({_ELSEWHERE: elsewhere} if elsewhere else {})


def _write_notes(tx: Tx, settings: Settings, path: Path, bar: ProgressBar) -> int:
    """Write notes, each with its history, and return how many."""
    count, history = 0, path / _HISTORY
    notes = _report(bar, _NOTES, portable_notes.read_notes(tx, settings, with_history=True))
    for note, name in note_files.write_notes(path / _NOTES, path / _TRASH / _NOTES, notes):
        count += 1
        if note.history is not None:
            data = portable_notes.render_history(note.history)
            plain_files.write_file((history / name).with_suffix(".json"), data)
    names = plain_files.FreeNames()
    for erased in portable_notes.read_erased(tx, settings):
        stem = note_files.title_stem(erased.versions[-1].content.text)
        data = portable_notes.render_history(erased)
        plain_files.write_file(history / _ERASED / names.take(stem, ".json"), data)
    return count


def _report(bar: ProgressBar, kind: str, items: Iterable[T]) -> Iterator[T]:
    """Yield the items, and show how many there were."""
    for count, item in enumerate(items, 1):
        if not count % _REPORT_INTERVAL:
            bar.report(count, None, f"{count} {kind}")
        yield item


def _read_manifest(path: Path) -> dict[str, Any]:
    """Read an export's own description. Raises InvalidArgument if there is none."""
    hint = "`rolltop notes import` takes Markdown files and Simplenote's exports."
    try:
        data = plain_files.read_file(plain_files.FoundFile(_MANIFEST, path / _MANIFEST)).data
    except InvalidArgument as error:
        reason = f"it has no {_MANIFEST}" if _is_missing(path / _MANIFEST) else error.message
        raise InvalidArgument(
            f"{path} is no finished export of a desk: {reason}", hint=hint
        ) from None
    try:
        whole: object = json.loads(data)
    except (ValueError, RecursionError):
        whole = None
    manifest = cast("dict[str, Any]", whole if isinstance(whole, dict) else {})
    if manifest.get("format") != _FORMAT:
        raise InvalidArgument(f"{path / _MANIFEST} is not that of a desk", hint=hint)
    if manifest.get("version") != _VERSION:
        raise InvalidArgument(
            f"{path} is an export in version {manifest.get('version')!r}, and this program reads"
            f" version {_VERSION}",
            hint="Use the program that wrote it, or a newer one.",
        )
    return manifest


def _is_missing(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


class _Import:
    """One import: what the folder has and is not here is added."""

    def __init__(
        self,
        app: AppContext,
        principal: Principal,
        root: Path,
        manifest: Mapping[str, Any],
        bar: ProgressBar,
    ) -> None:
        self._app = app
        self._principal = principal
        self._root = root
        self._manifest = manifest
        self._bar = bar
        self._left_out: list[str] = []
        self._found = dict.fromkeys((_NOTES, _TASKS, _PADS), 0)
        self._task_ids: dict[str, str] = {}

    def run(self) -> dict[str, Any]:
        """Import all and return what was done."""
        refused = self._write(portable_pads.import_namespaces, self._manifest.get("namespaces"))
        self._left_out += [f"{_MANIFEST}: {message}" for message in refused]
        done = {_NOTES: self._notes(), _TASKS: self._tasks(), _PADS: self._pads()}
        given_links = self._manifest.get(_LINKS)
        links = asdict(self._write(portable_links.import_links, given_links, self._task_ids))
        self._left_out += [f"{_MANIFEST}: {message}" for message in links.pop("refused")]
        done[_LINKS] = links
        given = self._manifest.get("counts")
        counts = cast("dict[str, Any]", given if isinstance(given, dict) else {})
        for kind, found in self._found.items():
            count = counts.get(kind)
            if isinstance(count, int) and found < count:
                self._left_out.append(
                    f"{_MANIFEST} counts {count} {kind}, and the folder has {found}"
                )
        return {
            "command": "import",
            "directory": str(self._root),
            **done,
            "left_out": replace_surrogates(self._left_out),
        }

    def _notes(self) -> dict[str, int]:
        counts, batch = portable_notes.ImportCounts(), list[portable_notes.PortableNote]()
        histories = {found.name: found for found in self._files(_HISTORY)}
        folders = self._folders(_NOTES)
        notes = (note for below in folders for note in note_files.read_folder(self._root, below))
        for note in _report(self._bar, _NOTES, portable_notes.refuse_repeated_ids(notes)):
            self._found[_NOTES] += 1
            if isinstance(note, portable_notes.UnreadableNoteFile):
                self._left_out.append(note.message)
                continue
            batch.append(self._with_history(note, histories))
            if len(batch) == portable_notes.BATCH_SIZE:
                counts = self._write(portable_notes.import_notes, self._app.settings, batch, counts)
                batch = []
        counts = self._write(portable_notes.import_notes, self._app.settings, batch, counts)
        for name, found in histories.items():
            with self._complaints(name):
                if not name.startswith(f"{_HISTORY}/{_ERASED}/"):
                    raise InvalidArgument(f"{name} is of no note of its name")
                erased = _read_history(found)
                self._write(portable_notes.import_erased, self._app.settings, erased)
        return asdict(counts)

    def _with_history(
        self, note: portable_notes.PortableNote, histories: dict[str, plain_files.FoundFile]
    ) -> portable_notes.PortableNote:
        """Return the note with its history, if there is one beside it, which is taken out."""
        name = f"{_HISTORY}/{PurePosixPath(note.name).stem}.json"
        found = histories.pop(name, None)
        if found is not None:
            with self._complaints(name):
                history = _read_history(found)
                if history.id != note.id or history.local_version is None:
                    raise InvalidArgument(f"{name} is not the history of {note.name}")
                return replace(note, history=history)
        return note

    def _tasks(self) -> dict[str, int]:
        tasks, seen = list[portable_tasks.StoredTask](), dict[str, str]()
        for found in _report(self._bar, _TASKS, self._files(_TASKS)):
            if found.path.suffix.lower() != ".md":
                continue
            self._found[_TASKS] += 1
            with self._complaints(found.name):
                content = plain_files.read_file(found)
                task = portable_tasks.parse_task(content.data, found.name, content.modified)
                _require_new(task.id, seen, found.name)
                tasks.append(task)
        done = portable_tasks.TaskImport()
        with self._complaints(f"all {_TASKS}"):
            done = self._write(portable_tasks.import_tasks, tasks)
        counts = asdict(done)
        self._left_out += counts.pop("refused")
        self._task_ids = counts.pop("ids")
        return counts

    def _pads(self) -> dict[str, int]:
        service = self._app.service(scratch_service.ScratchService)
        done, seen = portable_pads.PadImport(), dict[str, str]()
        manifests = (
            found for found in self._files(_PADS) if found.path.name == portable_pads.PAD_FILE
        )
        for found in _report(self._bar, _PADS, manifests):
            self._found[_PADS] += 1
            with self._complaints(found.name):
                pad = self._read_pad(found, service.limits)
                _require_new(pad.pad.scratch_id, seen, found.name)
                if self._write(portable_pads.is_here, pad.pad.scratch_id):
                    pad = portable_pads.without_findings(pad)
                else:
                    checked = service.validation.check_imported(pad.cells, pad.schemas)
                    pad = replace(pad, cells=asyncio.run(checked))
                done = self._write(portable_pads.import_pad, pad, service.limits, done)
        return asdict(done)

    def _read_pad(
        self, found: plain_files.FoundFile, limits: PadLimits
    ) -> portable_pads.PortablePad:
        def read(name: str) -> bytes:
            beside = found.name.removesuffix(portable_pads.PAD_FILE) + name
            cell = plain_files.FoundFile(beside, found.path.parent / name)
            return plain_files.read_file(cell).data

        return portable_pads.parse_pad(plain_files.read_file(found).data, read, limits)

    def _folders(self, kind: str) -> list[str]:
        """Return the folders of a kind of things that are there and no links."""
        places = (kind, f"{_TRASH}/{kind}")
        return [below for below in places if self._is_folder(below)]

    def _is_folder(self, below: str) -> bool:
        steps = [self._root / below, *(self._root / below).parents]
        own = steps[: steps.index(self._root)]
        try:
            if not any(step.is_symlink() for step in own):
                return (self._root / below).is_dir()
            self._left_out.append(f"{below} is a link")
        except OSError as error:
            self._left_out.append(f"{below} cannot be read ({error.strerror})")
        return False

    def _files(self, kind: str) -> Iterator[plain_files.FoundFile]:
        for below in self._folders(kind):
            for found in plain_files.list_files(self._root, below):
                if isinstance(found, InvalidArgument):
                    self._left_out.append(found.message)
                else:
                    yield found

    @contextmanager
    def _complaints(self, name: str) -> Generator[None]:
        """Take down what is wrong with a file; the others are imported."""
        try:
            yield
        except (InvalidArgument, Conflict) as error:
            known = error.message.startswith(name)
            self._left_out.append(error.message if known else f"{name}: {error.message}")

    def _write(
        self, write: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return self._app.database.write_sync(self._principal, write, *args, **kwargs)


def _read_history(found: plain_files.FoundFile) -> portable_notes.NoteHistory:
    return portable_notes.parse_history(plain_files.read_file(found).data, found.name)


def _require_new(item_id: str, seen: dict[str, str], name: str) -> None:
    """Raise InvalidArgument for an id that another file has had."""
    if item_id in seen:
        raise InvalidArgument(f"{name} has the same id as {seen[item_id]}")
    seen[item_id] = name
