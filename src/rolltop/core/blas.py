"""How numpy's linear algebra waits for work. Imported before numpy; loads nothing."""

from __future__ import annotations

import os
from typing import Final

_TIMEOUT: Final = "OPENBLAS_THREAD_TIMEOUT"
_AT_ONCE: Final = "4"  # the least: 2 to the power of so many turns of the processor


def let_threads_sleep() -> None:
    """Let OpenBLAS's threads sleep between two products instead of spinning for a while.

    A matrix is compared five times as fast by them, but waiting they take a processor from other
    calls. Takes effect where numpy is not loaded yet; what the environment says stands.
    """
    os.environ.setdefault(_TIMEOUT, _AT_ONCE)
