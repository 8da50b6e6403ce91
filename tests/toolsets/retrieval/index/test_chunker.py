"""What a file is cut into."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.toolsets.retrieval.index import chunker
from rolltop.toolsets.retrieval.index.chunker import MAX_BLOCK, MAX_OUTLINED, Chunk, split_chunks
from tests.campaign import examples

PYTHON = '''"""What the module is for."""

import os

# Says where things are.
@cached
def where(thing):
    """Return the place."""
    return os.path.join(thing)


class Box:
    """Holds things."""

    size = 3

    def open(self):
        return self.size
'''


def places(units: list[Chunk]) -> list[tuple[str, int, int]]:
    return [(unit.name, unit.line, unit.end_line) for unit in units]


def test_python_is_cut_into_functions_and_classes_and_what_is_around_them() -> None:
    units = split_chunks("src/box.py", PYTHON)
    assert places(units) == [("", 1, 3), ("where", 5, 9), ("Box", 12, 18), ("open", 17, 18)]
    assert units[3].scope == "Box"


def test_a_class_leaves_its_methods_text_to_them() -> None:
    box = split_chunks("box.py", PYTHON)[2]
    own = box.own(PYTHON)
    assert "size = 3" in own
    assert "def open" not in own


def test_a_comment_before_a_declaration_belongs_to_it() -> None:
    text = "int a;\n\n/* Adds two\n * numbers. */\nint add(int a, int b) {\n  return a + b;\n}\n"
    assert places(split_chunks("add.c", text)) == [("", 1, 1), ("add", 3, 7)]


def test_a_document_is_cut_into_sections_that_end_where_the_next_begins() -> None:
    text = "intro\n\n# Setup\n\nInstall it.\n\n## Windows\n\nClick.\n\n# Use\n\nRun it.\n"
    units = split_chunks("README.md", text)
    assert places(units) == [("", 1, 1), ("Setup", 3, 5), ("Windows", 7, 9), ("Use", 11, 13)]
    assert units[2].scope == "Setup"


def test_long_sections_and_plain_text_are_cut_at_blank_lines() -> None:
    paragraph = "\n".join(["a line of some length, like the others"] * 20) + "\n\n"
    units = split_chunks("notes.md", "# Notes\n\n" + paragraph * 20)
    assert len(units) > 5
    assert {unit.name for unit in units} == {"Notes"}
    units = split_chunks("notes.txt", paragraph * 20)
    assert len(units) > 5
    assert all(unit.end - unit.start < 2 * MAX_BLOCK for unit in units)


def test_what_is_left_of_a_class_after_a_method_is_not_lost() -> None:
    text = "class A:\n    def one(self):\n        pass\n\n    marker = 1\n"
    units = split_chunks("a.py", text)
    assert any("marker" in unit.own(text) for unit in units)


def test_texts_too_long_to_be_outlined_are_cut_at_blank_lines() -> None:
    text = "def f():\n    return 1\n\n\n" * (MAX_OUTLINED // 20)
    units = split_chunks("generated.py", text)
    assert {unit.name for unit in units} == {""}
    assert max(unit.end - unit.start for unit in units) <= MAX_BLOCK


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["def f(a):", "    def g(self):", "class C:", "# note", "", "x = 1", "    y", "}", "{",
             "});", "  end", "class D {", "  m() {", "  n = 1;", "fi",
             "# Title", "## Part", "function f() {", "long " * 300, '"""', "\x0c", "\r", "é"]
        ),
        max_size=60,
    ),
    st.sampled_from(["a.py", "a.md", "a.js", "a.c", "a.txt", "a.json", "a", "a.rst", "a.rb"]),
    st.sampled_from([1, 30, chunker.MAX_CHUNK]),
)  # fmt: skip
def test_every_word_is_in_some_unit_and_units_are_within_the_file(
    lines: list[str], path: str, most: int
) -> None:
    text = "\n".join(lines)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(chunker, "MAX_CHUNK", most)
        units = split_chunks(path, text)
    assert all(sum(end - start for start, end in unit.spans) <= most for unit in units)
    spans = sorted(span for unit in units for span in unit.spans)
    covered = "".join(text[start:end] for start, end in spans)
    assert "".join(covered.split()) == "".join(text.split())
    count = text.count("\n") + 1
    for unit in units:
        assert 1 <= unit.line <= unit.end_line <= count
        assert text[unit.start : unit.end].strip()
        above = sum(map(len, text.split("\n")[: unit.line - 1])) + unit.line - 1
        whole = "\n".join(text.split("\n")[unit.line - 1 : unit.end_line])
        assert all(above <= start < end for start, end in unit.spans)
        assert all(text[start:end].rstrip() in whole for start, end in unit.spans)


def test_many_sections_below_long_titles_stay_small() -> None:
    titles = "".join(f"{'#' * level} {'word ' * 58}\n" for level in range(1, 6))
    found = split_chunks("a.md", titles + "###### a\n" * 10_000)
    assert sum(len(chunk.titles) for chunk in found) < 10_000_000
