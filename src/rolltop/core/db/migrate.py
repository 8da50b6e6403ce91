"""Alembic, run on a connection and a transaction of ours. Imported only when there is work."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from alembic import command
from alembic.config import Config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from rolltop.core.db.versions import Branch

_ENVIRONMENT: Final = Path(__file__).with_name("environment")
_one_at_a_time: Final = threading.Lock()  # Alembic's context is global to the process


def configuration(connection: Connection, known: Sequence[Branch]) -> Config:
    """Return Alembic's configuration for all branches on `connection`."""
    config = Config()
    config.set_main_option("script_location", _escaped(_ENVIRONMENT))
    config.set_main_option("path_separator", "newline")
    config.set_main_option(
        "version_locations", "\n".join(_escaped(branch.folder) for branch in known)
    )
    config.attributes["connection"] = connection
    return config


def upgrade(connection: Connection, known: Sequence[Branch], branch: Branch) -> None:
    """Bring one of the known branches to its head, in the open transaction."""
    config = configuration(connection, known)
    with _one_at_a_time:
        command.upgrade(config, f"{branch.name}@head")


def _escaped(path: Path) -> str:
    return str(path).replace("%", "%%")
