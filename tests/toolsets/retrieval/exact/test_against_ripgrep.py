from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core.errors import Invalid
from rolltop.toolsets.retrieval.exact import FileGlob, search
from rolltop.toolsets.retrieval.exact.expression import expression
from rolltop.toolsets.retrieval.exact.ripgrep import program
from rolltop.toolsets.retrieval.models import Query
from tests.campaign import examples
from tests.toolsets.retrieval.exact.drawn import ASCII, patterns, queries, texts_of_stretches
from tests.toolsets.retrieval.exact.witness import BrokenPattern, lines, trees_of

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.toolsets.retrieval.models import Case

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
    files = [name for name in library_files if glob is None or glob.chooses(name)]
    try:
        expected = lines(library, files, query)
    except BrokenPattern:
        with pytest.raises(Invalid) as refused:
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


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    pattern=patterns().filter(str.strip),
    texts=st.lists(texts_of_stretches(ASCII), min_size=6, max_size=12),
    case=st.sampled_from(("sensitive", "ignore", "smart")),
)
def test_ascii_is_searched_alike_without_the_rules_of_unicode(
    tmp_path: Path, pattern: str, texts: list[str], case: Case
) -> None:
    asked = expression(Query(pattern, regex=True, case=case))
    file = tmp_path / "text"
    file.write_text("\n".join(texts), newline="")
    options = ("--no-config", "--text", "--crlf", "--line-number", "-e", pattern, str(file))
    found = [
        subprocess.run([program(), *one.flags, *options], capture_output=True, check=False)
        for one in (asked, asked.of_ascii or asked)
    ]
    if not found[0].stderr:
        assert (found[0].stdout, b"") == (found[1].stdout, found[1].stderr)
