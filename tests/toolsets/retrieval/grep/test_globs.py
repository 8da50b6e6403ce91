from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core.errors import InvalidArgument
from rolltop.workspace.globs import FileGlob, glob_below
from tests.campaign import examples

if TYPE_CHECKING:
    from pathlib import Path

_GIT = shutil.which("git") or "git"
_PATHS = (
    "a.py", "b.txt", "src/a.py", "src/deep/b.py", "src/deep/a.txt", "tests/src/a.py", "[x].py",
    "#a", "!a", "a b", "a ", "é.py", "src/{a}", "ab/ba/ab.c", "ab/ba.c",
)  # fmt: skip
_PIECES = (
    "*", "**", "/", "?", "a", "b", "src", ".py", "[ab]", "[!a]", "[[:alpha:]]", "\\*", "#", "!",
    " ", "é", "deep", "[a-c]", "txt", "/**/", "**/", "/**", "\\ ",
)  # fmt: skip


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("globs")
    subprocess.run([_GIT, "init", "-q", "."], cwd=root, check=True)
    for path in _PATHS:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"")
    return root


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(glob=st.lists(st.sampled_from(_PIECES), min_size=1, max_size=5).map("".join))
def test_a_glob_means_what_it_means_in_a_gitignore_file(repository: Path, glob: str) -> None:
    positive = glob.removeprefix("!")
    if not positive.strip("/ "):
        return
    # git takes a leading # and a leading ! of the line as its own signs.
    line = f"\\{positive}" if positive.startswith(("#", "!")) else positive
    (repository / ".git" / "info" / "exclude").write_bytes(os.fsencode(line) + b"\n")
    asked = "\0".join(_PATHS).encode()
    done = subprocess.run(
        [_GIT, "check-ignore", "--no-index", "-z", "--stdin"],
        cwd=repository,
        input=asked,
        capture_output=True,
        check=False,
    )
    matched = set(done.stdout.decode().split("\0")) - {""}
    expected = set(_PATHS) - matched if glob.startswith("!") else matched
    assert {path for path in _PATHS if FileGlob(glob).matches(path)} == expected


@pytest.mark.parametrize(
    ("glob", "chosen"),
    [
        ("*.{py,txt}", {"a.py", "b.txt", "src/a.py", "src/deep/b.py", "src/deep/a.txt"}),
        ("src/{a,deep/{b,c}}.py", {"src/a.py", "src/deep/b.py"}),
        ("src/{,deep/}a.*", {"src/a.py", "src/deep/a.txt"}),
        ("!{*.py,src/}", {"b.txt", "#a", "!a", "a b", "a ", "ab/ba/ab.c", "ab/ba.c"}),
        (r"src/\{a\}", {"src/{a}"}),
        ("src/[{]a[}]", {"src/{a}"}),
        ("*.py,*.txt", {"a.py", "b.txt", "src/a.py", "src/deep/b.py", "src/deep/a.txt"}),
        ("/a.py, src/deep/{a,b}.*,", {"a.py", "src/deep/b.py", "src/deep/a.txt"}),
        ("!*.py, src/", {"b.txt", "#a", "!a", "a b", "a ", "ab/ba/ab.c", "ab/ba.c"}),
    ],
)
def test_braces_stand_for_either(glob: str, chosen: set[str]) -> None:
    unusual = {"tests/src/a.py", "[x].py", "é.py"}
    found = {path for path in _PATHS if FileGlob(glob).matches(path)}
    assert found - unusual == chosen - unusual


def test_a_name_may_hold_commas() -> None:
    names = ("a, b.txt", "a", "b.txt", "c.txt")
    assert [name for name in names if FileGlob("a, b.txt").matches(name)] == list(names[:3])
    assert [name for name in names if FileGlob(r"a\, b.txt").matches(name)] == ["a, b.txt"]


@pytest.mark.parametrize(
    ("glob", "chosen"),
    [
        ("*.py, !src/", {"a.py"}),
        ("*.py,!src/deep", {"a.py", "src/a.py"}),
        ("*.py, !src/deep/, *.txt, !b.*", {"a.py", "src/a.py"}),
        ("*.py, !{src,tests}/, [x].py", {"a.py"}),
        ("!*.py, !src/", {"b.txt", "#a", "!a", "a b", "a ", "ab/ba/ab.c", "ab/ba.c"}),
        ("!*.py,!src/", {"b.txt", "#a", "!a", "a b", "a ", "ab/ba/ab.c", "ab/ba.c"}),
        ("a*, \\!a, !*.py", {"!a", "a b", "a ", "src/deep/a.txt", "ab/ba/ab.c", "ab/ba.c"}),
    ],
)
def test_what_starts_with_an_exclamation_mark_in_a_list_is_taken_away(
    glob: str, chosen: set[str]
) -> None:
    unusual = {"tests/src/a.py", "[x].py", "é.py"}
    found = {path for path in _PATHS if FileGlob(glob).matches(path)}
    assert found - unusual == chosen - unusual


@pytest.mark.parametrize(
    ("glob", "chosen"),
    [
        ("*,v", ["RCS/a.c,v"]),
        ("*.c,v", ["RCS/a.c,v"]),
        ("RCS/*,v", ["RCS/a.c,v"]),
        ("*.c,*", ["RCS/a.c,v"]),
        ("*,", []),
        ("!*,v", ["a.c", "v", "b.à"]),
        ("*.c,*.à", ["a.c", "b.à"]),
        ("*.à, v", ["v", "b.à"]),
        ("*,v, b*", ["RCS/a.c,v", "b.à"]),
        ("a.c,./v,", ["a.c", "v"]),
    ],
)
def test_a_comma_of_a_name_separates_nothing(glob: str, chosen: list[str]) -> None:
    names = ["RCS/a.c,v", "a.c", "v", "b.à"]
    assert [name for name in names if FileGlob(glob).matches(name)] == chosen


@pytest.mark.parametrize(
    ("glob", "chosen"),
    [
        ("*.py, !deep/", ["src/a.py"]),
        ("!*.txt, !deep/", ["src/a.py", "tests/src/a.py", "src/{a}"]),
        ("*.py, *.txt, !a.*", ["src/deep/b.py"]),
    ],
)
def test_a_list_with_exceptions_is_matched_below_a_path(glob: str, chosen: list[str]) -> None:
    below = FileGlob(glob_below("src", glob))
    assert [path for path in _PATHS if below.matches(path)] == chosen


@pytest.mark.parametrize(
    "glob",
    [
        "",
        " ",
        "/",
        "!",
        "a[b",
        "a{b",
        "a}b",
        "a\\",
        "a\nb",
        "a, !",
        "{}",
        "{,}",
        "{a,b}" * 12,
        "{a,b}" * 6 + "x" * 3000,
        "x" * 5000,
        "*.py, !" + "x" * 5000,
        "\ud800",
    ],
)
def test_a_malformed_glob_is_refused(glob: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        FileGlob(glob)
    assert refused.value.code == "FILE_GLOB_INVALID"
    assert refused.value.hint
