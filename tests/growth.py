"""How processor time grows with a text: `check_growth` fails where it is more than n log n.

What is counted is this thread's own processor time, without the garbage collector, whose work grows
with all that a test process holds; so a busy machine fails nothing. What runs for too long is cut
off by a timer of the process's time: Python's `re` heeds signals.
"""

from __future__ import annotations

import gc
import math
import signal
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.db.engine import driver_connection

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.db import Tx

SIZE: Final = 64 * 1024
"""Code points of the first text: the most that is parsed in the server itself."""

FLOOR: Final = 0.1
"""Seconds below which nothing is looked into."""

LIMIT: Final = 2.0
"""Seconds after which a call is cut off."""

MAX_EXPONENT: Final = 1.5
"""Of growth by the power of the length; n log n is below 1.1 here, quadratic growth near 2."""


class _CutOffError(BaseException):
    """The timer ran out; not an Exception, so that nobody takes it for his own."""


@dataclass(frozen=True)
class Sample:
    """A text of any length: a unit over and over between two ends, in lines or not.

    `nested`: the units are one after the other, each over and over, as `((((…))))`.
    """

    units: tuple[str, ...]
    start: str = ""
    end: str = ""
    width: int = 0
    """Code points of a line; 0 leaves the text as it is."""
    nested: bool = False

    def text(self, size: int) -> str:
        """The text of about `size` code points."""
        parts = self.units if self.nested else ("".join(self.units),)
        text = "".join(part * max(1, size // len(parts) // len(part)) for part in parts)
        if self.width:
            text = "\n".join(text[at : at + self.width] for at in range(0, len(text), self.width))
        return f"{self.start}{text}{self.end}"


def processor_time(function: Callable[[str], object], text: str, limit: float = LIMIT) -> float:
    """Seconds of processor time of one call; infinite where it was cut off after `limit`."""

    def cut_off(*_: object) -> None:
        raise _CutOffError

    before = signal.signal(signal.SIGPROF, cut_off)
    signal.setitimer(signal.ITIMER_PROF, limit)
    gc.disable()
    start = time.thread_time()
    try:
        function(text)
        return time.thread_time() - start
    except _CutOffError:
        return math.inf
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def check_growth(function: Callable[[str], object], sample: Sample, size: int = SIZE) -> None:
    """Fail where a text of twice the length takes nearly four times as long, or longer."""
    large = processor_time(function, sample.text(size))
    if large < FLOOR:
        return
    if math.isinf(large):
        assert processor_time(function, sample.text(size), 5 * LIMIT) < math.inf, sample
        return
    large = min(large, processor_time(function, sample.text(size)))  # the first makes what is kept
    small = min(processor_time(function, sample.text(size // 4)) for _ in range(2))
    exponent = math.log(large / small, 4)
    if exponent > MAX_EXPONENT:  # once more, where chance has less of a part
        largest = min(processor_time(function, sample.text(4 * size), 20 * LIMIT) for _ in range(2))
        exponent = math.log(largest / large, 4)
        assert exponent <= MAX_EXPONENT, f"time by the power of {exponent:.2f}: {sample}"


def count_calls(done: Callable[[], object]) -> int:
    """Return how many functions are called while something is done."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before: Any = sys.getprofile()
    sys.setprofile(count)
    try:
        done()
    finally:
        sys.setprofile(before)
    return calls


def count_steps(tx: Tx, done: Callable[[], object]) -> int:
    """Return how many tens of steps SQLite takes while something is done in a transaction."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    driver = driver_connection(tx.connection)
    driver.set_progress_handler(count, 10)
    done()
    driver.set_progress_handler(None, 0)
    return steps
