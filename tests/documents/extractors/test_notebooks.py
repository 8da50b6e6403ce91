"""Notebooks are read as their cells: Markdown as it is, code in fences, outputs left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rolltop.documents.extractors.document_reader import read_document

PATH = Path("work.ipynb")


def read(notebook: Any) -> tuple[str, str, list[str]]:  # any JSON
    document = read_document(json.dumps(notebook).encode(), PATH)
    return document.text, document.kind, [s.title for s in document.outline.sections]


def test_cells_become_markdown_with_fenced_code() -> None:
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "source": ["# Title\n", "\n", "words"]},
        {"cell_type": "code", "source": "# no heading\nx = 1", "outputs": [{"text": "secret"}]},
        {"cell_type": "markdown", "source": "## Next"},
        {"cell_type": "code", "source": "s = '''\n```\n# no\n```\n'''"},
        {"cell_type": "raw", "source": "# raw"},
        {"cell_type": "code", "source": []},
    ]
    metadata = {"language_info": {"name": "python"}}
    text, kind, titles = read({"cells": cells, "metadata": metadata, "nbformat": 4})
    assert kind == "notebook"
    assert titles == ["Title", "Next"]
    assert text.startswith(
        "# Title\n\nwords\n\n```python\n# no heading\nx = 1\n```\n\n## Next\n\n````python\n"
    )
    assert text.endswith("```\n# raw\n```\n")
    assert "secret" not in text


def test_older_notebooks_have_worksheets_and_heading_cells() -> None:
    cells: list[dict[str, Any]] = [
        {"cell_type": "heading", "level": 2, "source": ["Old"]},
        {"cell_type": "code", "input": ["y = 2"], "language": "python"},
    ]
    text, _, titles = read({"worksheets": [{"cells": cells}], "nbformat": 3})
    assert titles == ["Old"]
    assert "```\ny = 2\n```" in text


@pytest.mark.parametrize(("level", "marks"), [(100_000, 6), (-1, 1), (0, 1), ("3", 1), (None, 1)])
def test_a_heading_cell_of_any_level_is_a_heading(level: Any, marks: int) -> None:
    cell = {"cell_type": "heading", "level": level, "source": "Old"}
    assert read({"cells": [cell]})[0] == f"{'#' * marks} Old\n"


def test_lines_of_sections_are_lines_of_the_rendered_text() -> None:
    cells = [{"cell_type": "markdown", "source": f"# Part {number}"} for number in range(3)]
    document = read_document(json.dumps({"cells": cells}).encode(), PATH)
    lines = document.text.split("\n")
    assert [lines[s.start_line - 1] for s in document.outline.sections] == [
        "# Part 0",
        "# Part 1",
        "# Part 2",
    ]
    assert document.rendered


@pytest.mark.parametrize("kind", ["markdown", "code", "heading"])
def test_half_a_character_is_replaced_and_two_halves_are_joined(kind: str) -> None:
    cell = {"cell_type": kind, "source": ["# Cut\ud83d here ", "\ud83d", "\ude00\udc00"]}
    document = read_document(json.dumps({"cells": [cell]}).encode(), PATH)
    assert "Cut\ufffd here 😀\ufffd" in document.text
    if kind == "markdown":
        assert [s.title for s in document.outline.sections] == ["Cut\ufffd here 😀\ufffd"]


@pytest.mark.parametrize("unclosed", ["```\ncode", "<!-- a remark", "---\ntitle: x", "+++\na = 1"])
@pytest.mark.parametrize("above", [[], ["# Title"]])
def test_what_a_cell_leaves_open_ends_with_it(unclosed: str, above: list[str]) -> None:
    sources = [*above, unclosed, "## One\n\nwords\n\n### Two", "---", "---\n## Three\n---"]
    cells = [{"cell_type": "markdown", "source": source} for source in sources]
    document = read_document(json.dumps({"cells": cells}).encode(), PATH)
    lines = document.text.split("\n")
    assert [lines[s.start_line - 1] for s in document.outline.sections] == [
        *above,
        "## One",
        "### Two",
        "## Three",
    ]


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b'{"a": 1}', b"[" * 100_000, b'{"cells": 3}'])
def test_what_is_no_notebook_is_read_as_data(data: bytes) -> None:
    document = read_document(data, PATH)
    assert document.kind in {"json", "notebook"}
    assert document.text == data.decode()


@pytest.mark.parametrize(
    "cell",
    [
        None,
        3,
        {},
        {"cell_type": 1},
        {"source": 5},
        {"source": [1, None]},
        {"cell_type": "heading", "level": "x", "source": "t"},
    ],
)
def test_odd_cells_break_nothing(cell: Any) -> None:  # any JSON
    text, kind, _ = read({"cells": [cell], "metadata": [1]})
    assert kind == "notebook"
    assert isinstance(text, str)
