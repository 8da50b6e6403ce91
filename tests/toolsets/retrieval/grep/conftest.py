"""The standard library as a tree to search, with files that are hard to read."""

from __future__ import annotations

import os
import shutil
import sysconfig
from pathlib import Path

import pytest

from tests.toolsets.retrieval.grep.witness import trees_of
from tests.workspace.conftest import own_git_home

__all__ = ["own_git_home"]

_LEFT_OUT = shutil.ignore_patterns(
    "site-packages", "__pycache__", "test", "idlelib", "lib2to3", "*.so", "config-*"
)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library's sources, and files in every writing that a search has to cope with."""
    root = tmp_path_factory.mktemp("library") / "code"
    shutil.copytree(sysconfig.get_path("stdlib"), root, ignore=_LEFT_OUT, symlinks=False)
    odd = root / "odd"
    odd.mkdir()
    for name, content in odd_files().items():
        (odd / name).write_bytes(content)
    return Path(os.path.realpath(root))


def odd_files() -> dict[str, bytes]:
    """Return contents that are hard to read, by file name."""
    prose = (
        "def naïve(\u017ftrange, \u212a): # Größe Σίσυφος İstanbul\n"
        "\treturn self.import_path\r\nclass Ünder_Score:\n"
    )
    return {
        "utf8.txt": prose.encode(),
        "mark.txt": b"\xef\xbb\xbf" + prose.encode(),
        "little.txt": b"\xff\xfe" + prose.encode("utf-16-le"),
        "big.txt": b"\xfe\xff" + prose.encode("utf-16-be") + b"\x00",
        "latin.txt": prose.translate({0x17F: "s", 0x212A: "K"}).encode("latin-1", "replace"),
        "cyrillic.txt": ("return self # " + "Привет, мир; это проверка.\n" * 20).encode("cp1251"),
        "late.bin": b"import os\n" * 2000 + b"\0import late\n",
        "early.bin": b"import early\0\n",
        "long.txt": b"x = [" + b"0, " * 40_000 + b"import, " + b"1, " * 40_000 + b"]\nimport os",
        "endings.txt": b"import a\rimport b\r\nimport c\n\r\n\r\r\nimport d",
        "torn.txt": b"import \xe2\x82 os\n\xff\xfe import\n\xf0\x9f import \xf0\x9f\x98\x80\n",
        "empty.txt": b"",
        "controls.txt": b"import \x1b[31m red \x07\x0b\x0c\x85\xc2\x85\xe2\x80\xa8 os\n",
    }


@pytest.fixture(scope="session")
def library_files(library: Path) -> list[str]:
    """The paths that a search goes over, in its order."""
    (tree,) = trees_of(library)
    return [entry.relative for entry in tree.roots.walk(tree.root)]


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """An empty folder to be filled and searched."""
    folder = Path(os.path.realpath(tmp_path)) / "code"
    folder.mkdir()
    return folder


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every file count as one that was not changed lately."""
    monkeypatch.setattr("rolltop.workspace.file_stat.RACY_NS", 0)
