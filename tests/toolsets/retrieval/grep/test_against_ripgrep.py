from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core.errors import InvalidArgument
from rolltop.toolsets.retrieval.grep.search import search
from rolltop.workspace.globs import FileGlob
from tests.campaign import examples
from tests.toolsets.retrieval.grep.drawn import queries
from tests.toolsets.retrieval.grep.witness import BrokenPattern, lines, trees_of

if TYPE_CHECKING:
    from pathlib import Path

PREVIEW = 400


@settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(data=st.data(), limit=st.sampled_from((1, 7, 200, 1000)))
def test_finds_the_lines_that_ripgrep_finds(
    library: Path, library_files: list[str], data: st.DataObject, limit: int
) -> None:
    query = data.draw(queries(library, library_files))
    glob = FileGlob(query.file_glob) if query.file_glob else None
    files = [name for name in library_files if glob is None or glob.matches(name)]
    try:
        expected = lines(library, files, query)
    except BrokenPattern:
        with pytest.raises(InvalidArgument) as refused:
            search(trees_of(library), query, limit=limit)
        assert refused.value.code == "QUERY_INVALID"
        return
    found = search(trees_of(library), query, limit=limit)
    assert [(hit.path, hit.line) for hit in found.hits] == [row[:2] for row in expected[:limit]]
    assert found.more is (len(expected) > limit)
    for hit, (_, _, text) in zip(found.hits, expected, strict=False):
        if len(text) <= PREVIEW and not any("\udc80" <= letter <= "\udcff" for letter in text):
            assert hit.preview == text
        assert len(hit.preview) <= PREVIEW
