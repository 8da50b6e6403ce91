"""What a path names, and which paths are refused."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.toolsets.retrieval.grep import ripgrep
from rolltop.workspace import PathError, RootError, Roots
from tests.campaign import examples

if TYPE_CHECKING:
    from collections.abc import Generator

NOBODY = 65534


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Two roots, a directory whose name starts like a root's, and files outside."""
    for name in (
        "docs/guide.md",
        "docs/both.md",
        "docs/.hidden/x.md",
        "docs/out.log",
        "code/main.py",
        "code/both.md",
        "code/docs/inner.md",
        "code2/near.txt",
        "extra/more.md",
        "extra/.dot.md",
        "here/own.md",
        "here/both.md",
        "secret.txt",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "docs/.gitignore").write_text("*.log\n")
    return tmp_path


@pytest.fixture
def roots(place: Path) -> Roots:
    return Roots.open(
        {"code": "code", "docs": place / "docs/"},
        base=place,
        extra=[Path("extra")],
        working_directory=place / "here",
    )


def code_of(roots: Roots, path: str, *, root: str | None = None, reader: bool = False) -> str:
    with pytest.raises(PathError) as caught:
        roots.locate(path, root=root, reader=reader)
    assert caught.value.message
    assert caught.value.hint
    return caught.value.code


def test_what_is_not_found_teaches_where_files_are(roots: Roots, place: Path) -> None:
    for path in ("missing.md", "docs/.hidden/x.md", str(place / "docs/missing.md")):
        with pytest.raises(PathError) as caught:
            roots.locate(path, reader=True)
        for allowed in ("docs", "code", "extra", "here"):
            assert str(place / allowed) in caught.value.hint
    with pytest.raises(PathError, match="does not exist") as caught:
        roots.locate("missing.md")
    assert "the root docs, the root code" in caught.value.hint


@pytest.mark.parametrize("reader", [False, True])
def test_a_hidden_path_is_told_the_setting_whether_or_not_it_exists(
    roots: Roots, *, reader: bool
) -> None:
    for path, is_hidden in {"docs/.hidden/x.md": True, "docs/.no": True, "docs/a.b": False}.items():
        with pytest.raises(PathError) as caught:
            roots.locate(path, reader=reader)
        assert caught.value.code == "FILE_NOT_FOUND"
        assert ("retrieval.allow_hidden" in caught.value.hint) == is_hidden, path


@pytest.mark.parametrize("kept", ["NFC", "NFD"])
@pytest.mark.parametrize("reader", [False, True])
def test_a_path_names_a_file_however_unicode_composes_it(
    tmp_path: Path, kept: Literal["NFC", "NFD"], *, reader: bool
) -> None:
    given: Literal["NFC", "NFD"] = "NFD" if kept == "NFC" else "NFC"
    path = "Größe/naïve/한글.md"
    on_disk, asked = normalize(kept, path), normalize(given, path)
    assert on_disk != asked
    place = tmp_path / "code" / on_disk
    place.parent.mkdir(parents=True)
    place.write_text("one")
    roots = Roots.open({"code": tmp_path / "code"}, base=tmp_path)
    assert roots.locate(asked, reader=reader).relative == on_disk
    assert roots.locate(f"code/{asked}", reader=reader).path == place
    folder = roots.locate(asked.rpartition("/")[0], reader=reader)
    assert folder.path == place.parent
    assert code_of(roots, f"{asked}x", reader=reader) == "FILE_NOT_FOUND"
    assert code_of(roots, normalize(given, "Größe/Größe.md"), reader=reader) == "FILE_NOT_FOUND"
    other = tmp_path / "code" / asked
    other.parent.mkdir(parents=True)
    other.write_text("two")
    assert roots.locate(asked, reader=reader).path == other
    assert roots.locate(on_disk, reader=reader).path == place


def test_no_other_spelling_leads_out_of_a_root_or_to_what_is_hidden(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / normalize("NFD", "größe")).mkdir(parents=True)
    code = tmp_path / "code"
    code.mkdir()
    (code / normalize("NFD", "lïnk")).symlink_to(outside)
    (code / normalize("NFD", "dänglíng")).symlink_to(code / "missing")
    for one, other in ("éü", "üé"):  # links that lead in a circle
        (code / normalize("NFD", one)).symlink_to(code / normalize("NFC", other))
    (code / ".gitignore").write_text("*.log\n")
    (code / normalize("NFD", "größe.log")).write_text("")
    roots = Roots.open({"code": code}, base=tmp_path)
    for path in ("lïnk", "lïnk/größe", "lïnk/größer", "../outside/größe", "../outside/gröber"):
        assert code_of(roots, normalize("NFC", path)) == "PATH_OUT_OF_ROOT"
        for form in ("NFC", "NFD"):
            target = f"{tmp_path}/outside/{normalize(form, path)}"
            assert code_of(roots, target, reader=True) == "PATH_OUT_OF_ROOT"
    for path in ("dänglíng", "dänglíng/x", "größe.log", "é"):
        assert code_of(roots, normalize("NFC", path)) == "FILE_NOT_FOUND"


