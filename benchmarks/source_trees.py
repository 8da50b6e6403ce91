"""Trees of real sources to search: a large one that is fetched once, and Python's own library.

What is fetched stays in the cache directory. Nothing of it belongs to this repository.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from collections import Counter
from typing import TYPE_CHECKING, Final

from platformdirs import user_cache_path

if TYPE_CHECKING:
    from pathlib import Path

_PACKAGE: Final = "linux-source-6.1"
_LEFT_OUT: Final = ("drivers/gpu", "arch", ".gitignore")
"""Generated headers and machines: 55,000 files and 700 MB remain. The package's own rules tell git
to ignore all of it."""
_NOT_SOURCES: Final = shutil.ignore_patterns("site-packages", "__pycache__", "*.so", "*.pyc")
_NAME: Final = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{3,}")


def large_tree() -> Path | None:
    """Return Debian's kernel source without some folders, None where it cannot be had."""
    cache = user_cache_path("rolltop-benchmarks", ensure_exists=True)
    tree = cache / _PACKAGE
    getter, opener = shutil.which("apt-get"), shutil.which("dpkg-deb")
    if tree.exists() or getter is None or opener is None:
        return tree if tree.exists() else None
    unpacked = cache / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    subprocess.run([getter, "download", _PACKAGE], cwd=cache, check=True, capture_output=True)
    (package,) = cache.glob(f"{_PACKAGE}_*.deb")
    subprocess.run([opener, "-x", package, unpacked], check=True)
    archive = unpacked / "usr" / "src" / f"{_PACKAGE}.tar.xz"
    shutil.unpack_archive(archive, unpacked, filter="data")
    inner = next(path for path in unpacked.iterdir() if path.name.startswith("linux-source"))
    for name in _LEFT_OUT:
        if (inner / name).is_dir():
            shutil.rmtree(inner / name)
        else:
            (inner / name).unlink()
    inner.rename(tree)
    shutil.rmtree(unpacked)
    package.unlink()
    return tree


def python_library(folder: Path) -> Path:
    """Return a copy of CPython's library and headers, with its own tests where they are there."""
    copy = folder / "cpython"
    shutil.copytree(sysconfig.get_path("stdlib"), copy / "Lib", ignore=_NOT_SOURCES)
    shutil.copytree(sysconfig.get_path("include"), copy / "Include", ignore=_NOT_SOURCES)
    return copy


def first_lines(tree: Path, folder: Path, count: int) -> Path:
    """Return a copy of the tree's first text files, in order, with `count` lines or a few more."""
    for path in sorted(tree.rglob("*")):
        if count <= 0:
            break
        if path.is_file() and not path.is_symlink() and not path.name.startswith("."):
            data = path.read_bytes()
            if b"\0" not in data:
                copy = folder / path.relative_to(tree)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(data)
                count -= data.count(b"\n")
    return folder


def names_in(tree: Path) -> Counter[str]:
    """Return the names that occur in a tree's files, with how often."""
    found = Counter[str]()
    for path in tree.rglob("*"):
        if path.is_file():
            found.update(name.decode() for name in _NAME.findall(path.read_bytes()))
    return found
