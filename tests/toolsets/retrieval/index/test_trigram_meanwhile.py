"""What other processes write to the index between any two steps of a search hides nothing."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.toolsets.retrieval.index.trigram_file import BINARY, TEXT, FileEntry, TrigramFile
from rolltop.toolsets.retrieval.models import Query
from rolltop.toolsets.retrieval.store import GONE
from rolltop.workspace import SkippedEntries
from tests.campaign import examples
from tests.toolsets.retrieval.meanwhile import after_each_statement

if TYPE_CHECKING:
    from pathlib import Path

    from tests.toolsets.retrieval.index.indexed import Indexed

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
def test_a_file_is_proposed_whatever_others_write_meanwhile(
    indexed: Indexed, code: Path, first: str, then: list[str | None]
) -> None:
    if not list(code.iterdir()):
        for name in "abcdefgh":
            (code / f"{name}.txt").write_text("nothing\n")
        (code / "n.txt").write_text("needle\n")
        indexed.build()
    (root,) = indexed.roots.named
    (entry,) = [
        e for e in indexed.indexes.view(root).files(SkippedEntries()) if e.relative == "n.txt"
    ]
    noted = {
        "now": FileEntry("n.txt", entry[1:5], TEXT, "needle\n"),
        "older": FileEntry("n.txt", OLDER, TEXT, "another text\n"),
        "binary": FileEntry("n.txt", OLDER, BINARY, ""),
        "gone": FileEntry("n.txt", GONE, BINARY, ""),
    }
    other = TrigramFile(indexed.kept)
    puts = {kind: partial(other.put, str(root.path), [one]) for kind, one in noted.items()}
    puts[first]()
    indexed.proposed(NEEDLE)
    with after_each_statement([puts.get(kind or "") for kind in then]):
        assert indexed.proposed(NEEDLE) == ["n.txt"]
    other.close()