def test_roots_come_docs_first_then_code_then_by_name(tmp_path: Path) -> None:
    named = dict.fromkeys(["zeta", "code", "alpha", "docs"], tmp_path)
    opened = Roots.open(named, base=tmp_path)
    assert [root.name for root in opened.named] == ["docs", "code", "alpha", "zeta"]


def test_roots_may_be_relative_climb_and_start_at_home(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(place / "code"))
    (place / "alias").symlink_to(place / "docs")
    opened = Roots.open({"docs": "alias/", "code": "~", "up": "code/../code2"}, base=place)
    assert [root.path for root in opened.named] == [
        place / "docs",
        place / "code",
        place / "code2",
    ]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("missing", "ROOT_NOT_FOUND"),
        ("", "ROOT_NOT_FOUND"),
        ("nul\0", "ROOT_NOT_FOUND"),
        ("~nobody-of-that-name/x", "ROOT_NOT_FOUND"),
        ("secret.txt", "ROOT_NOT_DIRECTORY"),
    ],
)
def test_a_root_that_cannot_serve_names_itself_and_the_reason(
    place: Path, given: str, reason: str
) -> None:
    with pytest.raises(RootError) as caught:
        Roots.open({"docs": given}, base=place)
    assert (caught.value.reason, caught.value.name, caught.value.path) == (reason, "docs", given)
    assert caught.value.code == "CONFIG_INVALID"


@pytest.mark.parametrize(
    ("path", "root", "found"),
    [
        ("guide.md", "docs", "docs/guide.md"),
        ("guide.md", None, "docs/guide.md"),
        ("docs/guide.md", None, "docs/guide.md"),
        ("./docs//guide.md", None, "docs/guide.md"),
        ("code/docs/inner.md", None, "code/docs/inner.md"),
        ("docs/inner.md", "code", "code/docs/inner.md"),
        ("docs/../main.py", "code", "code/main.py"),
        ("docs", None, "docs/."),
    ],
)
def test_a_path_finds_its_file(roots: Roots, path: str, root: str | None, found: str) -> None:
    located = roots.locate(path, root=root)
    assert located.root is not None
    assert f"{located.root.name}/{located.relative}" == found
    assert located.path == located.root.path / located.relative


@pytest.mark.parametrize("reader", [False, True])
def test_what_the_only_root_has_as_it_is_written_is_meant_before_the_roots_name(
    place: Path, *, reader: bool
) -> None:
    (place / "code/code/in").mkdir(parents=True)
    (place / "code/code/own.py").write_text("")
    (place / "code/code/main.py").write_text("")
    roots = Roots.open({"code": "code"}, base=place)
    for path, relative in {
        "code/own.py": "code/own.py",
        "./code//in/": "code/in",
        "code/main.py": "code/main.py",
        "code/code/main.py": "code/main.py",
        "code/both.md": "both.md",
        "code": "code",
    }.items():
        assert roots.locate(path, reader=reader).relative == relative
    for missing in ("code/none.py", "code/in/../../../secret.txt"):
        assert code_of(roots, missing, reader=reader) in {"FILE_NOT_FOUND", "PATH_OUT_OF_ROOT"}


@pytest.mark.parametrize("reader", [False, True])
def test_what_is_outside_the_only_root_does_not_change_what_a_path_inside_means(
    place: Path, *, reader: bool
) -> None:
    (place / "code/code").mkdir()
    roots = Roots.open({"code": "code"}, base=place)
    for _before_and_after in range(2):
        assert roots.locate("code/../main.py", reader=reader).relative == "main.py"
        (place / "main.py").write_text("another's")


