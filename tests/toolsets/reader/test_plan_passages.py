"""read_plan gives of a section that does not fit what answers, and says which lines that is."""

from __future__ import annotations

from typing import Any

import pytest

from rolltop.core import token_counter
from tests.toolsets.reader.shelf import Shelf

FILLER = "The committee met in the usual room and spoke of the weather for a while."
ASKED = "The turbine of Larkmoor was replaced in spring."
CHINESE = "会议在常用的房间里举行，大家谈论了一会儿天气。"  # noqa: RUF001


def part_of(shelf: Shelf, name: str, query: str, room: int = 300, **more: Any) -> dict[str, Any]:
    """Return the only section of a plan, which is not whole."""
    (part,) = shelf.ok("read_plan", file_paths=[name], query=query, budget_tokens=room, **more)[
        "sections"
    ]
    assert part["whole"] is False
    assert token_counter.count(part["content"]) <= room
    return part


def chapter(before: int, answering: str, after: int, filler: str = f"{FILLER}\n") -> str:
    return (
        f"# Book\n\n## Chapter\n\n{filler * before}{answering}\n{filler * after}\n## End\n\nIt.\n"
    )


@pytest.mark.parametrize("room", [200, 1000])
@pytest.mark.parametrize(("before", "after"), [(900, 0), (900, 5), (450, 450)])
def test_the_lines_that_match_are_given_and_named(
    shelf: Shelf, before: int, after: int, room: int
) -> None:
    text = chapter(before, ASKED, after)
    shelf.put("book.md", text)
    part = part_of(shelf, "book.md", "turbine Larkmoor replaced", room)
    assert ASKED in part["content"]
    lines = text.splitlines(keepends=True)
    assert part["content"] == "".join(lines[part["start_line"] - 1 : part["end_line"]])
    assert token_counter.count(part["content"]) > room / 2
    assert part["section_lines"] == [3, lines.index("## End\n")]


def test_what_follows_a_part_is_next_and_what_comes_before_is_in_the_section(shelf: Shelf) -> None:
    shelf.put("book.md", chapter(450, ASKED, 450))
    part = part_of(shelf, "book.md", "turbine Larkmoor")
    asked = {"file_path": "book.md", "section_heading": part["id"]}
    whole = shelf.whole("read_section", **asked)
    following = shelf.whole(part["next"]["tool"], **part["next"]["arguments"])
    assert whole.endswith(part["content"] + following)
    assert whole.count("\n") == part["section_lines"][1] - part["section_lines"][0] + 1


def test_next_is_the_section_itself_where_nothing_follows_a_part(shelf: Shelf) -> None:
    shelf.put("book.md", chapter(900, ASKED, 0))
    part = part_of(shelf, "book.md", "turbine Larkmoor")
    assert part["end_line"] == part["section_lines"][1]
    assert shelf.ok(part["next"]["tool"], **part["next"]["arguments"])["content"].startswith(
        "## Chapter"
    )


def test_a_cut_plan_reads_on_behind_the_lines_that_match(shelf: Shelf) -> None:
    shelf.put("book.md", chapter(450, ASKED, 450))
    answer = shelf.ok(
        "read_plan", file_paths=["book.md"], query="turbine", budget_tokens=2000, max_tokens=500
    )
    (part,) = answer["sections"]
    assert ASKED in part["content"]
    assert answer["next"] == part["next"]


def test_the_asked_line_of_a_log_is_given(shelf: Shelf) -> None:
    lines = [f"2031-05-04 10:00:00 INFO worker {n} is idle, no error" for n in range(9000)]
    lines[8990] = "2031-05-04 12:00:00 ERROR disk of worker seven is full"
    shelf.put("app.log", "\n".join(lines))
    part = part_of(shelf, "app.log", "error disk full worker")
    assert lines[8990] in part["content"]
    assert part["start_line"] <= 8991 <= part["end_line"]


def test_words_that_stand_in_all_of_a_large_log_hide_no_others(shelf: Shelf) -> None:
    lines = ["v w x y z"] * 600_000
    lines[590_000] = "failed w"
    shelf.put("app.log", "\n".join(lines))
    assert lines[590_000] in part_of(shelf, "app.log", "v w x y z failed")["content"]


@pytest.mark.parametrize(
    ("filler", "answering", "query"),
    [
        (f"{FILLER} ", ASKED, "Larkmoor turbine"),
        (CHINESE, "拉克穆尔的涡轮机在春天被更换了", "涡轮机更换"),
        ("Le cafe\u0301 est ferme\u0301. ", "La the\u0301ie\u0300re siffle.", "théière"),
        ("Le cafe\u0301 est ferme\u0301.\n", "La the\u0301ie\u0300re siffle.", "théière"),
    ],
)
def test_a_match_within_long_lines_and_in_any_script_is_given(
    shelf: Shelf, filler: str, answering: str, query: str
) -> None:
    shelf.put("book.md", chapter(700, answering, 700, filler))
    part = part_of(shelf, "book.md", query)
    assert answering in part["content"]
    assert part["content"].index(answering) < len(part["content"]) / 2


def test_where_the_words_stand_together_tells_more_than_where_each_stands(shelf: Shelf) -> None:
    early = f"The turbine hums. {FILLER * 12}\nIt was replaced. {FILLER * 12}\nLarkmoor is far.\n"
    shelf.put("book.md", chapter(3, early + f"{FILLER}\n" * 400 + ASKED, 300))
    assert ASKED in part_of(shelf, "book.md", "turbine Larkmoor replaced", 1500)["content"]


def test_a_section_that_answers_at_once_is_given_from_its_beginning(shelf: Shelf) -> None:
    later = f"{FILLER * 300}\n{ASKED}\n{FILLER * 100}"
    shelf.put("book.md", f"# Book\n\n## Turbine\n\n{ASKED}\n{later}\n")
    part = part_of(shelf, "book.md", "turbine Larkmoor")
    assert part["content"].startswith("## Turbine")
    assert part["start_line"] == part["section_lines"][0] == 3
