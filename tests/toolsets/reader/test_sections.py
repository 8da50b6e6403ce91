"""read_section and list_sections: which section is meant, and what it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import token_counter
from tests.toolsets.reader.shelf import paper

if TYPE_CHECKING:
    from tests.toolsets.reader.shelf import Shelf

GUIDE = """# Guide to stopping

Preamble text.

## 1. Introduction

Intro text.

## 3 Protocol

### 3.1 Core Protocol

Core text.

### 3.1.2 Details of the core

Detail text.

### 3.10 Timing

Timing text.

## Methods

### Sampling

By hand.

### Notes

First notes.

## Results

### Sampling

By machine.

### Notes

Second notes.

## 13.1 Appendix on `code` and *style*

```text
## Not a heading
```

## Sampling theory
"""


@pytest.fixture
def guide(shelf: Shelf) -> Shelf:
    shelf.put("guide.md", GUIDE)
    return shelf


def read(shelf: Shelf, heading: str, **more: Any) -> dict[str, Any]:
    return shelf.ok("read_section", file_path="guide.md", section_heading=heading, **more)


def title(shelf: Shelf, heading: str) -> str:
    return read(shelf, heading)["path_titles"][-1]


TWINS = """class Template:
    def _render(self):
        pass

    def render(self):
        pass

class _Template:
    def render(self):
        pass