@pytest.mark.parametrize(
    ("path", "root", "code"),
    [
        ("", None, "PATH_EMPTY"),
        (" \t\n", "docs", "PATH_EMPTY"),
        ("../secret.txt", "docs", "PATH_OUT_OF_ROOT"),
        ("../nothing-there", "docs", "PATH_OUT_OF_ROOT"),
        ("../docs/guide.md", "docs", "PATH_OUT_OF_ROOT"),
        ("../code2/near.txt", "code", "PATH_OUT_OF_ROOT"),
        ("docs/../code/main.py", None, "PATH_OUT_OF_ROOT"),
        ("/etc/passwd", None, "PATH_OUT_OF_ROOT"),
        ("both.md", None, "PATH_AMBIGUOUS"),
        ("docs/inner.md", None, "FILE_NOT_FOUND"),
        ("missing.md", None, "FILE_NOT_FOUND"),
        ("guide.md/more", "docs", "FILE_NOT_FOUND"),
        (".hidden/x.md", "docs", "FILE_NOT_FOUND"),
        ("out.log", "docs", "FILE_NOT_FOUND"),
        ("guide.md\0", "docs", "FILE_NOT_FOUND"),
        ("\ud800", "docs", "FILE_NOT_FOUND"),
        ("x" * 300, "docs", "FILE_NOT_FOUND"),
        ("x/" * 4000, "docs", "FILE_NOT_FOUND"),
        ("~/guide.md", "docs", "FILE_NOT_FOUND"),
    ],
)
def test_a_path_is_refused_with_its_code(
    roots: Roots, path: str, root: str | None, code: str
) -> None:
    assert code_of(roots, path, root=root) == code


def test_an_absolute_path_is_out_of_root_for_retrieval_even_inside(
    roots: Roots, place: Path
) -> None:
    assert code_of(roots, str(place / "docs/guide.md")) == "PATH_OUT_OF_ROOT"


def test_an_ambiguous_path_lists_the_paths_that_are_not(roots: Roots) -> None:
    with pytest.raises(PathError) as caught:
        roots.locate("both.md")
    assert caught.value.candidates == ("docs/both.md", "code/both.md")
    for candidate in caught.value.candidates:
        assert roots.locate(candidate).relative == "both.md"


def test_no_retrieval_error_shows_where_a_root_lies(roots: Roots, place: Path) -> None:
    for path in ("", "missing", "../x", "both.md", ".hidden/x.md"):
        with pytest.raises(PathError) as caught:
            roots.locate(path)
        assert str(place) not in f"{caught.value.message} {caught.value.hint} {caught.value.data}"


def test_links_are_followed_while_they_stay_inside(roots: Roots, place: Path) -> None:
    docs = place / "docs"
    (docs / "alias.md").symlink_to("guide.md")
    (docs / "folder").symlink_to(".")
    assert roots.locate("alias.md", root="docs").relative == "guide.md"
    assert roots.locate("folder/folder/guide.md", root="docs").relative == "guide.md"


@pytest.mark.parametrize(
    ("target", "path", "code"),
    [
        ("../secret.txt", "link", "PATH_OUT_OF_ROOT"),
        ("../nothing-there", "link", "PATH_OUT_OF_ROOT"),
        ("..", "link/secret.txt", "PATH_OUT_OF_ROOT"),
        ("../code/main.py", "link", "PATH_OUT_OF_ROOT"),
        ("../code2", "link/near.txt", "PATH_OUT_OF_ROOT"),
        ("/etc", "link/passwd", "PATH_OUT_OF_ROOT"),
        ("guide.md.gone", "link", "FILE_NOT_FOUND"),
        ("link", "link", "FILE_NOT_FOUND"),
        (".hidden/x.md", "link", "FILE_NOT_FOUND"),
        ("out.log", "link", "FILE_NOT_FOUND"),
    ],
)
def test_links_cannot_lead_out_or_around_the_rules(
    roots: Roots, place: Path, target: str, path: str, code: str
) -> None:
    (place / "docs/link").symlink_to(target)
    assert code_of(roots, path, root="docs") == code


def test_a_link_to_a_directory_whose_name_starts_like_the_roots_leads_out(
    roots: Roots, place: Path
) -> None:
    (place / "code/link").symlink_to("../code2")
    for reader in (False, True):
        assert code_of(roots, "link/near.txt", root="code", reader=reader) == "PATH_OUT_OF_ROOT"


def test_hidden_and_ignored_paths_open_up_by_the_setting(place: Path) -> None:
    roots = Roots.open({"docs": "docs"}, base=place, allow_hidden=True)
    assert roots.locate(".hidden/x.md").relative == ".hidden/x.md"
    assert roots.locate("out.log").relative == "out.log"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("own.md", "here/own.md"),
        ("both.md", "here/both.md"),
        ("docs/both.md", "docs/both.md"),
        ("guide.md", "docs/guide.md"),
        ("more.md", "extra/more.md"),
        (".dot.md", "extra/.dot.md"),
        ("../code/main.py", "code/main.py"),
    ],
)
def test_the_reader_finds_relative_paths(roots: Roots, place: Path, path: str, found: str) -> None:
    assert roots.locate(path, reader=True).path == place / found


