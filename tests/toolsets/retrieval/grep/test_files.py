from __future__ import annotations

import errno
import os
import random
import socket
import subprocess
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from rolltop.core.errors import Unavailable
from rolltop.toolsets.retrieval.grep import ripgrep
from rolltop.toolsets.retrieval.grep.search import search
from rolltop.toolsets.retrieval.models import Query, SearchRoot
from rolltop.workspace import Roots
from tests.toolsets.retrieval.grep.witness import found, trees_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rolltop.workspace import FileStat, SkippedEntries

NEEDLE = Query("needle")
EXPRESSION = Query("ne+dle", regex=True)


def test_only_regular_files_are_read(code: Path, tmp_path: Path) -> None:
    (code / "file").write_text("needle\n")
    (tmp_path / "outside").write_text("needle\n")
    os.mkfifo(code / "fifo")
    (code / "dangling").symlink_to("nowhere")
    (code / "loop").symlink_to("loop")
    (code / "inside").symlink_to("file")
    (code / "out").symlink_to(tmp_path / "outside")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(code / "socket"))
        answer = found(code, NEEDLE)
        zero = found(code, Query("nowhere at all"))
    assert [hit.path for hit in answer.hits] == ["file"]
    assert zero.skipped.special == 4


class Shifting:
    """A tree whose files become something else between being listed and being read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.roots = Roots.open({"code": path}, base=path)
        self.shifts = dict[str, str]()

    def tree(self) -> SearchRoot:
        return SearchRoot(self.roots, self.roots.named[0], self.files)

    def files(self, skipped: SkippedEntries) -> Iterable[FileStat]:
        listed = list(self.roots.walk(self.roots.named[0], skipped=skipped))
        for name, kind in self.shifts.items():
            self.become(self.path / name, kind)
        return listed

    def become(self, file: Path, kind: str) -> None:
        file.unlink()
        if kind == "fifo":
            os.mkfifo(file)
        elif kind == "folder":
            file.mkdir()
        elif kind == "link out":
            file.symlink_to(self.path.parent / "secret")
        elif kind == "link in":
            file.symlink_to("good0")
        elif kind == "folder out":
            file.parent.rename(self.path / "moved")
            (self.path / "moved").rename(self.path.parent / "moved")
            file.parent.symlink_to(self.path.parent / "moved")


@pytest.mark.parametrize("query", [NEEDLE, EXPRESSION], ids=["text", "expression"])
@pytest.mark.parametrize("many", [3, 150])
@pytest.mark.parametrize("kind", ["gone", "folder", "link out", "link in", "folder out"])
def test_a_file_that_turns_into_something_else_is_passed_by(
    code: Path, kind: str, many: int, query: Query
) -> None:
    (code.parent / "secret").write_text("needle\n")
    (code / "sub").mkdir()
    (code / "sub" / "victim").write_text("needle\n")
    for number in range(many):
        (code / f"good{number}").write_text("needle\n")
    shifting = Shifting(code)
    shifting.shifts = {"sub/victim": kind}
    answer = search([shifting.tree()], query, limit=1000)
    assert len(answer.hits) == many
    assert not [hit for hit in answer.hits if hit.path == "sub/victim"]
    # ripgrep says nothing of a directory in the place of a file.
    assert answer.skipped.changed == (0 if kind == "folder" else 1)


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("change", ["in place", "another file", "put back"])
def test_a_line_is_shown_where_it_is_when_the_file_is_read(
    code: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Ripgrep has looked at the files; one of them changes before it is opened."""
    for number in range(150):
        (code / f"file{number}").write_text(f"a needle {number}\n\nb\n")
    changing = code / "file7"
    before = changing.stat()
    result = ripgrep.FileRun.result

    def changed(run: ripgrep.FileRun, deadline: float) -> bytes:
        found = result(run, deadline)
        if change == "another file":
            (code / "new").write_text("b\n\na needle 7\n")
            os.utime(code / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
            (code / "new").replace(changing)
        else:
            changing.write_text("b\n\na needle 7\n")
        if change == "put back":
            os.utime(changing, ns=(before.st_atime_ns, before.st_mtime_ns))
        return found

    monkeypatch.setattr(ripgrep.FileRun, "result", changed)
    answer = search([Shifting(code).tree()], EXPRESSION, limit=1000)
    lines = {hit.path: (hit.line, hit.preview) for hit in answer.hits}
    assert lines.pop("file7") == (3, "a needle 7")
    assert lines == {f"file{n}": (1, f"a needle {n}") for n in range(150) if n != 7}


@pytest.mark.usefixtures("settled")
def test_every_line_of_many_is_found_whatever_the_files_are_called(code: Path) -> None:
    for number in range(100):
        (code / f"plain{number}").write_text("no\n")
    (code / "two\nlines").write_text("needle\nno\n" * 3)
    (code / "./nul").write_bytes(b"needle\n\0\n" * 2 + b"x" * 9000)
    (code / "full").write_text("needle\n" * 50)
    (code / "wide").write_bytes("\n\nneedle\n".encode("utf-16"))
    answer = search([Shifting(code).tree()], EXPRESSION, limit=1000)
    lines = [(hit.path, hit.line) for hit in answer.hits]
    assert lines == [
        *(("full", n) for n in range(1, 51)),
        *(("two\nlines", n) for n in (1, 3, 5)),
        ("wide", 3),
    ]


def test_a_fifo_that_takes_a_files_place_does_not_hang_the_search(code: Path) -> None:
    for number in range(150):
        (code / f"good{number}").write_text("needle\n")
    shifting = Shifting(code)
    shifting.shifts = {"good7": "fifo", "good140": "fifo"}
    answer = search([shifting.tree()], NEEDLE, limit=1000)
    assert len(answer.hits) == 148
    assert answer.skipped.changed == 2


def test_large_files_that_are_no_text_are_told_by_their_head(code: Path) -> None:
    (code / "large").write_bytes(b"\0" + b"nothing of the kind\n" * 20_000)
    (code / "torn").write_bytes(b"x\n" * 200_000 + b"\0needle\n")
    (code / "small").write_text("needle\n")
    answer = found(code, Query("ne+dle", regex=True))
    assert [hit.path for hit in answer.hits] == ["small", "torn"]
    assert answer.skipped.binary == 1


UNREAD = [
    Query("Name:", file_glob="{mem,status}"),
    Query("name:", case="ignore", file_glob="{mem,status}"),
    Query("Na.e:", regex=True, file_glob="{mem,status}"),
]


@pytest.mark.parametrize("query", UNREAD)
def test_a_file_that_cannot_be_read_hides_no_other(query: Query) -> None:
    answer = found(Path(f"/proc/self/task/{os.getpid()}"), query)
    assert [(hit.path, hit.line) for hit in answer.hits] == [("status", 1)]
    assert (answer.files, answer.skipped.unreadable) == (1, 1)


@pytest.mark.parametrize("query", [NEEDLE, EXPRESSION])
@pytest.mark.parametrize("settled_ns", [0, 10**18])
@pytest.mark.parametrize("readable", [0, 8192, 100_000])
@pytest.mark.parametrize("failure", [OSError(errno.EIO, "I/O error"), MemoryError()])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_disk_that_fails_within_a_file_is_counted(  # all that may differ
    code: Path,
    monkeypatch: pytest.MonkeyPatch,
    query: Query,
    settled_ns: int,
    readable: int,
    failure: Exception,
    encoding: str,
) -> None:
    for name in ("bad", "good"):
        (code / name).write_text("nothing\n" * 20_000 + "needle\n", encoding=encoding)
    bad = (code / "bad").stat().st_ino
    monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", settled_ns)
    read = os.pread

    def failing(descriptor: int, size: int, start: int) -> bytes:
        if os.fstat(descriptor).st_ino == bad and start + size > readable:
            raise failure
        return read(descriptor, size, start)

    monkeypatch.setattr(os, "pread", failing)
    answer = found(code, query)
    assert [hit.path for hit in answer.hits] == ["good"]
    assert (answer.files, answer.skipped.unreadable) == (1, 1)


@pytest.mark.parametrize("query", [NEEDLE, EXPRESSION])
@pytest.mark.parametrize("lacking", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
@pytest.mark.parametrize(
    ("asked", "of"), [("open", "d/f"), ("open", "d/.gitignore"), ("scandir", "d")]
)
def test_what_this_process_lacks_is_said_and_leaves_no_file_out(
    code: Path, monkeypatch: pytest.MonkeyPatch, query: Query, lacking: int, asked: str, of: str
) -> None:
    (code / "d").mkdir()
    (code / "d" / "f").write_text("needle\n")
    (code / "d" / "ignored").write_text("needle\n")
    (code / "d" / ".gitignore").write_text("ignored\n")
    had = getattr(os, asked)

    def none_left(path: object, *more: object, **others: object) -> object:
        if str(path) == str(code / of):
            raise OSError(lacking, os.strerror(lacking))
        return had(path, *more, **others)

    with monkeypatch.context() as patched:
        patched.setattr(os, asked, none_left)
        with pytest.raises(Unavailable):
            found(code, query)
    assert [hit.path for hit in found(code, query).hits] == ["d/f"]


@pytest.fixture
def many(code: Path) -> Path:
    for number in range(200):
        (code / f"f{number}").write_text("needle\n")
    return code


@pytest.mark.parametrize("query", [NEEDLE, EXPRESSION])
def test_a_search_goes_on_where_ripgrep_was_killed_once(
    many: Path, monkeypatch: pytest.MonkeyPatch, query: Query
) -> None:
    left = [1]

    class Killed(subprocess.Popen[bytes]):
        def __init__(self, *command: Any, **options: Any) -> None:
            super().__init__(*command, **options)
            if left:
                left.pop()
                self.kill()

    monkeypatch.setattr(subprocess, "Popen", Killed)
    assert len(found(many, query).hits) == 200
    left += [1] * 10
    with pytest.raises(Unavailable):
        found(many, query)


@pytest.mark.parametrize("query", [NEEDLE, EXPRESSION])
def test_where_ripgrep_cannot_be_run_that_is_said(
    many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: Query
) -> None:
    program = tmp_path / "rg"
    program.write_text("no program\n")
    monkeypatch.setattr(ripgrep, "ripgrep_path", lambda: str(program))
    with pytest.raises(Unavailable, match="ripgrep"):
        found(many, query)


@pytest.mark.parametrize("size", [10, 1 << 20])
def test_without_room_for_copies_files_just_written_are_searched(
    code: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "memfd_create", full, raising=False)
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    (code / "new").write_text("needle\n".rjust(size, "x"))
    for query in (NEEDLE, EXPRESSION):
        assert [hit.path for hit in found(code, query).hits] == ["new"]


def test_names_of_any_kind_are_searched(code: Path) -> None:
    names = [
        "a b",
        "-e",
        "--files",
        "new\nline",
        "quote'\"",
        "é",
        "[x]",
        "tab\t",
        "colon:1:",
        "a\\b",
    ]
    for name in [*names, *(f"filler{number}" for number in range(100))]:
        (code / name).write_text("needle\n")
    (code / os.fsdecode(b"not utf-8 \xff")).write_text("needle\n")
    answer = found(code, NEEDLE)
    assert {hit.path for hit in answer.hits if "filler" not in hit.path} == set(names)
    assert answer.skipped.unreadable == 1


def test_a_store_is_not_read_through_a_hard_link(code: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    store.write_text("needle\n")
    (code / "linked").hardlink_to(store)
    roots = Roots.open({"code": code}, base=code, hidden_stores=[store])
    tree = SearchRoot.from_walk(roots, roots.named[0])
    assert search([tree], NEEDLE, limit=1).hits == ()


def test_what_changes_during_searches_is_never_stale_nor_missing(code: Path) -> None:
    """Files hold `stable` in every version, each version a number that only grows.

    A reader may see half of what is just written in place, so such files are not judged.
    """
    names = [f"d{number % 5}/f{number}" for number in range(100)]
    for name in names:
        (code / name).parent.mkdir(exist_ok=True)
        _write(code / name, 0)
    newest = dict.fromkeys(names, 0)
    begun, ended = Counter(names), Counter(names)
    stop = threading.Event()

    def mutate() -> None:
        drawn = random.Random(7)  # noqa: S311  # the same edits in each run
        while not stop.is_set():
            name = drawn.choice(names)
            version = newest[name] + 1
            if drawn.random() < 0.5:
                begun[name] += 1
                _write(code / name, version)
                ended[name] += 1
            else:
                _write(code / f"{name}.new", version)
                (code / f"{name}.new").replace(code / name)
            newest[name] = version
            stop.wait(0.0005)

    writer = threading.Thread(target=mutate)
    writer.start()
    try:
        for _ in range(25):
            before, whole = dict(newest), Counter(ended)
            hits = search(trees_of(code), Query("stable version"), limit=1000).hits
            seen = {hit.path.removesuffix(".new"): hit.preview.split()[-1] for hit in hits}
            still = [name for name in names if begun[name] == whole[name]]
            assert [n for n in still if int(seen.get(n, "-1")) < before[n]] == []
    finally:
        stop.set()
        writer.join()


def _write(file: Path, version: int) -> None:
    """Write a version in place, in one system call."""
    text = f"{'x' * (version % 40)}\nstable version {version:08d}\n".encode().ljust(80, b"\n")
    with suppress(FileNotFoundError):
        handle = os.open(file, os.O_WRONLY | os.O_CREAT)
        os.pwrite(handle, text, 0)
        os.close(handle)


def test_an_edit_just_before_a_search_is_seen(code: Path) -> None:
    file = code / "file"
    for number in range(60):
        text = f"{number:04d}"
        if number % 3:
            file.write_text(f"needle {text}\n")
        else:
            (code / "new").write_text(f"needle {text}\n")
            (code / "new").replace(file)
        assert [hit.preview for hit in found(code, NEEDLE).hits] == [f"needle {text}"]
    file.unlink()
    assert found(code, NEEDLE).hits == ()
