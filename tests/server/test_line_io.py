"""The two ends of a stdio connection, on pipes whose other ends the test holds."""

from __future__ import annotations

import os
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from rolltop.server.line_io import LineReader, LineWriter, is_write_end_closed
from tests.server.processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

MUCH = 9 << 20
"""Bytes: more than a writer takes in before lines have to wait."""


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        try:
            os.close(end)
        except OSError:  # the test closed it
            continue


@pytest.fixture
def unread() -> Iterator[LineWriter]:
    """A writer that is far ahead of a client which reads nothing."""
    reading, writing = os.pipe()
    broken = threading.Event()
    writer = LineWriter(writing, broken.set)
    writer.put(b"x" * MUCH)
    yield writer
    os.close(reading)
    assert broken.wait(PATIENCE)
    os.close(writing)


def test_the_end_of_stdin_is_seen_though_nobody_reads_the_answers(
    unread: LineWriter, pipe: tuple[int, int]
) -> None:
    reading, writing = pipe
    ended = threading.Event()
    seen: list[bytes] = []

    def take(line: bytes) -> None:
        unread.wait_for_room(partial(is_write_end_closed, reading))
        seen.append(line)

    LineReader(reading, take, ended.clear, ended.set).start()
    os.write(writing, b"one\ntwo\nthree")
    os.close(writing)
    assert ended.wait(PATIENCE)
    assert seen == [b"one", b"two", b"three"]


def test_a_reader_knows_when_it_has_handed_on_all_that_has_come(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    taken, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def take(_line: bytes) -> None:
        taken.set()
        assert go_on.wait(PATIENCE)

    os.write(writing, b"one\ntwo\nbeginning")
    reader = LineReader(reading, take, ended.clear, ended.set)
    assert not reader.is_drained()
    reader.start()
    assert taken.wait(PATIENCE)
    assert not reader.is_drained()
    go_on.set()
    end = time.monotonic() + PATIENCE
    while not reader.is_drained():
        assert time.monotonic() < end
    os.close(writing)
    assert ended.wait(PATIENCE)
    assert reader.is_drained()


def test_what_a_reader_has_in_its_hands_is_not_handed_on_yet(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    taken, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def take(_line: bytes) -> None:
        taken.set()
        assert go_on.wait(PATIENCE)
        go_on.clear()

    reader = LineReader(reading, take, ended.clear, ended.set)
    reader.start()
    end = time.monotonic() + PATIENCE
    for _ in range(300):
        os.write(writing, b"line\n")
        while not taken.is_set():
            assert not reader.is_drained()
        taken.clear()
        go_on.set()
        while not reader.is_drained():
            assert time.monotonic() < end
    os.close(writing)
    assert ended.wait(PATIENCE)


def test_lines_wait_while_answers_are_not_read_and_more_may_come(
    unread: LineWriter, pipe: tuple[int, int]
) -> None:
    reading, writing = pipe
    looks: list[bool] = []

    def is_over() -> bool:
        looks.append(is_write_end_closed(reading))
        if len(looks) == 2:
            os.close(writing)
        return looks[-1]

    unread.wait_for_room(is_over)
    assert looks == [False, False, True]
