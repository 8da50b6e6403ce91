"""The log: one line a call, in two forms, and nobody's text in any of them."""

from __future__ import annotations

import json
import logging
import os
import re
import select
import stat
import sys
import threading
import warnings
from typing import TYPE_CHECKING

import pytest

from rolltop.core import logging as logs
from rolltop.core.errors import InvalidConfig

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("logging_restored")

MARKER = "my-private-words"


def configured(file: Path | None = None, *, level: str = "info", form: str = "text") -> None:
    logs.configure(level=level, form=form, file=file)


def one_call(outcome: str = "error", code: str = "TITLE_REQUIRED") -> None:
    logs.call(
        tool="add_task", user="u1", duration_ms=12.345, outcome=outcome, code=code, request_id="7"
    )


def test_a_call_is_one_line_of_text(capsys: pytest.CaptureFixture[str]) -> None:
    configured()
    one_call()
    line = capsys.readouterr().err
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z info call pid=\d+ host=\S+ request_id=7"
        r" tool=add_task user_id=u1 duration_ms=12\.3 outcome=error code=TITLE_REQUIRED\n",
        line,
    )


def test_a_call_is_one_object_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    configured(form="json")
    one_call("ok", "")
    line = json.loads(capsys.readouterr().err)
    assert {name: line[name] for name in ("level", "message", "outcome", "duration_ms")} == {
        "level": "info",
        "message": "call",
        "outcome": "ok",
        "duration_ms": 12.3,
    }
    assert "code" not in line


@pytest.mark.parametrize(
    ("level", "seen"),
    [
        ("trace", ["trace", "debug", "info", "warn", "error", "fatal"]),
        ("info", ["info", "warn", "error", "fatal"]),
        ("warning", ["warn", "error", "fatal"]),
        ("fatal", ["fatal"]),
    ],
)
def test_levels(capsys: pytest.CaptureFixture[str], level: str, seen: list[str]) -> None:
    configured(level=level)
    for name in ("trace", "debug", "info", "warn", "error", "fatal"):
        logs.event("something", level=name)
    assert [line.split()[1] for line in capsys.readouterr().err.splitlines()] == seen


def test_the_file_gets_every_line_and_is_its_owners(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rolltop.log"
    configured(path)
    logs.event("start", version="1")
    configured(path)
    logs.event("stop")
    assert [line.split()[2] for line in path.read_text().splitlines()] == ["start", "stop"]
    assert capsys.readouterr().err == path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="log_file_path"):
        configured(tmp_path / "no" / "rolltop.log")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_field_cannot_break_out_of_its_line(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    configured(form=form)
    logs.event("start", name='a\n2026-01-01T00:00:00Z info call "x=1 \u2028 \udc80')
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("form", ["text", "json"])
def test_an_exception_is_told_by_types_and_places_only(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    configured(form=form)

    def store() -> None:
        try:
            dict[str, int]()[MARKER]
        except KeyError as error:
            raise ExceptionGroup(MARKER, [ValueError(MARKER)]) from error

    with pytest.raises(ExceptionGroup) as raised:
        store()
    reference = logs.fault(raised.value, request_id="9")
    line = capsys.readouterr().err
    assert MARKER not in line
    assert reference in line
    assert re.search(
        r"ExceptionGroup at core/test_logging.py:\d+ store, core/test_logging.py:\d+ test_an", line
    )
    assert "KeyError at core/test_logging.py" in line
    assert "ValueError at an unknown place" in line


def test_libraries_are_heard_without_what_they_quote(capsys: pytest.CaptureFixture[str]) -> None:
    configured(level="trace")
    library = logging.getLogger("some.library")
    library.info("%s", MARKER)
    library.warning("cannot parse %s", MARKER)
    with pytest.raises(ValueError, match=MARKER) as raised:
        raise ValueError(MARKER)
    library.error(MARKER, exc_info=raised.value)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(capture=True)
        warnings.warn(MARKER, stacklevel=1)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert all("some.library test_logging:" in line for line in lines[:2])
    assert "ValueError at core/test_logging.py" in lines[1]
    assert MARKER not in "".join(lines)


def test_a_host_that_does_not_read_stderr_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as unread, os.fdopen(writing, "w") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        configured()
        for number in range(2000):
            one_call(str(number))
        held = unread.read(4096).splitlines()
        assert b" outcome=0 " in held[0]
        while select.select([unread], [], [], 0)[0]:
            unread.read1(1 << 16)
        one_call("last")
        said = unread.read1(1 << 16).splitlines()
    assert len(said) == 2
    assert re.search(rb"lines were lost here.* lines=\d{3,4}$", said[0])
    assert b" outcome=last " in said[1]


def test_a_failing_thread_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    configured()

    def fail() -> None:
        raise ValueError(MARKER)

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join(10)
    line = capsys.readouterr().err
    assert "a thread failed" in line
    assert MARKER not in line