def test_the_reader_takes_absolute_paths_inside_only(roots: Roots, place: Path) -> None:
    for inside in ("docs/guide.md", "extra/more.md", "here/own.md", "here/../code/main.py"):
        assert roots.locate(str(place / inside), reader=True).path == (place / inside).resolve()
    for outside in ("secret.txt", "nothing-there", "code2/near.txt", "here/../secret.txt"):
        assert code_of(roots, str(place / outside), reader=True) == "PATH_OUT_OF_ROOT"
    assert code_of(roots, str(place / "docs/out.log"), reader=True) == "FILE_NOT_FOUND"
    assert code_of(roots, str(place / "docs/.hidden/x.md"), reader=True) == "FILE_NOT_FOUND"


def test_the_reader_without_a_working_directory_has_to_be_told_which(place: Path) -> None:
    roots = Roots.open({"docs": "docs", "code": "code"}, base=place)
    assert code_of(roots, "both.md", reader=True) == "PATH_AMBIGUOUS"
    assert code_of(roots, "own.md", reader=True) == "FILE_NOT_FOUND"


def test_a_working_directory_inside_a_root_keeps_the_roots_rules(place: Path) -> None:
    roots = Roots.open({"docs": "docs"}, base=place, working_directory=place / "docs/.hidden")
    assert code_of(roots, "x.md", reader=True) == "FILE_NOT_FOUND"


def test_home_and_the_file_systems_top_are_no_working_directory(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(place / "here"))
    for refused in (Path("/"), place / "here", place / "here/../here", place / "gone"):
        roots = Roots.open({}, base=place, working_directory=refused)
        assert roots.working_directory is None
        assert code_of(roots, str(place / "here/own.md"), reader=True) == "PATH_OUT_OF_ROOT"


@settings(max_examples=examples(60), deadline=None)
@given(
    parts=st.lists(
        st.sampled_from(["..", ".", "", "in", "out", "loop", "up", "f", "root2", "root", "~"]),
        min_size=1,
        max_size=7,
    ),
    lead=st.sampled_from(["", "/", "main/"]),
    reader=st.booleans(),
)
def test_whatever_is_located_lies_in_the_root(parts: list[str], lead: str, *, reader: bool) -> None:
    with TemporaryDirectory() as directory:
        top = Path(os.path.realpath(directory))
        for name in ("root/in/f", "root/f", "root2/f", "f"):
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(name)
        for name, target in (("out", "../root2"), ("loop", "loop"), ("up", ".."), ("in/up", "..")):
            (top / "root" / name).symlink_to(target)
        roots = Roots.open({"main": top / "root"}, base=top)
        try:
            located = roots.locate(lead + "/".join(parts), reader=reader)
        except PathError:
            return
        assert located.path == located.path.resolve()
        assert located.path.is_relative_to(top / "root")


@contextmanager
def unprivileged() -> Generator[None]:
    """The block without the powers of root, which reads everything."""
    if os.geteuid() != 0:
        yield
        return
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # The project may lie where only root may enter, so ripgrep is started from elsewhere,
        # and what the block imports has to be imported before it.
        entered = Path(shutil.copy(ripgrep.ripgrep_path(), folder))
        entered.parent.chmod(0o755)
        patch.setattr(ripgrep, "ripgrep_path", lambda: str(entered))
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)


def test_what_may_not_be_read_is_unreadable() -> None:
    with TemporaryDirectory() as directory:
        top = Path(os.path.realpath(directory))
        for name in ("root/shut/f", "root/f", "root/open"):
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text("")
        for name, mode in (("", 0o755), ("root", 0o755), ("root/shut", 0o000), ("root/f", 0o000)):
            (top / name).chmod(mode)
        with unprivileged():
            roots = Roots.open({"code": top / "root"}, base=top)
            assert code_of(roots, "shut/f") == "FILE_UNREADABLE"
            with pytest.raises(PathError) as caught:
                roots.open_regular(roots.locate("f"))
            assert caught.value.code == "FILE_UNREADABLE"
            with pytest.raises(RootError) as refused:
                Roots.open({"code": top / "root/shut"}, base=top)
            assert refused.value.reason == "ROOT_NOT_READABLE"
        (top / "root/shut").chmod(0o755)
