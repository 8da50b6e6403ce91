"""Servers that share an index and are killed at random, asked about files that never rest.

An answer may say of each file what it held at some time during the call, and nothing else.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.campaign import examples
from tests.server.processes import StdioServer
from tests.toolsets.retrieval.moving import HEAD, MARK, Moving, text_of

if TYPE_CHECKING:
    import pytest

SERVERS: Final = 4
KILLED: Final = 0.06
_SURVIVED: Final = 0.5
_MAX_LIFE: Final = 0.02
ASKED: Final = 25
TRIED: Final = 3
"""How often a file is read that changes each time, until that is said."""


class Asker:
    """One of the servers, with somebody who asks, checks, and kills it now and then."""

    def __init__(self, moving: Moving, folder: Path, number: int) -> None:
        self.asked = self.kills = 0
        self._moving: Final = moving
        self._folder: Final = folder
        self._random: Final = random.Random(number)  # noqa: S311  # the same questions in each run
        self._server = self._started()

    def ask(self, times: int) -> None:
        """Ask so many questions."""
        questions = (self._all_lines, self._one_edit, self._one_edit, self._read, self._ranked)
        for _ in range(times):
            self._random.choice(questions)()
            self.asked += 1
            if self._random.random() < KILLED:
                self._kill()

    def is_right_at_rest(self) -> None:
        """Check every line of every file."""
        self._all_lines()

    def end(self) -> None:
        """End the server."""
        self._server.__exit__()

    def _started(self) -> StdioServer:
        roots = f"code={self._moving.folder}"
        server = StdioServer(self._folder, retrieval__roots=roots, log_level="error")
        server.initialize()
        return server

    def _kill(self) -> None:
        """Kill what the server has started, and half of the time itself in the middle of a call."""
        for child in _children(self._server.process.pid):
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self.kills += 1
        if self._random.random() < _SURVIVED:
            return
        arguments = {"query": MARK, "limit": 1000}
        self._server.send("tools/call", {"name": "repo_search", "arguments": arguments}, id=0)
        threading.Event().wait(self._random.uniform(0, _MAX_LIFE))
        self._server.__exit__()
        self._server = self._started()

    def _call(
        self, tool: str, **arguments: Any
    ) -> tuple[dict[str, Any], dict[str, set[str | None]]]:
        """Return the answer, and what each path may have named during the call."""
        since = time.monotonic()
        answer = self._server.call(tool, **arguments)["structuredContent"]
        return answer, self._moving.possible(since, time.monotonic())

    def _all_lines(self) -> None:
        self._check_search(MARK)

    def _one_edit(self) -> None:
        """Ask for an edit of late, which is there or not any more."""
        latest = self._moving.edits
        number = self._random.randrange(max(0, latest - 60), latest + 2)
        self._check_search(f"{MARK}{number:08d}")

    def _check_search(self, query: str) -> None:
        case = self._random.choice(("sensitive", "ignore"))  # looked for by us, or by ripgrep
        answer, possible = self._call("repo_search", query=query, limit=1000, case=case)
        found = {hit["path"]: hit["preview"] for hit in answer["result"]}
        assert len(found) == len(answer["result"])
        assert not answer["meta"]["truncated"]
        assert found.keys() <= possible.keys()
        for path, texts in possible.items():
            lines = {_line_with(query, text) for text in texts}
            assert found.get(path) in lines, (query, case, path, found.get(path), answer["meta"])

    def _read(self) -> None:
        path = self._random.choice(self._moving.names)
        answer, possible = self._call("repo_open_file", path=path)
        if answer.get("error", {}).get("details", {}).get("reason") == "CHANGING":
            assert len(possible[path]) > TRIED, answer
        elif "error" in answer:
            assert answer["error"]["code"] == "FILE_NOT_FOUND", answer
            assert None in possible[path]
        else:
            assert answer["result"]["text"] in possible[path] | {""}

    def _ranked(self) -> None:
        latest = self._moving.edits
        number = self._random.randrange(max(0, latest - 60), latest + 2)
        answer, possible = self._call("repo_smart_search", query=f"stable edit {number:08d}")
        for hit in answer["result"]:
            texts = {text and text.rstrip() for text in possible[hit["path"]]}
            assert hit["preview"].rstrip() in texts, (hit, texts)


def _line_with(query: str, text: str | None) -> str | None:
    return next((line for line in (text or "").split("\n") if query in line), None)


def _children(pid: int) -> list[int]:
    """Return the processes that a server keeps; those of ripgrep end by themselves."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return [child for child in found if not _is_ripgrep(child)]


def _is_ripgrep(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text() == "rg\n"
    return True


def test_no_answer_is_older_than_its_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert HEAD in text_of(0)
    folder = Path(os.path.realpath(tmp_path)) / "code"
    folder.mkdir()
    with Moving(folder) as moving, ExitStack() as ending, ThreadPoolExecutor(SERVERS) as threads:
        askers = [Asker(moving, tmp_path, number) for number in range(SERVERS)]
        for asker in askers:
            ending.callback(asker.end)
        for asked in [threads.submit(asker.ask, examples(ASKED)) for asker in askers]:
            asked.result()
        moving.rest()
        for asker in askers:
            asker.is_right_at_rest()
    with capsys.disabled():
        print(  # noqa: T201  # the figure is what the campaign is for
            f"\nretrieval: {sum(asker.asked for asker in askers)} answers during {moving.edits}"
            f" edits and {sum(asker.kills for asker in askers)} kills: 0 stale, 0 missing"
        )
