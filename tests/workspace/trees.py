"""Random trees with ignore rules, and what git itself chooses from them."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

_NAMES = [
    *("a", "b", "ab", "abc", "a.c", "b.pyc", "foo", "foo.txt", "bar", "Foo", "A", "build", "a*"),
    *(" x", "x ", "é", "a b", "!a", "#a", "a\\b", "[a]", "~", "-", "a]", "^a", "z\n", ".hid"),
]
_NON_UTF8_NAME = os.fsdecode(b"caf\xe9")
_PIECES = [
    *("a", "b", "c", "*", "**", "***", "?", "/", "**/", "/**", "/*", "foo", ".txt", ".", "x"),
    *("[ab]", "[!a]", "[^b-d]", "[]a]", "[a-", "[a\\]]", "[--0]", "[z-a]", "[/]", "[A-Z]", "[F]"),
    *("[[:alpha:]]", "[[:upper:]x]", "[[:space:]]", "[[:bogus:]]", "[:a]", "\\", "\\*", "\\ "),
    *(" ", "!", "#", "é", "~", "\\/", "\t", "\r", "-", "F", "\x00", "build", "foo/"),
]

_names = st.sampled_from([*_NAMES, _NON_UTF8_NAME])
_glued = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=6).map("".join)
_component = st.sampled_from([*_NAMES, "*", "**", "?", "*.txt", "a*", "*b*", "[a-f]*"])


def _joined(lead: str, parts: list[str], tail: str) -> str:
    return lead + "/".join(parts) + tail


def _marked(mark: str, body: str) -> str:
    return mark + body


def _content(lines: list[str], end: str) -> bytes:
    return ("\n".join(lines) + end).encode("utf-8", "surrogateescape")


_plain = st.builds(
    _joined,
    st.sampled_from(["", "", "/"]),
    st.lists(_component, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", " ", "/ "]),
)
_pattern = st.builds(_marked, st.sampled_from(["", "", "", "!", "\ufeff"]), _glued | _plain)
rules = st.builds(
    _content,
    st.lists(_pattern, min_size=1, max_size=5),
    st.sampled_from(["\n", "", "\r\n"]),
)


@dataclass(frozen=True)
class Plan:
    """A tree to build: paths of files, and what surrounds them."""

    files: list[tuple[str, ...]]
    ignore_files: list[tuple[int, bytes]]  # number of a directory → content of its .gitignore
    exclude: bytes
    user_excludes: bytes
    tracked: list[bool]
    index: str
    ignore_case: bool
    shape: str
    nested: int


plans = st.builds(
    Plan,
    files=st.lists(
        st.lists(_names, min_size=1, max_size=4).map(tuple), min_size=3, max_size=25, unique=True
    ),
    ignore_files=st.lists(st.tuples(st.integers(0, 12), rules), min_size=1, max_size=4),
    exclude=st.just(b"") | rules,
    user_excludes=st.just(b"") | rules,
    tracked=st.lists(st.booleans(), min_size=25, max_size=25) | st.just([False] * 25),
    index=st.sampled_from(["2", "4", "sha256"]),
    ignore_case=st.sampled_from([False, False, False, True]),
    shape=st.sampled_from(["whole", "whole", "part", "worktree", "submodule", "nested"]),
    nested=st.integers(0, 12),
)


def git(directory: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    """What git prints; it may end with 1, which `check-ignore` does for finding nothing."""
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    allowed = ("-c", "protocol.file.allow=always")
    ran = subprocess.run(
        ["git", *identity, *allowed, "-C", directory, *arguments],  # noqa: S607 - git on the path
        input=stdin,
        capture_output=True,
        check=False,
    )
    assert ran.returncode in {0, 1}, ran.stderr
    return ran.stdout


def build(plan: Plan, directory: Path) -> Path:
    """The root to walk, in a fresh tree below the directory."""
    top = directory / "top"
    top.mkdir()
    start_repository(top, plan)
    if plan.shape == "worktree":
        git(top, "commit", "-q", "--allow-empty", "-m", "start")
        git(top, "worktree", "add", "-q", "--detach", "../linked")
        top = directory / "linked"
    directories = _fill(top, plan)
    (directory / "user-excludes").write_bytes(plan.user_excludes)
    chosen = directories[plan.nested % len(directories)]
    if plan.shape in {"nested", "submodule"} and chosen != top:
        start_repository(chosen, plan)
        (chosen / ".gitignore").write_bytes(plan.ignore_files[0][1])
        git(chosen, "commit", "-q", "--allow-empty", "-m", "start")
    if plan.shape == "submodule" and chosen != top:
        git(top, "--literal-pathspecs", "add", "-f", "--", str(chosen.relative_to(top)))
    _track(top, plan)
    return chosen if plan.shape == "part" else top


def start_repository(top: Path, plan: Plan) -> None:
    """A new repository in an existing directory, set up as the plan says."""
    sha = "sha256" if plan.index == "sha256" else "sha1"
    git(top, "init", "-q", "--template=", f"--object-format={sha}")
    with (top / ".git/config").open("a") as config:
        config.write(
            "[core]\n\texcludesFile = ../user-excludes\n"
            f"\tignoreCase = {str(plan.ignore_case).lower()}\n"
            f"[index]\n\tversion = {4 if plan.index == '4' else 2}\n"
        )
    (top / ".git/info").mkdir(exist_ok=True)
    (top / ".git/info/exclude").write_bytes(plan.exclude)


def _fill(top: Path, plan: Plan) -> list[Path]:
    """The directories of the tree, its files written and its ignore files in place."""
    directories = [top]
    for parts in plan.files:
        at = top
        for name in parts[:-1]:
            below = at / name
            if _is_free(below, plan):
                below.mkdir()
                directories.append(below)
            if not below.is_dir():
                break
            at = below
        if _is_free(at / parts[-1], plan):
            (at / parts[-1]).touch()
    for number, content in plan.ignore_files:
        (directories[number % len(directories)] / ".gitignore").write_bytes(content)
    return directories


def _is_free(path: Path, plan: Plan) -> bool:
    """Whether the name can be given: under ignorecase no two may differ by case alone."""
    if plan.ignore_case:
        return path.name.lower() not in {other.name.lower() for other in path.parent.iterdir()}
    return not path.exists()


def _track(top: Path, plan: Plan) -> None:
    files = [path for path in _files_below(top) if not _in_nested_repository(path, top)]
    tracked = [
        str(path.relative_to(top))
        for path, wanted in zip(sorted(files), plan.tracked * 4, strict=False)
        if wanted
    ]
    if tracked:
        git(top, "--literal-pathspecs", "add", "-f", "--", *tracked)
        git(top, "--literal-pathspecs", "rm", "-q", "--cached", "--", tracked[0])
        git(top, "--literal-pathspecs", "add", "-f", "-N", "--", tracked[-1])


def _in_nested_repository(path: Path, top: Path) -> bool:
    return any((parent / ".git").exists() for parent in path.parents if top in parent.parents)


def _files_below(top: Path) -> list[Path]:
    return [
        Path(folder, name)
        for folder, _, names in os.walk(top)
        for name in names
        if ".git" not in Path(folder, name).relative_to(top).parts
    ]


def chosen_by_git(root: Path) -> set[str]:
    """The files git chooses below the root, without hidden ones; nested repositories included."""
    chosen: set[str] = set()
    listed = git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    for raw in filter(None, listed.split(b"\0")):
        name = os.fsdecode(raw).rstrip("/")
        path = root / name
        if any(part.startswith(".") for part in Path(name).parts):
            continue
        if path.is_dir() and (path / ".git").exists():
            chosen |= {f"{name}/{inner}" for inner in chosen_by_git(path)}
        elif path.is_file() and not path.is_symlink():
            chosen.add(name)
    return chosen


def ignored_by_git(root: Path, names: list[str]) -> set[str]:
    """Those of the names that `git check-ignore` calls ignored and that are not tracked."""
    asked = b"\0".join(map(os.fsencode, names))
    # Without `--no-index` it takes a name like `[a]` for a pattern of tracked ones.
    ignored = git(root, "check-ignore", "--no-index", "-z", "--stdin", stdin=asked)
    tracked = git(root, "ls-files", "--cached", "-z")
    return set(map(os.fsdecode, set(ignored.split(b"\0")) - set(tracked.split(b"\0"))))
