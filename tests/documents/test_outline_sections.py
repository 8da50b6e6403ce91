"""Sections: where each ends, what its id is, and which format a file has."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core.text.lines import line_count
from rolltop.documents.outline import (
    FILE_TYPES,
    FileType,
    Heading,
    build_sections,
    detect_file_type,
    parse_outline,
)
from tests.campaign import examples

HEADINGS = st.lists(
    st.tuples(st.sampled_from(["A", "B", "3.1", "s123", ""]), st.integers(1, 8), st.integers(1, 3)),
    max_size=30,
)
FRAGMENTS = st.lists(
    st.sampled_from(
        ["# A\n", "## B\n", "A\n===\n", "\n", "text\n", "```\n", "def f():\n", "  x = 1\n", "{",
         "}", '"a": 1,\n', "a: b\n", "[t]\n", "= T\n", "* H\n", "<h1>x</h1>\n", "\\section{S}\n",
         "- i\n",
         "class C {\n", "}\n", "1. One\n\n", "end\n", "f() {\n", "\r\n", "\r", '"""', "字"]
    ),
    max_size=40,
).map("".join)  # fmt: skip


@settings(max_examples=examples(200), deadline=None)
@given(given_headings=HEADINGS)
def test_a_section_runs_to_the_next_heading_of_its_level_or_higher(
    given_headings: list[tuple[str, int, int]],
) -> None:
    line = 0
    headings: list[Heading] = []
    for title, level, step in given_headings:
        line += step
        headings.append(Heading(title, level, line))
    found = build_sections(headings, line + 3)
    assert [(s.title, s.start_line) for s in found] == [(h.title, h.line) for h in headings]
    for index, section in enumerate(found):
        following = (s.start_line for s in found[index + 1 :] if s.level <= section.level)
        assert section.end_line == next(following, line + 4) - 1
        assert section.title_path[-1] == section.title
        assert len(section.title_path) <= section.level <= 6


@settings(max_examples=examples(150), deadline=None)
@given(given_headings=HEADINGS)
def test_ids_are_unique_and_read_like_no_title(
    given_headings: list[tuple[str, int, int]],
) -> None:
    headings = [Heading(title, level, 1) for title, level, _ in given_headings]
    ids = [section.id for section in build_sections(headings, 1)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"s[a-z2-7]{7}", own_id) for own_id in ids)


def test_an_id_stays_when_other_sections_come_and_go() -> None:
    before = parse_outline("# A\n\n## X\n\n# B\n\n## X\n", "markdown").sections
    after = parse_outline("# New\n\n# A\n\nmore\n\n## W\n\n## X\n\n# B\n", "markdown").sections
    ids = {section.title_path: section.id for section in after}
    assert ids["A", "X"] == before[1].id
    assert before[1].id != before[3].id


@settings(max_examples=examples(300), deadline=None)
@given(text=FRAGMENTS, kind=st.sampled_from(FILE_TYPES))
def test_every_text_has_an_outline_within_its_lines(text: str, kind: FileType) -> None:
    found = parse_outline(text, kind)
    assert found.kind == kind
    assert found.line_count == line_count(text)
    starts = [section.start_line for section in found.sections]
    assert starts == sorted(starts)
    for section in found.sections:
        assert 1 <= section.start_line <= section.end_line <= found.line_count
        assert 1 <= section.level <= 6


def test_a_long_title_is_cut_with_a_mark() -> None:
    title = parse_outline("# " + "long " * 10_000, "markdown").sections[0].title
    assert len(title) == 300
    assert title.endswith("…")


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("README.md", "", "markdown"),
        ("notes.TXT", "words", "text"),
        ("llms.txt", "# Project\n\n> about\n\n## Docs\n", "markdown"),
        ("index.html", "", "html"),
        ("page", "<!DOCTYPE html><p>", "html"),
        ("run", "#!/usr/bin/env bash\n", "shell"),
        ("tool", "#!/usr/bin/python3 -u\n", "python"),
        ("app.tsx", "", "javascript"),
        ("lib.rs", "", "rust"),
        (".gitignore", "*.pyc\n", "text"),
        ("data.csv", "# a\n## b\n", "text"),
        ("book.ipynb", "", "notebook"),
        ("Makefile", "all:\n", "text"),
    ],
)
def test_the_format_is_known_by_name_else_by_the_first_lines(
    name: str, text: str, kind: str
) -> None:
    assert detect_file_type(name, text) == kind
