"""Whether the times of a file tell of its next change."""

from __future__ import annotations

import time
from typing import Final

SETTLED_NS: Final = 2_000_000_000
"""What changed less long ago may change again without its times telling.

FAT counts by two seconds, Linux by the tick of its clock.
"""


def is_settled(mtime_ns: int, ctime_ns: int, at_ns: int | None = None) -> bool:
    """Return whether the last change was so long ago that one at a moment, or now, would show.

    All are nanoseconds since 1970: the times of the content and of the status, and the moment.
    """
    at = time.time_ns() if at_ns is None else at_ns
    return at - max(mtime_ns, ctime_ns) >= SETTLED_NS
