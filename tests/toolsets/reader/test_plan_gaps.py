"""read_plan finds text that is in no section: it is read by its lines."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest

from rolltop.core import token_counter
from tests.toolsets.reader.shelf import Shelf, make_shelf, offering

if TYPE_CHECKING:
    from pathlib import Path

FILLER = "The committee met in the usual room and spoke of the weather for a while. " * 12
SETTINGS = """import os

RETRY_LIMIT = 5
UPLOAD_FOLDER = os.environ["UPLOADS"]


def load():
    return {}


RETRY_PAUSE = 30


class Settings:
    def save(self):
        pass
"""
README = f"""![logo](logo.png)

Larkmoor schedules turbines.

# Larkmoor

## Installing

{FILLER}
"""


def plan(shelf: Shelf, query: str, room: int = 500, **more: Any) -> dict[str, Any]:
    return shelf.ok("read_plan", file_paths=["."], query=query, budget_tokens=room, **more)


def put_book(shelf: Shelf, markup: str) -> Path:
    """Put an EPUB of one chapter."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w") as archive:
        archive.writestr("META-INF/container.xml", '<c><rootfile full-path="p.opf"/></c>')
        archive.writestr(
            "p.opf",
            '<p><manifest><item id="c" href="c.html" media-type="text/html"/></manifest>'
            '<spine><itemref idref="c"/></spine></p>',
        )
        archive.writestr("c.html", markup)
    return shelf.put("book.epub", buffer.getvalue())


@pytest.mark.parametrize(
    ("name", "text", "query", "lines"),
    [
        ("note.txt", "The turbine was replaced in spring.\n", "turbine replaced", [1, 1]),
        ("note.md", f"{FILLER}\n\nThe turbine was replaced.", "turbine", [1, 3]),
        ("settings.py", SETTINGS, "upload folder", [1, 6]),
        ("settings.py", SETTINGS, "pause", [9, 13]),
        ("README.md", README, "what does Larkmoor schedule", [1, 4]),
        ("keys.yaml", "# The turbine's own.\nhost: larkmoor\n", "turbine", [1, 1]),
        ("dos.md", "Cafe\u0301 of the turbine.\r\n\r\n# One\r\n", "café", [1, 2]),
    ],
)
def test_text_that_is_in_no_section_is_found(
    shelf: Shelf, name: str, text: str, query: str, lines: list[int]
) -> None:
    path = shelf.put(name, text)
    answer = plan(shelf, query)
    found = answer["sections"][0]
    start, end = lines
    content = "".join(text.splitlines(keepends=True)[start - 1 : end])
    assert found == {
        "path": str(path),
        "uri": f"rolltop://file/docs/{name}#L{start}{f'-{end}' * (end > start)}",
        "lines": lines,
        "tokens": token_counter.count(content),
        "start_line": start,
        "end_line": end,
        "whole": True,
        "content": content,
    }
    assert "note" not in answer


def test_a_book_without_headings_is_found(shelf: Shelf) -> None:
    put_book(shelf, f"<p>{FILLER}</p><p>The turbine was replaced.</p>")
    (found,) = plan(shelf, "turbine")["sections"]
    assert found["lines"] == [1, 3]
    assert "The turbine was replaced." in found["content"]


def test_what_no_word_is_in_is_not_listed(shelf: Shelf) -> None:
    shelf.put("settings.py", SETTINGS)
    answer = plan(shelf, "load")
    assert [s["title"] for s in answer["sections"]] == ["load"]
    assert [s["title"] for s in answer["left_out"]] == ["Settings", "save"]


def test_text_without_sections_that_does_not_fit_is_read_in_part_and_priced(shelf: Shelf) -> None:
    text = "".join(f"Paragraph {n} of the turbine. {FILLER}\n\n" for n in range(30))
    shelf.put("long.md", text)
    (part,) = plan(shelf, "turbine paragraph")["sections"]
    assert part["whole"] is False
    assert part["lines"] == part["section_lines"] == [1, 60]
    assert part["tokens"] == token_counter.count(text)
    assert token_counter.count(part["content"]) <= 500
    rest = shelf.whole(part["next"]["tool"], **part["next"]["arguments"])
    assert part["content"] + rest == text
    shelf.put("short.md", f"# Turbine\n\nA turbine paragraph. {FILLER[:600]}\n")
    answer = plan(shelf, "turbine paragraph", 200)
    (left,) = answer["left_out"]
    assert left == {
        "path": str(shelf.folder / "long.md"), "lines": [1, 60], "tokens": part["tokens"]
    }  # fmt: skip
    assert answer["left_out_tokens"] == part["tokens"]


def test_text_without_sections_is_read_on_by_smart_read_alone(shelf: Shelf) -> None:
    shelf.put("long.md", "".join(f"Paragraph {n}. {FILLER}\n\n" for n in range(30)))
    (part,) = plan(offering(shelf, "read_plan", "read_section"), "paragraph")["sections"]
    assert part["whole"] is False
    assert "next" not in part


def test_a_document_that_is_too_large_is_counted_and_no_picture(tmp_path: Path) -> None:
    shelf = make_shelf(tmp_path / "docs", settings={"reader.max_file_bytes": 4_000})
    shelf.put("logs/large.log", "The turbine of Larkmoor stopped.\n" * 200)
    shelf.put("logs/picture.png", b"\x89PNG" + bytes(9_000))
    asked: dict[str, Any] = {"file_paths": ["logs"], "query": "turbine", "budget_tokens": 300}
    alone = shelf.ok("read_plan", **asked)
    assert (alone["sections"], alone["unread_files"]) == ([], 1)
    assert alone["note"] == "None of the files could be read."
    shelf.put("logs/small.log", "The turbine of Larkmoor was replaced.\n")
    answer = shelf.ok("read_plan", **asked)
    assert ("replaced" in answer["sections"][0]["content"], answer["unread_files"]) == (True, 1)


@pytest.mark.parametrize("paths", [["a", "a/b"], ["a/b", "a"], ["a/**/*.md", "a"], ["a", "a"]])
def test_folders_may_lie_in_one_another(shelf: Shelf, paths: list[str]) -> None:
    shelf.put("a/b/turbine.md", "# Turbine\n\nIt stopped.\n")
    answer = shelf.ok("read_plan", file_paths=paths, query="turbine", budget_tokens=300)
    assert [section["title"] for section in answer["sections"]] == ["Turbine"]