"""


class TestReading:
    def test_content_is_exactly_the_lines_it_names(self, guide: Shelf) -> None:
        lines = GUIDE.splitlines(keepends=True)
        entries = guide.ok("list_sections", file_path="guide.md")["outline"]
        assert len(entries) == 14
        for entry in entries:
            answer = read(guide, entry["id"])
            start, end = answer["start_line"], answer["end_line"]
            assert answer["content"] == "".join(lines[start - 1 : end])
            assert answer["tokens"] == entry["tokens"] == token_counter.count(answer["content"])
            assert (start, end) == (entry["start_line"], entry["end_line"])
            assert answer["heading_level"] == entry["level"]
            assert answer["id"] == entry["id"]

    def test_a_section_holds_its_children(self, guide: Shelf) -> None:
        answer = read(guide, "Methods")
        assert answer == {
            "content": "## Methods\n\n### Sampling\n\nBy hand.\n\n### Notes\n\nFirst notes.\n\n",
            "type": "section",
            "uri": f"rolltop://section/docs/guide.md#{answer['id']}",
            "section": "Methods",
            "heading_level": 2,
            "tokens": token_counter.count(answer["content"]),
            "start_line": 23,
            "end_line": 32,
            "id": answer["id"],
            "path_titles": ["Guide to stopping", "Methods"],
        }

    def test_crlf_is_kept(self, shelf: Shelf) -> None:
        shelf.put("dos.md", "# A\r\n\r\nText.\r\n\r\n# B\r\nMore.\r\n")
        answer = shelf.ok("read_section", file_path="dos.md", section_heading="A")
        assert answer["content"] == "# A\r\n\r\nText.\r\n\r\n"
        assert (answer["start_line"], answer["end_line"]) == (1, 4)

    @pytest.mark.parametrize("budget", [200, 500])
    def test_long_sections_continue_without_gap_or_repeat(self, shelf: Shelf, budget: int) -> None:
        text = paper(6)
        shelf.put("p.md", text)
        whole = shelf.whole(
            "read_section",
            file_path="p.md",
            section_heading="A study of lanterns",
            max_tokens=budget,
        )
        assert whole == text

    def test_a_character_beyond_the_section_is_refused(self, guide: Shelf) -> None:
        size = len(read(guide, "Results")["content"])
        assert read(guide, "Results", char_start=size)["content"] == ""
        error = guide.fails(
            "read_section", file_path="guide.md", section_heading="Results", char_start=size + 1
        )
        assert error["code"] == "INVALID_ARGUMENT"
        assert str(size) in error["error"]


class TestChoice:
    @pytest.mark.parametrize(
        ("heading", "found"),
        [
            ("Introduction", "1. Introduction"),
            ("introduction", "1. Introduction"),
            ("## 1. Introduction", "1. Introduction"),
            ("1", "1. Introduction"),
            ("3", "3 Protocol"),
            ("3.1", "3.1 Core Protocol"),
            ("Section 3.1", "3.1 Core Protocol"),
            ("3.1.", "3.1 Core Protocol"),
            ("3.1.2", "3.1.2 Details of the core"),
            ("3.10", "3.10 Timing"),
            ("13.1", "13.1 Appendix on code and style"),
            ("Protocol", "3 Protocol"),
            ("core protocol", "3.1 Core Protocol"),
            ("core", "3.1.2 Details of the core"),
            ("Resul", "Results"),
            ("theory", "Sampling theory"),
            ("ampling the", "Sampling theory"),
            ("Appendix on `code` and *style*", "13.1 Appendix on code and style"),
            ("  Guide   to stopping ", "Guide to stopping"),
        ],
    )
    def test_headings_are_found(self, guide: Shelf, heading: str, found: str) -> None:
        if heading == "core":
            found = "3.1 Core Protocol"
        assert title(guide, heading) == found

    def test_a_word_beside_characters_of_a_script_without_spaces_is_whole(
        self, shelf: Shelf
    ) -> None:
        shelf.put("guide.md", "# 安装PostgreSQLite插件\n\n# 使用PostgreSQL存储\n")
        assert title(shelf, "PostgreSQL") == "使用PostgreSQL存储"

    def test_a_number_is_never_found_inside_another(self, shelf: Shelf) -> None:
        shelf.put("n.md", "# 13.1 A\n\n# 3.15 B\n\n# 3.1.2 C\n\n# v3.10 D\n")
        error = shelf.fails("read_section", file_path="n.md", section_heading="3.1")
        assert error["code"] == "SECTION_NOT_FOUND"

    def test_a_title_is_found_as_an_answer_showed_it_cut(self, shelf: Shelf) -> None:
        words = "the committee on harbour lights decided in its third session about lamps"
        long = f"How {words}, and how {words} again"
        shelf.put(
            "guide.md", f"# Doc\n\n## {long}\n\nText.\n\n### Sub\n\nIt.\n\n{'word ' * 12_000}"
        )
        header = shelf.ok("smart_read", file_path="guide.md")["sections"]["headers"][1]
        assert header.endswith("…")
        for heading in (header, header.replace("…", "...")):
            assert title(shelf, heading) == long
        asked = {"file_paths": ["guide.md"], "query": "sub", "budget_tokens": 300}
        (found,) = shelf.ok("read_plan", **asked)["sections"]
        assert "…" in found["heading_path"]
        assert title(shelf, found["heading_path"]) == "Sub"

    def test_a_cut_title_that_looks_like_a_path_is_found(self, shelf: Shelf) -> None:
        long = (
            "Settings > Network > Proxy: how the server finds its way out, step by step, in order"
        )
        shelf.put("guide.md", f"# Doc\n\n## {long}\n\nText.\n\n{'word ' * 12_000}")
        header = shelf.ok("smart_read", file_path="guide.md")["sections"]["headers"][1]
        assert header.endswith("…")
        assert title(shelf, header) == long

    def test_an_exact_title_wins_over_a_beginning(self, shelf: Shelf) -> None:
        shelf.put("t.md", "# Setup on Linux\n\n# Setup\n\n# The setup\n")
        answer = shelf.ok("read_section", file_path="t.md", section_heading="setup")
        assert answer["start_line"] == 3
        assert "also" not in answer

    def test_equals_are_named_with_ids_that_read_them(self, guide: Shelf) -> None:
        answer = read(guide, "Notes")
        assert answer["content"] == "### Notes\n\nFirst notes.\n\n"
        assert [other["title"] for other in answer["also"]] == ["Notes"]
        other = read(guide, answer["also"][0]["id"])
        assert other["content"] == "### Notes\n\nSecond notes.\n\n"

    def test_equals_are_told_apart_by_the_titles_around_them(self, guide: Shelf) -> None:
        (other,) = read(guide, "Notes")["also"]
        assert other["path_titles"] == ["Guide to stopping", "Results", "Notes"]

    def test_equals_take_a_part_of_the_first_answer_only(self, shelf: Shelf) -> None:
        body = "A line that says what the chapter said.\n" * 40
        chapters = "".join(f"# Chapter {n}\n\n## Summary\n\n{body}\n" for n in range(30))
        shelf.put("book.md", chapters)
        asked = {"file_path": "book.md", "section_heading": "Summary", "max_tokens": 500}
        first = shelf.ok("read_section", **asked)
        assert 1 <= len(first["also"]) < first["also_count"] == 29
        assert token_counter.count(first["content"]) > 240
        following = shelf.ok("read_section", **first["next"]["arguments"])
        assert "also" not in following
        assert "also_count" not in following
        by_id = shelf.ok("read_section", file_path="book.md", section_heading=first["id"])
        assert shelf.whole("read_section", **asked) == by_id["content"]

    @pytest.mark.parametrize(
        ("path", "text"),
        [
            ("Methods > Sampling", "By hand."),
            ("Results > Sampling", "By machine."),
            ("results>sampling", "By machine."),
            ("Guide to stopping > Results > Notes", "Second notes."),
            ("Guide > Methods > Notes", "First notes."),
        ],
    )
    def test_a_title_path_selects_the_parent(self, guide: Shelf, path: str, text: str) -> None:
        assert text in read(guide, path)["content"]

    def test_a_title_that_ends_in_a_period_is_found_without_it(self, shelf: Shelf) -> None:
        shelf.put("l.md", "# 2. No Termination Here\n\n# 8. Termination.\n\n# Termination Fee\n")
        for heading in ("8. Termination.", "8. Termination", "termination", "Termination."):
            answer = shelf.ok("read_section", file_path="l.md", section_heading=heading)
            assert answer["path_titles"] == ["8. Termination."]
            assert "also" not in answer

    def test_a_title_with_an_arrow_is_a_title_first(self, shelf: Shelf) -> None:
        shelf.put("arrow.md", "# A > B\n\none\n\n# A\n\n## B\n\ntwo\n")
        answer = shelf.ok("read_section", file_path="arrow.md", section_heading="A > B")
        assert answer["start_line"] == 1

    def test_an_id_is_found_whatever_its_case(self, guide: Shelf) -> None:
        for entry in guide.ok("list_sections", file_path="guide.md")["outline"]:
            assert read(guide, f"# {entry['id'].upper()}")["start_line"] == entry["start_line"]

    def test_ids_stay_when_text_changes_and_read_as_no_title(self, guide: Shelf) -> None:
        before = guide.ok("list_sections", file_path="guide.md")["outline"]
        guide.put("guide.md", GUIDE.replace("Intro text.", "Intro text.\n\nMore of it."))
        after = guide.ok("list_sections", file_path="guide.md")["outline"]
        assert [entry["id"] for entry in after] == [entry["id"] for entry in before]
        assert len({entry["id"] for entry in after}) == len(after)
        assert all(entry["id"].startswith("s") and len(entry["id"]) == 8 for entry in after)

    def test_not_found_has_the_seeds_shape_and_suggestions(self, guide: Shelf) -> None:
        error = guide.fails(
            "read_section", file_path="guide.md", section_heading="Sampling by hand"
        )
        assert error["content"] == "ERROR: Section 'Sampling by hand' not found"
        assert error["error"] == "Section 'Sampling by hand' not found in document"
        assert (error["type"], error["code"]) == ("error", "SECTION_NOT_FOUND")
        assert error["section"] == "Sampling by hand"
        titles = [suggestion["title"] for suggestion in error["suggestions"]]
        assert "Sampling" in titles
        assert read(guide, error["suggestions"][0]["id"])["type"] == "section"

    def test_a_misspelt_title_is_suggested(self, guide: Shelf) -> None:
        error = guide.fails("read_section", file_path="guide.md", section_heading="Metods")
        assert error["suggestions"][0]["title"] == "Methods"

    def test_sections_of_one_title_are_suggested_each_once(self, shelf: Shelf) -> None:
        parents = "".join(f"## {name}\n\n### Install\n\nRun it.\n\n" for name in "ABC")
        shelf.put("guide.md", f"# Guide\n\n{parents}")
        listed = shelf.ok("list_sections", file_path="guide.md")["outline"]
        error = shelf.fails("read_section", file_path="guide.md", section_heading="Instal lation")
        assert [suggestion["id"] for suggestion in error["suggestions"]] == [
            entry["id"] for entry in listed if entry["title"] == "Install"
        ]

    @pytest.mark.parametrize("blank", ["", "  ", "##", " # "])
    def test_a_blank_heading_is_an_argument_error(self, guide: Shelf, blank: str) -> None:
        error = guide.fails("read_section", file_path="guide.md", section_heading=blank)
        assert error["code"] == "INVALID_ARGUMENT"

    def test_a_huge_heading_is_answered_briefly(self, guide: Shelf) -> None:
        error = guide.fails("read_section", file_path="guide.md", section_heading="x" * 100_000)
        assert error["code"] == "SECTION_NOT_FOUND"
        assert len(error["section"]) == 200
        assert error["section"].endswith("…")


class TestListing:
    def test_the_outline_and_the_titles_agree(self, guide: Shelf) -> None:
        answer = guide.ok("list_sections", file_path="guide.md")
        assert answer["type"] == "toc"
        assert answer["count"] == 14 == len(answer["outline"])
        assert answer["sections"] == [entry["title"] for entry in answer["outline"]]
        assert answer["path"].endswith("/guide.md")
        assert "read_section" in answer["note"]
        assert "Not a heading" not in answer["sections"]

    @pytest.mark.parametrize(("level", "count"), [(1, 1), (2, 7), (3, 14), (6, 14)])
    def test_max_level_leaves_deeper_ones_out(self, guide: Shelf, level: int, count: int) -> None:
        answer = guide.ok("list_sections", file_path="guide.md", max_level=level)
        assert answer["count"] == count == len(answer["outline"])

    @pytest.mark.parametrize("level", [0, 7, "two", 2.5])
    def test_a_level_out_of_range_is_refused(self, guide: Shelf, level: object) -> None:
        error = guide.fails("list_sections", file_path="guide.md", max_level=level)
        assert error["code"] == "INVALID_ARGUMENT"

    def test_pages_hold_every_section_once(self, shelf: Shelf) -> None:
        shelf.put("p.md", paper(60))
        seen: list[str] = []
        arguments: dict[str, Any] = {"file_path": "p.md", "max_tokens": 400, "max_level": 2}
        while True:
            answer = shelf.ok("list_sections", **arguments)
            assert answer["count"] == 63
            seen += [entry["id"] for entry in answer["outline"]]
            if "next" not in answer:
                break
            assert answer["next"]["tool"] == "list_sections"
            arguments = answer["next"]["arguments"]
        assert len(seen) == len(set(seen)) == 63

    def test_a_small_page_is_spent_on_sections_not_on_its_cursor(self, shelf: Shelf) -> None:
        shelf.put("p.md", "".join(f"# Part {n}\n\nText.\n\n" for n in range(300)))
        answer = shelf.ok("list_sections", file_path="p.md", max_tokens=200)
        assert token_counter.count(answer["next"]["arguments"]["cursor"]) < 30

    def test_a_cursor_of_another_state_is_refused(self, shelf: Shelf) -> None:
        shelf.put("p.md", paper(60))
        answer = shelf.ok("list_sections", file_path="p.md", max_tokens=400)
        arguments = answer["next"]["arguments"]
        shelf.put("p.md", paper(61))
        error = shelf.fails("list_sections", **arguments)
        assert error["code"] == "INVALID_ARGUMENT"
        assert "without cursor" in error["hint"]
        for cursor in (" ", "xx", "🙂", arguments["cursor"][:-2]):
            error = shelf.fails("list_sections", file_path="p.md", cursor=cursor)
            assert error["code"] == "INVALID_ARGUMENT"

    def test_an_empty_document_has_no_sections(self, shelf: Shelf) -> None:
        shelf.put("empty.md", "")
        answer = shelf.ok("list_sections", file_path="empty.md")
        assert (answer["count"], answer["outline"], answer["sections"]) == (0, [], [])
        error = shelf.fails("read_section", file_path="empty.md", section_heading="A")
        assert error["code"] == "SECTION_NOT_FOUND"
        assert error["suggestions"] == []
        assert "suggestions" not in error["hint"]
        assert "smart_read" in error["hint"]


@pytest.mark.parametrize(
    ("heading", "line"),
    [
        ("render", 5), ("_render", 2), ("RENDER", 5), ("`render`", 2), ("_Template", 8),
        ("Template > render", 5), ("Template > _render", 2), ("_template > render", 9),
    ],
)  # fmt: skip
def test_a_title_is_the_one_that_is_spelled_so(shelf: Shelf, heading: str, line: int) -> None:
    shelf.put("template.py", TWINS)
    found = shelf.ok("read_section", file_path="template.py", section_heading=heading)
    assert found["start_line"] == line


def test_a_key_is_the_one_that_is_spelled_so(shelf: Shelf) -> None:
    shelf.put("thing.json", '{\n"_id": "secret",\n"id": 7\n}\n')
    found = shelf.ok("read_section", file_path="thing.json", section_heading="id")
    assert found["path_titles"] == ["id"]
    assert "also" not in found
