"""A later version of the program: today's revisions and what a test adds to them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from rolltop.core.db import migrator, revisions

_PACKAGE: Final = Path(migrator.__file__).parents[2]
_branches: Final = revisions.branches
_REVISION: Final = """
from alembic import op
import sqlalchemy as sa
revision = "{revision}"
down_revision = {down!r}
branch_labels = {labels!r}
depends_on = None

def upgrade():
    {body}
"""


class LaterProgram:
    """A later version of the program: today's branches and what a test adds to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for branch in revisions.branches():
            relative = branch.folder.relative_to(_PACKAGE)
            shutil.copytree(branch.folder, folder / relative)

    def add(self, owner: str, revision: str, body: str, down: str | None = None) -> None:
        """Add a revision; without `down` it is the first of a toolset's new branch."""
        place = self.folder / "toolsets" / owner / "migrations"
        if owner == "core":
            place = self.folder / "core" / "db" / "migrations"
        place.mkdir(parents=True, exist_ok=True)
        (place / "__init__.py").write_text(f'HEAD = "{revision}"\n')
        labels = None if down else (owner,)
        source = _REVISION.format(revision=revision, down=down, labels=labels, body=body)
        (place / f"{revision}.py").write_text(source)

    @property
    def branches(self) -> tuple[revisions.MigrationBranch, ...]:
        return _branches(self.folder)
