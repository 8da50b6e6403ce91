"""Whether the times of a file tell of its next change."""

from __future__ import annotations

import time
from typing import Final

SETTLED_NS: Final = 2_000_000_000
"""What changed less long ago may change again without its times telling.

FAT counts by two seconds, Linux by the tick of its clock.
"""


def is_settled(mtime_ns: int, ctime_ns: int) -> bool:
    """Return whether the last change is so long ago that the next one would show.

    Both are nanoseconds since 1970: the times of the content and of the status.
    """
    return time.time_ns() - max(mtime_ns, ctime_ns) >= SETTLED_NS
