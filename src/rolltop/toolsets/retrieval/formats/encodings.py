"""The encodings of files, each found once while a file stays as it is."""

from __future__ import annotations

import os
from collections import OrderedDict
from threading import Lock
from typing import Final

from rolltop.core.roots.settling import is_settled
from rolltop.core.roots.writers import is_held_for_writing
from rolltop.core.text.decode import Encoding, encoding_of

_MOST_KEPT: Final = 1 << 12

_State = tuple[int, int, int, int, int]
_kept: Final[OrderedDict[_State, Encoding]] = OrderedDict()
_lock: Final = Lock()


def encoding_at(descriptor: int) -> Encoding:
    """Return the encoding of an open file: the same for all that show some of it. Raises OSError.

    To know that a file is UTF-8 takes reading all of it.
    """
    state = _state(descriptor)
    with _lock:
        found = _kept.get(state)
        if found is not None:
            _kept.move_to_end(state)
            return found
    was_settled = is_settled(state[1], state[2])
    found = encoding_of(lambda start, size: os.pread(descriptor, size, start))
    if was_settled and _state(descriptor) == state and not is_held_for_writing(descriptor):
        with _lock:
            _kept[state] = found
            if len(_kept) > _MOST_KEPT:
                _kept.popitem(last=False)
    return found


def _state(descriptor: int) -> _State:
    status = os.fstat(descriptor)
    return (
        status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev,
    )  # fmt: skip
