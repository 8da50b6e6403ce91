"""What a start loads: nothing heavy before the first answer, and no SDK for the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
HEAVY = ["sqlalchemy", "sqlcipher3", "sqlite3", "psycopg", "alembic", "splintr", "markdown_it"]

LISTING = """
import json, sys
from pathlib import Path
from rolltop.core.settings import CORE_SETTINGS, Settings
import rolltop.app
from rolltop.toolsets import TOOLSETS
declared = [*CORE_SETTINGS, *(s for toolset in TOOLSETS for s in toolset.settings)]
settings = Settings.defaults(declared).replace({"data_dir": Path("data")})
"""
SERVER = """
import rolltop.server.app, rolltop.server.stdio
from rolltop.core.tool_schema import published_output_schema
from rolltop.core.principal import Principal
app = rolltop.server.app.build_server_app(settings, http=False)
for offer in app.context.registry.list_tools(Principal.for_user("")):
    offer.parameters.listed_schema, published_output_schema(offer.toolset, offer.tool)
"""
DESK = "rolltop.app.build_context(settings)"
REPORT = "\nprint(json.dumps(sorted(sys.modules)))"


def loaded_by(program: str, folder: Path) -> set[str]:
    """Return the modules a fresh interpreter has loaded after the program."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    run = subprocess.run(
        [sys.executable, "-c", LISTING + program + REPORT],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=True,
    )
    return set(json.loads(run.stdout))


def test_no_heavy_library_is_loaded_before_the_first_answer(tmp_path: Path) -> None:
    loaded = loaded_by(SERVER, tmp_path)
    assert "mcp" in loaded
    assert not loaded.intersection(HEAVY)
    assert not (tmp_path / "data").exists()


def test_a_desk_is_made_without_the_sdk_and_the_web_stack(tmp_path: Path) -> None:
    loaded = loaded_by(DESK, tmp_path)
    assert "rolltop.core.context" in loaded
    assert not loaded.intersection([*HEAVY, "mcp", "mcp_types", "starlette"])
