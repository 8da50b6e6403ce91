"""An ignore file that somebody made up does not hold the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rolltop.workspace.walk import Walk

if TYPE_CHECKING:
    from pathlib import Path


def listed(root: Path) -> list[str]:
    return [item.relative for item in Walk(str(root), {}).list_files()]


@pytest.mark.parametrize(
    "content",
    [
        "".join(f"*a{number:05}\n" for number in range(50_000)),
        "".join(f"/x*a{number:05}\n" for number in range(50_000)),
        "".join(f"a{number:06}\n" for number in range(200_000)),
        "b" * 255 + "\n" + "#" * (5 * 1024 * 1024),
    ],
    ids=["patterns", "paths", "names", "size"],
)
@pytest.mark.parametrize("name", [".gitignore", ".ignore"])
def test_an_ignore_file_without_end_is_passed_over(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / name).write_text(f"{'b' * 255}\n{content}")
    (tmp_path / ("b" * 255)).touch()
    assert "b" * 255 in listed(tmp_path)


def test_an_ignore_file_of_many_names_and_patterns_is_kept_to(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    names = "".join(f"a{number:05}\n" for number in range(50_000))
    patterns = "".join(f"*b{number:04}\n" for number in range(1_500))
    (tmp_path / ".gitignore").write_text(names + patterns)
    for file in ("a00007", "xb0007", "c"):
        (tmp_path / file).touch()
    assert listed(tmp_path) == ["c"]
