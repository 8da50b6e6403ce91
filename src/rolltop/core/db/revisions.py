"""Which schema revisions this program knows, read from the folders they lie in.

Core and each toolset own a folder `migrations/` whose `__init__.py` says `HEAD = "<revision>"`
and which holds one file `<revision>.py` a revision. Each folder is an Alembic branch labelled
with its owner's name. The branches don't use Alembic's `depends_on`: core's runs first, and the
version table then holds exactly one row a branch, so that one comparison tells whether the store
is up to date and Alembic need not be loaded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

VERSION_TABLE: Final = "rolltop_versions"

_PACKAGE: Final = Path(__file__).resolve().parents[2]
_HEAD: Final = re.compile(r"""^HEAD(?::[^=]*)?\s*=\s*["'](\w+)["']\s*$""", re.MULTILINE)


@dataclass(frozen=True)
class MigrationBranch:
    """One owner's revisions: its name, its folder and its newest revision."""

    name: str
    folder: Path
    head: str

    @property
    def revisions(self) -> frozenset[str]:
        """Every revision of the branch."""
        return frozenset(file.stem for file in self.folder.glob("[!_.]*.py"))


def branches(package: Path = _PACKAGE) -> tuple[MigrationBranch, ...]:
    """Return core's branch and then each toolset's, by name. Imports no toolset."""
    owners = {"core": package / "core" / "db" / "migrations"}
    for init in sorted(package.glob("toolsets/*/migrations/__init__.py")):
        owners[init.parents[1].name] = init.parent
    return tuple(
        MigrationBranch(name, folder, _read_head(folder)) for name, folder in owners.items()
    )


def heads(known: tuple[MigrationBranch, ...]) -> frozenset[str]:
    """Return the version table's rows in an up-to-date store."""
    return frozenset(branch.head for branch in known)


def unknown_revisions(stored: frozenset[str], known: tuple[MigrationBranch, ...]) -> frozenset[str]:
    """Return the stored revisions that this program has never heard of."""
    return stored - frozenset[str]().union(*(branch.revisions for branch in known))


def _read_head(folder: Path) -> str:
    found = _HEAD.search((folder / "__init__.py").read_text(encoding="utf-8"))
    if found is None:
        raise LookupError(f'{folder}/__init__.py says no HEAD = "<revision>"')
    return found[1]
