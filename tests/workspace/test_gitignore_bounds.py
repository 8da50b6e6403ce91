"""An ignore file that somebody made up does not hold the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rolltop.workspace.walk import Walk

if TYPE_CHECKING:
    from pathlib import Path


def listed(root: Path) -> list[str]:
    return [item.relative for item in Walk(str(root), {}).list_files()]


@pytest.mark.parametrize("name", [".gitignore", ".ignore"])
@pytest.mark.parametrize("pattern", ["*a{:05}", "/x*a{:05}", "a{:06}"])
def test_rules_without_end_do_not_count(tmp_path: Path, name: str, pattern: str) -> None:
    (tmp_path / ".git").mkdir()
    rules = [pattern.format(number) for number in range(150_000)]
    (tmp_path / name).write_text("\n".join(["secrets", *rules]))
    last = rules[-1].lstrip("/").replace("*", "x")
    for file in ("secrets", last, "b" * 255):
        (tmp_path / file).touch()
    assert listed(tmp_path) == sorted([last, "b" * 255])


def test_an_ignore_file_without_end_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("a\n" + "#" * (5 * 1024 * 1024))
    (tmp_path / "a").touch()
    assert listed(tmp_path) == ["a"]


def test_an_ignore_file_of_many_names_and_patterns_is_kept_to(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    names = "".join(f"a{number:05}\n*.c{number:05}\n" for number in range(25_000))
    patterns = "".join(f"*b{number:04}\n" for number in range(1_500))
    (tmp_path / ".gitignore").write_text(names + patterns + "!a00009\n")
    for file in ("a00007", "a00009", "x.c24999", "xb0007", "c"):
        (tmp_path / file).touch()
    assert listed(tmp_path) == ["a00009", "c"]
