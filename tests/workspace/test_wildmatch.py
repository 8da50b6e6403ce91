"""Hostile patterns, and the files of git that are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from rolltop.workspace.git_repository import GitConfig, parse_config
from rolltop.workspace.gitignore import parse_rules
from tests.workspace.trees import git

HOSTILE = [
    "a*" * 60 + "b",
    "*a" * 60 + "*b",
    "?*" * 60 + "b",
    "**/a*" * 40 + "/b",
    "**/*a" * 40 + "/**/b",
    "[a-z]*" * 60 + "[!a]",
    "x/" + "*a*/**/" * 30 + "b",
]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_a_hostile_pattern_ends(pattern: str) -> None:
    # With backtracking each of these would run for longer than the universe has existed.
    rules = parse_rules(pattern.encode())
    deep = "x/" + ("a" * 60 + "/") * 40
    for name in ("a" * 250, "a" * 249 + "c"):
        assert rules.for_directory(deep).ignores_file(name) in {None, True}
        assert rules.for_directory("").ignores_directory(name) in {None, True}


CONFIG = r"""
# a comment
[core] ignoreCase
	excludesFile = "~/my excludes" ; after the value
[CORE]
	Editor = vi \
-e
[include "not.this"] path = nowhere
[user "Sub \"Q\" Name"]
	name = a  b	 # trailing space goes
	quoted = "a # b" c
	escaped = \\ \" \t
[empty]
	none =
"""


def test_config_is_read_as_git_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(CONFIG)
    listed = git(tmp_path, "config", "--file", str(path), "--list", "-z").decode()
    by_git = [
        (key, value if separator else None)
        for key, separator, value in (
            entry.partition("\n") for entry in listed.split("\0") if entry
        )
    ]
    ours = list(parse_config(CONFIG))
    assert [key for key, _ in ours] == [key for key, _ in by_git]
    plain = {"core.ignorecase", "core.excludesfile", "empty.none", 'user.Sub "Q" Name.quoted'}
    for key in plain:
        assert dict(ours)[key] == dict(by_git)[key]
    assert len(ours) == 8


def test_included_files_count_in_their_place(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(
        "[core]\nignorecase = false\n[include]\npath = sub/more\n[core]\nbare = no\n"
    )
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/more").write_text(
        "[core]\nignorecase = yes\nbare = yes\n[include]\npath = more\n"
    )
    settings = GitConfig([str(tmp_path / "config"), str(tmp_path / "missing")])
    assert settings.get_bool("core.ignorecase")
    assert not settings.get_bool("core.bare")
    assert settings.get("core.excludesfile") is None


def test_files_that_include_themselves_many_times_are_read_so_many_times_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.write_text("[include]\npath = config\n" * 3 + "[core]\nignorecase = yes\n")
    opened: list[str] = []

    def rules_in(path: str, limit: int) -> bytes:
        opened.append(path)
        assert len(opened) <= 1000
        return Path(path).read_bytes()[:limit]

    monkeypatch.setattr("rolltop.workspace.git_repository.read_rule_file", rules_in)
    assert GitConfig([str(config)]).get_bool("core.ignorecase")
    assert set(opened) == {str(config)}


def test_a_broken_config_keeps_what_came_before(tmp_path: Path) -> None:
    for broken in (
        "[core\n",
        '[core]\nx = "open\n',
        "[core]\n= 1\n",
        "[core]\nx = \\q\n",
        "x = 1\n",
    ):
        (tmp_path / "config").write_text("[core]\nignorecase = 1\n" + broken)
        assert GitConfig([str(tmp_path / "config")]).get_bool("core.ignorecase")
