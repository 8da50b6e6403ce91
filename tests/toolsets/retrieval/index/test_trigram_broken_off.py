"""A look at the files that could not be brought to its end loses nothing."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from rolltop.core.errors import Unavailable
from rolltop.toolsets.retrieval.models import Query

if TYPE_CHECKING:
    from pathlib import Path

    from tests.toolsets.retrieval.index.indexed import Indexed


@pytest.mark.parametrize("folder", ["", "/b", "/b/c"])
def test_what_a_look_that_broke_off_had_learnt_is_not_lost(
    indexed: Indexed, code: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    places = ["a", "b", "b/c", "d"]
    for place in places:
        (code / place).mkdir()
        (code / place / "f.txt").write_text("nothing\n")
    indexed.build()
    for place in places:
        (code / place / "f.txt").write_text("needle\n")
        (code / place / "new.txt").write_text("needle\n")
    had = os.open

    def none_left(path: str, *more: int, **others: int) -> int:
        if str(path) == f"{code}{folder}":
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return had(path, *more, **others)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", none_left)
        with pytest.raises(Unavailable):
            indexed.find(Query("needle"))
    found = sorted(hit.path for hit in indexed.find(Query("needle")).hits)
    assert found == sorted(f"{place}/{name}.txt" for place in places for name in ("f", "new"))
