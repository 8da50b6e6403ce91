"""Applications inside the test's own process, with the test toolsets besides the product's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rolltop.core.settings import CORE_SETTINGS, Settings, load
from rolltop.server import app
from rolltop.toolsets import TOOLSETS
from tests.core.example_toolset import EXAMPLE
from tests.limits import SETTINGS
from tests.server.probe_toolset import PROBE

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.server.app import ServerApp


def make_app(
    folder: Path, started_in: Path | None = None, /, *, http: bool = False, **changed: Any
) -> ServerApp:
    """Return an application on a store in the folder; `http__auth` stands for http.auth.

    It has the settings of the project that it is `started_in`.
    """
    toolsets = (*TOOLSETS, EXAMPLE, PROBE)
    declared = (*CORE_SETTINGS, *(s for toolset in toolsets for s in toolset.settings))
    changes = {key.replace("__", "."): value for key, value in changed.items()}
    given = {"data_dir": folder / "data", **SETTINGS, **changes}
    settings = Settings.defaults(declared)
    if started_in is not None:
        settings = load(
            declared, environment={}, working_directory=started_in, user_directory=folder / "user"
        )
    settings = settings.replace(given)
    return app.build_server_app(settings, http=http, toolsets=toolsets)
