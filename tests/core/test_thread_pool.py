"""Work on threads: none is lost, none is done that was refused, whatever the system has to give."""

from __future__ import annotations

import threading
from typing import NoReturn

import pytest

from rolltop.core.errors import Unavailable
from rolltop.core.thread_pool import ThreadPool
from tests.forks import PATIENCE


def no_thread(_: threading.Thread) -> NoReturn:
    raise RuntimeError("can't start new thread")


def test_what_finds_no_thread_is_refused_and_not_done_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    workers = ThreadPool(2, "test")
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_thread)
        for _ in range(5):
            with pytest.raises(Unavailable):
                workers.submit(lambda: done.append("refused"))
    for name in "abc":
        workers.submit(lambda name=name: done.append(name)).result(PATIENCE)
    assert done == ["a", "b", "c"]
    assert workers.close(PATIENCE)


def test_where_no_more_threads_are_to_be_had_work_waits_for_those_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    workers = ThreadPool(3, "test")
    go = threading.Event()
    first = workers.submit(go.wait)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_thread)
        waiting = [workers.submit(lambda n=n: n) for n in range(5)]
    go.set()
    assert first.result(PATIENCE)
    assert [one.result(PATIENCE) for one in waiting] == list(range(5))
    both = threading.Barrier(3)
    for one in [workers.submit(lambda: both.wait(PATIENCE)) for _ in range(3)]:
        one.result(PATIENCE)
    assert workers.close(PATIENCE)
