"""What other processes write to the index between any two steps of a search hides nothing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core.roots import Skipped
from rolltop.toolsets.retrieval.models import Query
from rolltop.toolsets.retrieval.store import GONE
from rolltop.toolsets.retrieval.trigrams.postings import BINARY, TEXT, Noted, Postings
from tests.campaign import examples
from tests.toolsets.retrieval.meanwhile import after_each_statement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.toolsets.retrieval.trigrams.indexed import Indexed

NEEDLE: Final = Query("needle")
OLDER: Final = (7, 1, 1, 1)
"""A state that the file was in once."""
STATEMENTS: Final = 10
"""More than a search takes."""
WRITTEN: Final = st.sampled_from(("now", "older", "binary", "gone"))


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(first=WRITTEN, then=st.lists(st.none() | WRITTEN, max_size=STATEMENTS))
@pytest.mark.parametrize("way", ["looking"], indirect=True)
def test_a_file_is_proposed_whatever_others_write_meanwhile(
    indexed: Indexed, code: Path, first: str, then: list[str | None]
) -> None:
    if not list(code.iterdir()):
        for name in "abcdefgh":
            (code / f"{name}.txt").write_text("nothing\n")
        (code / "n.txt").write_text("needle\n")
        indexed.build()
    (root,) = indexed.roots.named
    (entry,) = [e for e in indexed.indexes.look(root).files(Skipped()) if e.relative == "n.txt"]
    noted = {
        "now": Noted("n.txt", entry[1:5], TEXT, "needle\n"),
        "older": Noted("n.txt", OLDER, TEXT, "another text\n"),
        "binary": Noted("n.txt", OLDER, BINARY, ""),
        "gone": Noted("n.txt", GONE, BINARY, ""),
    }
    other = Postings(indexed.kept)
    puts = {kind: partial(other.put, str(root.path), [one]) for kind, one in noted.items()}
    puts[first]()
    indexed.proposed(NEEDLE)
    with after_each_statement([puts.get(kind or "") for kind in then]):
        assert indexed.proposed(NEEDLE) == ["n.txt"]
    other.close()
