"""docs/adding-a-toolset.md works as it is written, and touches nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contracts.sources import ROOT, SOURCE
from tests.forks import PATIENCE

PAGE = (ROOT / "docs" / "adding-a-toolset.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```python (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

STORY = """
import asyncio, json, sys
from pathlib import Path
from rolltop.core import accounts
from rolltop.core.db import SYSTEM, Database
from rolltop.core.principal import Principal
from tests.desks import call_tool, make_desk

database = Database(f"sqlite:///{sys.argv[1]}/desk.db")
database.open()
users = [database.write_sync(SYSTEM, accounts.add_user, f"{n}@example.org") for n in "ab"]
me, them = (Principal.for_user(user.id) for user in users)
desk = make_desk(database)
for n in range(150):
    call_tool(desk, me, "add_bookmark", url=f"https://example.org/{n}")
first = call_tool(desk, me, "list_bookmarks").structured
rest = call_tool(desk, me, first["next"]["tool"], **first["next"]["arguments"])
print(json.dumps({
    "kept": len(first["bookmarks"]) + len(rest.structured["bookmarks"]),
    "theirs": len(call_tool(desk, them, "list_bookmarks").structured["bookmarks"]),
    "refused": call_tool(desk, me, "add_bookmark", url="nowhere").code,
    "taught": call_tool(desk, me, "add_bookmark", urls="x").structured["error"],
}))
database.close()
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the source tree with the page's toolset in it."""
    top = tmp_path_factory.mktemp("tree")
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(SOURCE, top / "src" / "rolltop", ignore=unwanted)
    (top / "tests").mkdir()
    for name in ("__init__.py", "desks.py", "limits.py"):
        shutil.copy(ROOT / "tests" / name, top / "tests" / name)
    shutil.copy(ROOT / "pyproject.toml", top / "pyproject.toml")
    folder = top / "src" / "rolltop" / "toolsets" / "bookmarks"
    for name, code in BLOCK.findall(PAGE):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(code, encoding="utf-8")
    _add_the_line(top / "src" / "rolltop" / "toolsets" / "__init__.py")
    return top


def _add_the_line(listing: Path) -> None:
    text = listing.read_text(encoding="utf-8")
    added = re.sub(r"^(TOOLSETS.*= \(.*?),?\)$", r"\1, BOOKMARKS)", text, flags=re.MULTILINE)
    assert added != text
    imported = "from rolltop.toolsets.bookmarks import TOOLSET as BOOKMARKS\n\nTOOLSETS"
    listing.write_text(added.replace("\nTOOLSETS", "\n" + imported, 1), encoding="utf-8")


def _run(tree: Path, *command: str) -> str:
    done = subprocess.run(
        command,
        cwd=tree,
        env={"PYTHONPATH": f"{tree / 'src'}:{tree}", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_new_toolset_works_and_is_held_to_the_promises(tree: Path, tmp_path: Path) -> None:
    printed = _run(tree, sys.executable, "-c", STORY, str(tmp_path))
    assert printed.splitlines()[-1] == (
        '{"kept": 150, "theirs": 0, "refused": "URL_INVALID", '
        '"taught": "Unknown argument \\"urls\\" for add_bookmark; did you mean url?"}'
    )


def test_the_new_toolset_keeps_the_import_rules(tree: Path) -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    assert "0 broken" in _run(tree, str(linter), "--no-cache")


def test_the_page_stays_within_an_hour_of_typing() -> None:
    lines = sum(len(code.splitlines()) for _, code in BLOCK.findall(PAGE))
    assert lines < 260
