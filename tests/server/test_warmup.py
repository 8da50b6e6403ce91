"""What is loaded in the background comes in an order that lets calls go first."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING

from rolltop.core.dispatch import ToolSelection
from rolltop.server.app import warm_up
from rolltop.toolsets import TOOLSETS
from tests.desks import make_desk
from tests.forks import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from rolltop.core.context import AppContext
    from rolltop.core.db import Database


def prepared(desk: AppContext) -> list[bool]:
    """Return, for each tool, whether its parameters are ready to be checked."""
    return ["schema" in vars(offer.parameters) for offer in desk.registry.all_tools]


def test_the_store_comes_first_and_running_calls_before_what_only_others_need(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk(database, selection=ToolSelection())  # a registry of its own
    waits = threading.Event()
    quiet = desk.idle.wait

    def wait(_seconds: float) -> bool:
        waits.set()
        return quiet(PATIENCE)

    monkeypatch.setattr(desk.idle, "wait", wait)
    warming = threading.Thread(target=warm_up, args=(desk, lambda: None), daemon=True)
    with desk.track_call():
        with desk.track_call():
            warming.start()
            assert waits.wait(PATIENCE)
            assert database.is_open()
        assert not any(prepared(desk))
    warming.join(PATIENCE)
    assert all(prepared(desk))


def test_a_call_that_does_not_end_keeps_nothing_from_being_loaded(database: Database) -> None:
    desk = make_desk(database, selection=ToolSelection())
    with desk.track_call():
        warm_up(desk, lambda _code: None)
        assert all(prepared(desk))


FIRST_READS = """
import sys
from rolltop.app import build_context
from rolltop.core.settings import CORE_SETTINGS, Settings
from rolltop.server.app import warm_up
from rolltop.toolsets import TOOLSETS

declared = [*CORE_SETTINGS, *(s for toolset in TOOLSETS for s in toolset.settings)]
desk = build_context(Settings.defaults(declared).replace({"database_url": sys.argv[1]}))
warm_up(desk, lambda _code: None)
print(*(name for name in sys.modules if name.startswith("rolltop.toolsets.")))
"""


def test_every_service_is_loaded_before_its_first_call(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", FIRST_READS, f"sqlite:///{tmp_path}/desk.db"],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
    )
    loaded = set(run.stdout.split())
    services = [f"rolltop.toolsets.{toolset.name}.service" for toolset in TOOLSETS]
    assert [name for name in services if name not in loaded] == []
