"""The files chosen are the ones git itself chooses, hidden ones and links left out."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings

from rolltop.workspace import Roots
from tests.campaign import examples
from tests.workspace.trees import (
    Plan,
    build,
    chosen_by_git,
    git,
    ignored_by_git,
    plans,
)


def _chosen(root: Path) -> list[str]:
    roots = Roots.open({"code": root}, base=root)
    return [entry.relative for entry in roots.walk(roots.named[0])]


@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plans)
def test_walk_and_explicit_check_choose_what_git_chooses(plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = build(plan, Path(directory))
        # A root that is ignored is read all the same, see below. Without `--no-index` git calls
        # none ignored that has a tracked file in it.
        assume(plan.shape != "part" or not git(root, "check-ignore", "--no-index", "."))
        assume(all(not part.startswith(".") for part in root.relative_to(directory).parts))

        walked = _chosen(root)

        assert set(walked) == chosen_by_git(root)
        assert walked == sorted(walked, key=lambda relative: relative.split("/"))
        roots = Roots.open({"code": root}, base=root)
        for relative in _visible_files(root):
            assert roots.is_included(roots.named[0], relative) == (relative in walked)


@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plans.filter(lambda plan: plan.shape == "whole"))
def test_explicit_check_agrees_with_check_ignore(plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = build(plan, Path(directory))
        roots = Roots.open({"code": root}, base=root)
        names = _visible_files(root)

        ignored = ignored_by_git(root, names)

        for name in names:
            assert roots.is_included(roots.named[0], name) == (name not in ignored), name


def _visible_files(root: Path) -> list[str]:
    found = [
        str(Path(folder, name).relative_to(root))
        for folder, _, names in os.walk(root)
        for name in names
    ]
    return [name for name in found if not any(p.startswith(".") for p in Path(name).parts)]


def _write(directory: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return directory


def test_gitignore_counts_where_there_is_no_repository(tmp_path: Path) -> None:
    root = _write(
        tmp_path, {".gitignore": "*.log\n", "a.log": "", "b/c.log": "", "b/d.txt": "", "e": ""}
    )
    assert _chosen(root) == ["b/d.txt", "e"]


def test_own_ignore_files_win_over_git_and_over_tracking(tmp_path: Path) -> None:
    root = _write(
        tmp_path,
        {
            ".gitignore": "generated/\n*.min.js\n",
            ".ignore": "vendor/\n!generated/\n",
            "generated/api.md": "",
            "vendor/lib.c": "",
            "web/app.min.js": "",
            "web/.ignore": "!app.min.js\nsecret.txt\n",
            "web/secret.txt": "",
        },
    )
    git(root, "init", "-q")
    git(root, "add", "-f", "vendor/lib.c")
    assert _chosen(root) == ["generated/api.md", "web/app.min.js"]


def test_own_ignore_files_above_the_root_do_not_count(tmp_path: Path) -> None:
    _write(tmp_path, {".ignore": "*\n", "root/a": ""})
    assert _chosen(tmp_path / "root") == ["a"]


def test_a_root_that_the_repository_around_it_ignores_is_still_read(tmp_path: Path) -> None:
    _write(tmp_path, {".gitignore": "site/\n*.tmp\n", "site/a.md": "", "site/b.tmp": ""})
    git(tmp_path, "init", "-q")
    assert _chosen(tmp_path / "site") == ["a.md"]
    git(tmp_path, "add", "-f", "site/b.tmp")
    assert _chosen(tmp_path / "site") == ["a.md", "b.tmp"]


def test_a_change_of_rules_is_seen_at_once(tmp_path: Path) -> None:
    root = _write(tmp_path, {"a.txt": "", "b.txt": ""})
    git(root, "init", "-q")
    roots = Roots.open({"code": root}, base=root)
    code = roots.named[0]
    assert roots.is_included(code, "a.txt")

    (root / ".gitignore").write_text("a.txt\n")
    assert not roots.is_included(code, "a.txt")
    git(root, "add", "-f", "a.txt")
    assert roots.is_included(code, "a.txt")
    git(root, "rm", "-q", "--cached", "a.txt")
    assert [entry.relative for entry in roots.walk(code)] == ["b.txt"]


def test_a_damaged_index_leaves_the_ignore_rules_standing(tmp_path: Path) -> None:
    root = _write(tmp_path, {".gitignore": "a\n", "a": "", "b": ""})
    git(root, "init", "-q")
    git(root, "add", "-f", "a")
    index = root / ".git/index"
    whole = index.read_bytes()
    for damaged in (b"", whole[:20], whole[:-30], b"DIRC" + b"\xff" * 40, whole[:8] + b"\x7f" * 9):
        index.unlink()
        index.write_bytes(damaged)
        assert "b" in _chosen(root)


def test_an_ignore_file_that_is_a_link_or_a_fifo_is_no_ignore_file(tmp_path: Path) -> None:
    root = _write(tmp_path / "root", {"a": "", "sub/b": ""})
    (tmp_path / "outside").write_text("a\n")
    (root / ".gitignore").symlink_to(tmp_path / "outside")
    os.mkfifo(root / "sub/.gitignore")
    os.mkfifo(root / "sub/.ignore")
    assert _chosen(root) == ["a", "sub/b"]


@pytest.mark.parametrize("place", ["", "nested/"])
@pytest.mark.parametrize("name", ["config", "index", "info/exclude", "commondir"])
@pytest.mark.parametrize("kind", ["fifo", "device", "directory", "huge"])
def test_what_git_keeps_may_be_anything(tmp_path: Path, place: str, name: str, kind: str) -> None:
    root = _write(tmp_path, {".gitignore": "a\n", "a": "", "b": "", "nested/c": ""})
    git(root / place, "init", "-q")
    kept = root / place / ".git" / name
    kept.parent.mkdir(exist_ok=True)
    kept.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(kept)
    elif kind == "device":
        kept.symlink_to("/dev/zero")
    elif kind == "directory":
        kept.mkdir()
    else:
        kept.touch()
        os.truncate(kept, 3 << 30)
    assert _chosen(root) == ["b", "nested/c"]


@pytest.mark.parametrize("text", ["gitdir: x\0y\n", "gitdir: \n", "gitdir: ../../..\n", "\0"])
def test_what_a_git_file_points_to_may_be_anything(tmp_path: Path, text: str) -> None:
    root = _write(tmp_path, {"a": "", "sub/b": ""})
    (root / "sub/.git").write_text(text)
    assert _chosen(root) == ["a", "sub/b"]
