"""The collector of garbage rests while a server loads what stays, and never for good."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from rolltop import cli
from rolltop.core import gc_control
from rolltop.server.app import warm_up
from tests.desks import make_desk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.db import Database


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    gc.unfreeze()  # other tests in this process may have started servers
    yield
    gc.unfreeze()
    gc.enable()


def test_it_runs_once_a_server_has_loaded_what_it_needs_and_passes_that_by(
    database: Database,
) -> None:
    desk = make_desk(database)
    gc_control.begin_startup()
    assert not gc.isenabled()
    warm_up(desk, lambda _code: None)
    assert gc.isenabled()
    assert gc.get_freeze_count()


def test_it_runs_though_the_start_failed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("no such thing")

    monkeypatch.setattr(database, "open", broken)
    gc_control.begin_startup()
    with pytest.raises(RuntimeError):
        warm_up(make_desk(database), lambda _code: None)
    assert gc.isenabled()


def test_it_runs_though_a_server_did_not_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["serve", "--socket", "x"]) == 2  # an exit code
    assert "--http" in capsys.readouterr().err
    assert gc.isenabled()


def test_what_was_not_begun_is_not_ended() -> None:
    gc_control.end_startup()
    assert gc.isenabled()
    assert not gc.get_freeze_count()
