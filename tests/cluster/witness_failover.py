"""PostgreSQL's leader is killed, or cut off, under load: what was acknowledged is kept, once."""

from __future__ import annotations

import http.client
import itertools
import signal
import threading
import time
from collections import Counter
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final, Self

import pytest

from rolltop.core import accounts
from rolltop.core.db import SYSTEM, Database
from tests.campaign import examples
from tests.cluster.nodes import PATIENCE, running_cluster
from tests.server.processes import LEGACY, HttpServer, rpc_request

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from tests.cluster.nodes import Cluster

CALLERS: Final = 6
BLOWS: Final = [signal.SIGKILL] * examples(1) + [signal.SIGSTOP] * max(1, examples(1) // 5)
"""What happens to one leader after the other: it is killed, or stops as one that is cut off."""
MAX_GAP: Final = 30.0
"""Seconds after which writes are taken again: what docs/scaling.md promises."""
NOTHING_KEPT: Final = "Nothing of this call was kept"
MAY_BE_KEPT: Final = "This call may have been kept"
KEPT: Final = "SELECT title FROM tasks UNION ALL SELECT content FROM note_texts"


@pytest.fixture(scope="module")
def cluster() -> Generator[Cluster]:
    with running_cluster() as started:
        yield started


class Callers:
    """Callers that write one text after another, and what each was told of it."""

    def __init__(self, servers: list[HttpServer], token: str) -> None:
        self._servers = servers
        self._token = token
        self._stop = threading.Event()
        self.acknowledged: dict[str, float] = {}
        """Texts with the moment of their answers, in the order of these."""
        self.refused: list[str] = []
        self.doubtful: list[str] = []
        self.wrong: list[str] = []
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(CALLERS)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def longest_gap(self) -> float:
        """The longest time in seconds in which nobody's write was acknowledged."""
        moments = sorted(self.acknowledged.values())
        return max(after - before for before, after in itertools.pairwise(moments))

    def wait_for_more(self) -> None:
        """Wait until ten times as many writes as there are callers were acknowledged."""
        wanted, end = len(self.acknowledged) + 10 * CALLERS, time.monotonic() + PATIENCE
        while len(self.acknowledged) < wanted:
            assert time.monotonic() < end, (self.wrong[:3], len(self.acknowledged))
            self._stop.wait(0.05)

    def _write(self, caller: int) -> None:
        for count in itertools.count():
            if self._stop.is_set():
                return
            text = f"text {count} of {caller}"
            server = self._servers[(caller + count // 2) % 2]
            tool, name = ("add_task", "title") if count % 2 else ("note_save", "text")
            try:
                answer = self._ask(server, {"name": tool, "arguments": {name: text}})
            except (OSError, http.client.HTTPException) as failure:
                self.wrong.append(f"{text}: {failure!r}")
                continue
            self._take_down(text, *answer)

    def _ask(self, server: HttpServer, call: Mapping[str, object]) -> tuple[int, str]:
        body, headers = rpc_request("tools/call", call, era=LEGACY)
        headers["authorization"] = f"Bearer {self._token}"
        status, _, answer = server.ask("POST", "/mcp", body, headers)
        return status, answer.decode()

    def _take_down(self, text: str, status: int, answer: str) -> None:
        is_error = '"isError":true' in answer.replace(" ", "")
        if status == 200 and not is_error and '"result"' in answer:
            self.acknowledged[text] = time.monotonic()
        elif status == 200 and "UNAVAILABLE" in answer and MAY_BE_KEPT in answer:
            self.doubtful.append(text)
        elif status == 503 or ("UNAVAILABLE" in answer and NOTHING_KEPT in answer):
            self.refused.append(text)
            self._stop.wait(0.2)  # who is refused asks again a little later
        else:
            self.wrong.append(f"{text}: {status} {answer[:300]}")


def test_what_is_acknowledged_is_kept_whatever_becomes_of_leaders(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    started = time.monotonic()
    database = Database(cluster.url)
    user = database.write_sync(SYSTEM, accounts.add_user, "ann@example.org")
    token, _ = database.write_sync(SYSTEM, accounts.create_token, user.id, "agent")
    database.close()
    with ExitStack() as opened:
        servers: list[HttpServer] = []
        for name in ("first", "second"):
            (tmp_path / name).mkdir()
            server = HttpServer(tmp_path / name, database_url=cluster.url, http__rate_limit=0)
            servers.append(opened.enter_context(server))
        with Callers(servers, token) as callers:
            for blow in BLOWS:
                leader = cluster.wait_for_leader()
                callers.wait_for_more()
                leader.send_signal(blow)
                cluster.wait_until(
                    lambda leader=leader: cluster.leader() not in {None, leader}, "a new leader"
                )
                callers.wait_for_more()
                if blow == signal.SIGSTOP:
                    leader.send_signal(signal.SIGCONT)
                    cluster.wait_until(
                        lambda leader=leader: leader.says("replica"), "one that follows again"
                    )
                    # Patroni before 3.1 keeps an old view of etcd then (its issue 2779).
                    leader.send_signal(signal.SIGKILL)
                leader.start()
            cluster.wait_for_leader()
            callers.wait_for_more()
    with cluster.connect("desk") as connection:
        kept = Counter(text for (text,) in connection.execute(KEPT).fetchall())
    lost = callers.acknowledged.keys() - kept.keys()
    doubtful_kept = len(kept.keys() & set(callers.doubtful))
    with capsys.disabled():
        print(  # noqa: T201  # what it is for
            f"\n{BLOWS.count(signal.SIGKILL)} leaders killed, {BLOWS.count(signal.SIGSTOP)} cut"
            f" off; {len(callers.acknowledged)} acknowledged, acknowledged - kept = {len(lost)};"
            f" {len(callers.refused)} refused, {len(callers.doubtful)} in doubt, of which"
            f" {doubtful_kept} kept; longest gap {callers.longest_gap:.1f} s;"
            f" {time.monotonic() - started:.0f} s in all"
        )
    assert callers.wrong[:3] == []
    assert lost == set()
    assert [text for text, times in kept.items() if times > 1] == [], "nothing is kept twice"
    assert kept.keys() & set(callers.refused) == set(), "what is said not to be kept is not"
    assert callers.longest_gap <= MAX_GAP
