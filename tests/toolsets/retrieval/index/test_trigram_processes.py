from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rolltop.toolsets.retrieval.grep.search import search
from rolltop.toolsets.retrieval.index import trigram_file
from rolltop.toolsets.retrieval.models import Query
from tests.campaign import examples
from tests.forks import PATIENCE
from tests.toolsets.retrieval.index.indexed import Indexed

if TYPE_CHECKING:
    from collections.abc import Generator

ROUNDS = 2
TOP = Path(__file__).parents[4]


@contextmanager
def building(
    kept: Path, code: Path, count: int
) -> Generator[list[subprocess.Popen[bytes]], None, None]:
    """Processes that index the folder until they are killed, each past its first step."""
    program = [sys.executable, "-m", "tests.toolsets.retrieval.index.builder", kept, code]
    environment = {**os.environ, "PYTHONPATH": f"{TOP / 'src'}:{TOP}"}
    running = [
        subprocess.Popen(program, stdout=subprocess.PIPE, cwd=TOP, env=environment)
        for _ in range(count)
    ]
    try:
        yield running
    finally:
        for process in running:
            process.kill()
            process.communicate()


def _steps(process: subprocess.Popen[bytes], count: int) -> None:
    """Wait until the process has printed so many lines."""
    assert process.stdout is not None
    for _ in range(count):
        assert process.stdout.readline()


@pytest.mark.usefixtures("quick")
def test_processes_killed_at_any_time_leave_an_index_that_is_never_wrong(code: Path) -> None:
    drawn = random.Random(5)  # noqa: S311  # the same edits in each run
    kept = code.parent / "kept"
    for number in range(60):
        (code / f"f{number}").write_text(f"word{number} first\n" * 50)
    for turn in range(examples(ROUNDS)):
        with building(kept, code, 4) as running:
            _steps(running[0], 1)
            for _ in range(30):
                number = drawn.randrange(60)
                (code / f"f{number}").write_text(f"word{number} turn{turn}\n" * 50)
            _steps(running[turn % 4], drawn.randrange(1, 4))
            for process in running:
                process.kill()
        made = Indexed(kept, code)
        for number in drawn.sample(range(60), 20):
            for text in (f"word{number} ", f"turn{turn}", f"turn{turn - 1}"):
                live = search(made.live(), Query(text), limit=5000).hits
                assert made.find(Query(text), 5000).hits == live
        made.indexes.close()
    made = Indexed(kept, code)
    made.build()
    assert made.proposed(Query("word7 ")) == ["f7"]
    assert [file.name for file in kept.glob("*.db")] == [f"trigrams-{trigram_file.VERSION}-1.db"]
    made.indexes.close()


@pytest.mark.usefixtures("quick")
def test_four_processes_share_the_work_and_agree(code: Path) -> None:
    kept = code.parent / "kept"
    for number in range(200):
        (code / f"f{number}").write_text(f"word{number} here\n")
    with building(kept, code, 4) as running:
        for process in running:
            end = time.monotonic() + PATIENCE
            assert process.stdout is not None
            while process.stdout.readline() != b"0\n":
                assert time.monotonic() < end
        made = Indexed(kept, code)
        assert made.proposed(Query("word17 ")) == ["f17"]
        assert made.indexes.waiting == 0
        made.indexes.close()
