"""Alembic, run on a connection and a transaction of ours. Imported only when there is work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from rolltop.core.db.revisions import MigrationBranch

_ENVIRONMENT: Final = Path(__file__).with_name("environment")


def alembic_config(connection: Connection, known: Sequence[MigrationBranch]) -> Config:
    """Return Alembic's configuration for all branches on `connection`."""
    config = Config()
    config.set_main_option("script_location", _escape_percent(_ENVIRONMENT))
    config.set_main_option("path_separator", "newline")
    config.set_main_option(
        "version_locations", "\n".join(_escape_percent(branch.folder) for branch in known)
    )
    config.attributes["connection"] = connection
    return config


def upgrade(
    connection: Connection, known: Sequence[MigrationBranch], branch: MigrationBranch, revision: str
) -> None:
    """Bring one of the known branches to a revision of its own, in the open transaction.

    One thread of a process at a time: Alembic's context is global.
    """
    command.upgrade(alembic_config(connection, known), f"{branch.name}@{revision}")


def _escape_percent(path: Path) -> str:
    return str(path).replace("%", "%%")
