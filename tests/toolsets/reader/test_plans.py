"""read_plan: the sections that answer a query, whole, within a budget."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from rolltop.core import pagination, token_counter
from tests.toolsets.reader.shelf import Shelf, offering

FILLER = "The committee met in the usual room and spoke of the weather for a while. " * 12
MANUAL = f"""# Manual

## Installation

Run the installer and follow what it says. {FILLER}

## Configuring the retry limit

The retry limit says how often a failed upload is tried again. {FILLER}

## Colours

{FILLER}
"""
NOTES = f"""# Notes

## Uploads

An upload that failed is retried. The limit is five. {FILLER}

## Birds

{FILLER}
"""


@pytest.fixture
def two(shelf: Shelf) -> Shelf:
    shelf.put("manual.md", MANUAL)
    shelf.put("notes.md", NOTES)
    return shelf


def plan(shelf: Shelf, query: str, room: int, **more: Any) -> dict[str, Any]:
    return shelf.ok(
        "read_plan",
        file_paths=["manual.md", "notes.md"],
        query=query,
        budget_tokens=room,
        **more,
    )


def test_the_best_sections_come_whole_and_first(two: Shelf) -> None:
    answer = plan(two, "retry limit of failed uploads", 500)
    assert [s["title"] for s in answer["sections"]] == ["Configuring the retry limit", "Uploads"]
    for section in answer["sections"]:
        assert section["whole"] is True
        read = two.ok("read_section", file_path=section["path"], section_heading=section["id"])
        assert read["content"] == section["content"]
        assert read["tokens"] == section["tokens"]
    assert answer["tokens"] == sum(s["tokens"] for s in answer["sections"]) <= 500


def test_what_is_left_out_is_priced(two: Shelf) -> None:
    answer = plan(two, "retry limit", 500)
    shown = {s["title"] for s in answer["sections"]}
    left = {s["title"]: s["tokens"] for s in answer["left_out"]}
    assert shown.isdisjoint(left)
    assert {"Installation", "Birds", "Colours"} <= set(left)
    assert all(price > 0 for price in left.values())
    assert answer["left_out_count"] == len(left)
    assert answer["left_out_tokens"] >= max(left.values())


def test_a_part_of_a_section_fills_the_rest_and_continues(two: Shelf) -> None:
    long = "retry limit words\n\n" + "\n\n".join(f"Paragraph {n}. {FILLER}" for n in range(9))
    two.put("manual.md", f"# M\n\n## Long\n\n{long}\n")
    answer = plan(two, "retry limit words paragraph", 450)
    part = answer["sections"][-1]
    assert part["whole"] is False
    assert token_counter.count(part["content"]) <= 450
    rest = two.ok(part["next"]["tool"], **part["next"]["arguments"])
    whole = two.ok("read_section", file_path=part["path"], section_heading=part["id"])
    assert part["content"] + rest["content"] == whole["content"]


@pytest.mark.parametrize("room", [200, 300, 500, 1000, 5000])
@pytest.mark.parametrize("answer_budget", [200, 400, 20_000])
def test_both_budgets_hold(two: Shelf, room: int, answer_budget: int) -> None:
    answer = plan(two, "upload committee weather", room, max_tokens=answer_budget)
    assert sum(token_counter.count(s["content"]) for s in answer["sections"]) <= room
    assert answer["tokens"] <= room


@pytest.mark.parametrize("answer_budget", [500, 1000, 2000])
def test_a_small_answer_to_a_large_budget_still_reads_what_fits(
    shelf: Shelf, answer_budget: int
) -> None:
    shelf.put("manual.md", "\n".join(f"## Upload {n}\n\n{FILLER}\n" for n in range(90)))
    shelf.put("notes.md", NOTES)
    answer = plan(shelf, "upload committee weather", 20_000, max_tokens=answer_budget)
    cost = pagination.count_tokens(answer)
    assert cost <= answer_budget
    left_by_paths_and_prices = answer_budget - (cost - answer["tokens"])
    assert answer["tokens"] > left_by_paths_and_prices / 2


def test_no_line_is_read_twice_nor_priced_where_it_was_read(shelf: Shelf) -> None:
    words = ("upload", "retry", "committee", "weather", "birds")
    for name in ("manual.md", "notes.md"):
        shelf.put(
            name,
            "\n".join(
                f"{'#' * (n * 7 % 4 + 1)} {words[n % 5]} {n}\n\nbody {n}\n" for n in range(60)
            ),
        )
    answer = plan(shelf, "upload retry birds", 400)
    spans = sorted((s["path"], s["start_line"], s["end_line"]) for s in answer["sections"])
    assert len(spans) > 10
    for before, after in pairwise(spans):
        assert before[0] < after[0] or before[2] < after[1]
    outlines = {
        path: {s["id"]: s for s in shelf.ok("list_sections", file_path=path)["outline"]}
        for path in {span[0] for span in spans}
    }
    for priced in answer["left_out"]:
        section = outlines[priced["path"]][priced["id"]]
        for path, start, end in spans:
            apart = section["end_line"] < start or end < section["start_line"]
            assert path != priced["path"] or apart


LINE = "Latency is important here for all of us. " * 200


def long_lines(shelf: Shelf, sections: int = 40) -> None:
    """Put a document whose sections are each one line, as editors that wrap on screen write."""
    body = "".join(f"## S{n}\n\n{LINE}\n\n" for n in range(sections))
    shelf.put("manual.md", f"# Doc\n\n{body}")
    shelf.put("notes.md", "")


@pytest.mark.parametrize("room", [200, 500, 1500])
def test_a_line_over_the_budget_is_cut_within_it_and_the_rest_is_priced(
    shelf: Shelf, room: int
) -> None:
    long_lines(shelf)
    answer = plan(shelf, "latency", room)
    (part,) = answer["sections"]
    assert "Latency" in part["content"]
    assert room / 2 < answer["tokens"] <= room
    whole = shelf.ok("read_section", file_path=part["path"], section_heading=part["id"])
    rest = shelf.ok(part["next"]["tool"], **part["next"]["arguments"])
    assert part["content"] + rest["content"] == whole["content"]
    assert answer["left_out_count"] == 39
    assert answer["left_out_tokens"] == pytest.approx(39 * whole["tokens"], rel=0.01)


@pytest.mark.parametrize("room", [200, 500, 1500])
def test_a_small_budget_lists_fewer_of_what_is_left_out(shelf: Shelf, room: int) -> None:
    long_lines(shelf)
    answer = plan(shelf, "latency", room)
    assert 3 <= len(answer["left_out"]) < answer["left_out_count"]
    assert pagination.count_tokens(answer) < 3 * room


def test_a_part_is_of_the_section_that_answers_not_of_the_one_around_it(shelf: Shelf) -> None:
    silent = "Nothing to see here, and nothing to do either. " * 100
    talking = f"A zebra stands here. A zebra runs there. {silent} The zebra sleeps."
    body = "".join(f"## S{n}\n\n{talking if n % 2 else silent}\n\n" for n in range(40))
    for title in ("Doc", "The zebra guide"):
        shelf.put("manual.md", f"# {title}\n\n{body}")
        shelf.put("notes.md", "")
        (part,) = plan(shelf, "zebra", 300)["sections"]
        assert part["title"] == "S1"
        assert "A zebra stands here" in part["content"]


def test_a_part_of_the_best_comes_before_whole_sections_that_hardly_answer(shelf: Shelf) -> None:
    best = f"The retry limit says how often an upload is tried again. {FILLER}\n\n" * 12
    others = "".join(f"## Other {n}\n\nThere is no limit to birds. {FILLER}\n\n" for n in range(9))
    shelf.put("manual.md", f"# Manual\n\n{others}## Retry limit\n\n{best}")
    shelf.put("notes.md", "")
    answer = plan(shelf, "retry limit", 1500)
    assert [(s["title"], s["whole"]) for s in answer["sections"]] == [("Retry limit", False)]
    assert answer["tokens"] > 1000
    assert "note" not in answer


def test_a_plan_says_where_the_best_section_did_not_fit(shelf: Shelf) -> None:
    short = f"The retry limit is five. {FILLER[:600]}"
    long = f"The retry limit is told. The retry limit is five. {FILLER}"
    others = "".join(f"## Other {n}\n\n{FILLER}\n\n" for n in range(9))
    shelf.put("manual.md", f"## Retry limit\n\n{long}\n\n## Uploads\n\n{short}\n\n{others}")
    shelf.put("notes.md", "")
    answer = plan(shelf, "retry limit", 200)
    assert [s["title"] for s in answer["sections"]] == ["Uploads"]
    assert answer["left_out"][0]["title"] == "Retry limit"
    assert "left_out" in answer["note"]


@pytest.mark.parametrize("room", [400, 1000, 2000, 4000])
def test_the_list_of_what_is_left_out_takes_a_part_of_the_budget(shelf: Shelf, room: int) -> None:
    shelf.put("manual.md", "\n".join(f"## Upload {n}\n\n{FILLER}\n" for n in range(90)))
    shelf.put("notes.md", "")
    left = plan(shelf, "upload committee", room)["left_out"]
    assert 3 <= len(left) <= 20
    assert len(left) == 3 or pagination.count_tokens(left) < room / 3


def test_a_part_runs_on_under_a_title_that_answers(shelf: Shelf) -> None:
    steps = "".join(f"### Step {n}\n\nOpen the file and save it. {FILLER}\n\n" for n in range(9))
    other = "".join(
        f"## Other {n}\n\nThere is no limit to birds. {FILLER}{FILLER}\n\n" for n in "ab"
    )
    shelf.put("manual.md", f"# Manual\n\n{other}## Configuring the retry limit\n\n{steps}")
    shelf.put("notes.md", "")
    answer = plan(shelf, "retry limit", 290)
    (part,) = answer["sections"]
    assert part["title"] == "Configuring the retry limit"
    assert "Open the file" in part["content"]
    assert "Step 1" in part["content"]
    assert answer["left_out_count"] == len(("Other a", "Other b", *range(2, 9)))


@pytest.mark.parametrize("answer_budget", [400, 900])
def test_a_cut_plan_goes_on_with_the_section_it_began(shelf: Shelf, answer_budget: int) -> None:
    long_lines(shelf)
    answer = plan(shelf, "latency", 2000, max_tokens=answer_budget)
    assert answer["truncated"] is True
    part = answer["sections"][-1]
    rest = shelf.ok(answer["next"]["tool"], **answer["next"]["arguments"])
    whole = shelf.ok("read_section", file_path=part["path"], section_heading=part["id"])
    assert part["content"] + rest["content"] == whole["content"]


@pytest.mark.parametrize("answer_budget", [400, 900, 20_000])
def test_without_read_section_a_plan_goes_on_with_smart_read(
    shelf: Shelf, answer_budget: int
) -> None:
    long_lines(shelf, 3)
    narrow = offering(shelf, "smart_read", "read_plan")
    answer = plan(narrow, "latency", 1000, max_tokens=answer_budget)
    (part,) = answer["sections"]
    rest = narrow.ok(part["next"]["tool"], **part["next"]["arguments"])
    whole = shelf.ok("read_section", file_path=part["path"], section_heading=part["id"])
    assert (part["content"] + rest["content"]).startswith(whole["content"])
    assert answer.get("next", part["next"]) == part["next"]


@pytest.mark.parametrize("reading", ["read_section", "smart_read"])
def test_a_cut_plan_that_gives_whole_sections_goes_on_with_another(
    shelf: Shelf, reading: str
) -> None:
    long = f"An upload is described. {FILLER}" * 3
    short = "".join(f"## Upload {n}\n\nThe upload {n}.\n\n" for n in range(3))
    shelf.put("manual.md", f"# Doc\n\n{short}## Long\n\n{long}\n")
    shelf.put("notes.md", "")
    desk = offering(shelf, reading, "read_plan")
    answers = [plan(desk, "upload", 1000, max_tokens=most) for most in range(300, 900, 20)]
    cut = [a for a in answers if a.get("truncated") and all(s["whole"] for s in a["sections"])]
    assert cut
    for answer in cut:
        assert answer["next"]["tool"] == reading
        following = desk.ok(reading, **answer["next"]["arguments"])["content"]
        assert following.startswith(("## Upload", "## Long"))
        assert not any(s["content"].startswith(following[:12]) for s in answer["sections"])


def test_where_no_other_tool_is_offered_a_plan_names_none(shelf: Shelf) -> None:
    long_lines(shelf, 3)
    alone = offering(shelf, "read_plan")
    for answer_budget in (400, 20_000):
        answer = plan(alone, "latency", 1000, max_tokens=answer_budget)
        assert answer["sections"][0]["whole"] is False
        assert "next" not in answer
        assert "next" not in answer["sections"][0]


def test_no_word_of_the_query_occurs(two: Shelf) -> None:
    answer = plan(two, "zymurgy", 500)
    assert answer["sections"] == []
    assert answer["left_out"]
    assert "No section" in answer["note"]


@pytest.mark.parametrize(
    ("query", "word"),
    [("how does caching work", "Cache"), ("policies", "policy"), ("running", "runs")],
)
def test_where_no_word_of_the_query_occurs_one_with_another_ending_is_found(
    shelf: Shelf, query: str, word: str
) -> None:
    for n in range(55):
        shelf.put(f"guides/{n:02}.md", f"# Guide {n}\n\n{FILLER}")
    shelf.put("guides/zz.md", f"# D\n\n## One\n\nNone.\n\n## Two\n\nA {word} is here.\n")
    answer = shelf.ok("read_plan", file_paths=["guides"], query=query, budget_tokens=200)
    assert answer["sections"][0]["title"] == "Two"
    answer = shelf.ok("read_plan", file_paths=["guides/zz.md"], query=query, budget_tokens=200)
    assert answer["sections"][0]["title"] in {"D", "Two"}
    assert "note" not in answer


@pytest.mark.parametrize(
    "arguments",
    [
        {"file_paths": [], "query": "a", "budget_tokens": 300},
        {"file_paths": ["manual.md"] * 21, "query": "a", "budget_tokens": 300},
        {"file_paths": ["manual.md"], "query": "  ?! ", "budget_tokens": 300},
        {"file_paths": ["manual.md"], "query": "a", "budget_tokens": 100},
        {"file_paths": "['manual.md', guide.md", "query": "a", "budget_tokens": 300},
        {"file_paths": ["manual.md"], "query": "a"},
    ],
)
def test_wrong_arguments(two: Shelf, arguments: dict[str, Any]) -> None:
    assert two.fails("read_plan", **arguments)["code"] == "INVALID_ARGUMENT"


def test_a_missing_file_is_named(two: Shelf) -> None:
    error = two.fails(
        "read_plan", file_paths=["manual.md", "gone.md"], query="a b", budget_tokens=300
    )
    assert error["code"] == "FILE_NOT_FOUND"
    assert "gone.md" in error["error"]


def release_notes(*versions: str) -> str:
    """Return release notes whose sections have the same titles under each version."""
    about = {
        "1.39.0": "The `async` and `await` syntax is now stable.",
        "1.40.0": "You can now use `#[non_exhaustive]` on enums.",
    }
    parts = ["# Releases\n"]
    for version in versions:
        parts.append(f"## Version {version}\n")
        parts.append(f"### Language\n\n{about.get(version, 'Some lints were added.')} {FILLER}\n")
        parts.append(f"### Libraries\n\nMany functions of {version[-3]} are const now. {FILLER}\n")
    return "\n".join(parts)


def test_a_section_is_shown_with_the_titles_above_it(shelf: Shelf) -> None:
    shelf.put("releases.md", release_notes("1.40.0", "1.39.0", "1.38.0"))
    asked = {"file_paths": ["releases.md"], "budget_tokens": 500}
    answer = shelf.ok("read_plan", query="which release stabilized async await", **asked)
    best = answer["sections"][0]
    assert best["heading_path"] == "Releases > Version 1.39.0 > Language"
    for section in (best, *answer["left_out"]):
        name = section["heading_path"]
        read = shelf.ok("read_section", file_path="releases.md", section_heading=name)
        assert read["id"] == section["id"]


def test_the_titles_above_a_section_are_searched(shelf: Shelf) -> None:
    versions = [f"1.{minor}.0" for minor in range(60, 30, -1)]
    shelf.put("releases.md", release_notes(*versions))
    for version in ("1.44.0", "1.39.0", "1.31.0"):
        answer = shelf.ok(
            "read_plan",
            file_paths=["releases.md"],
            query=f"libraries of version {version}",
            budget_tokens=300,
        )
        assert answer["sections"][0]["heading_path"] == f"Releases > Version {version} > Libraries"


@pytest.mark.parametrize(
    "paths",
    [
        ["guides"], ["docs/guides"], ["guides/"], ["guides/*.md"], ["docs/guides/**/*.md"],
        ["guides/**"], ["*.md"], ["docs"], ["other.md", "guides"], ["guides/{manual,none}.md"],
        ["./guides/*.md"], ["docs/{guides,none}/"], ["guides/*.{md,rst}"], ["gui*"],
        "other.md, guides/manual.md", "*.rst, guides", ["none.md, guides/"],
        ["*.rst, guides/*.md"], ["guides/manual.md, other.md"], ["*.md, !notes.md"],
    ],
)  # fmt: skip
def test_folders_and_globs_stand_for_the_documents_in_them(
    shelf: Shelf, paths: list[str] | str
) -> None:
    shelf.put("guides/manual.md", MANUAL)
    shelf.put("guides/deep/notes.md", NOTES)
    shelf.put("other.md", f"# Other\n\n{FILLER}")
    shelf.put("guides/image.png", b"\x89PNG\0")
    asked = {"query": "retry limit of failed uploads", "budget_tokens": 500}
    answer = shelf.ok("read_plan", file_paths=paths, **asked)
    assert answer["sections"][0]["title"] == "Configuring the retry limit"
    assert "unread_files" not in answer


def test_a_comma_in_a_name_that_is_there_separates_nothing(shelf: Shelf) -> None:
    shelf.put("uploads, retried.md", MANUAL)
    shelf.put("uploads", NOTES)
    asked = {"query": "retry limit of failed uploads", "budget_tokens": 500}
    answer = shelf.ok("read_plan", file_paths="uploads, retried.md", **asked)
    assert answer["sections"][0]["title"] == "Configuring the retry limit"


@pytest.mark.parametrize(
    "path",
    ["app/[slug]/*.md", "docs/*.md", "{top}/app/[slug]/*.md", "rolltop://file/docs/docs/*.md"],
)
def test_folders_that_exist_as_a_glob_is_written_are_meant(shelf: Shelf, path: str) -> None:
    for folder in ("app/[slug]", "docs"):
        shelf.put(f"{folder}/manual.md", MANUAL)
    for other in ("app/s/manual.md", "other.md"):
        shelf.put(other, f"# Other\n\nThe retry limit of failed uploads. {FILLER}")
    asked = {"query": "retry limit of failed uploads", "budget_tokens": 500}
    answer = shelf.ok("read_plan", file_paths=[path.format(top=shelf.folder)], **asked)
    sections = answer["sections"]
    assert {section["title"] for section in sections} == {"Configuring the retry limit"}


def test_folders_and_globs_may_be_absolute(shelf: Shelf) -> None:
    shelf.put("guides/manual.md", MANUAL)
    asked = {"query": "retry limit of failed uploads", "budget_tokens": 500}
    top = f"{shelf.folder}/"
    for path in (
        "guides", "guides/*.md", "**/manual.md", f"none.md, {top}guides/*.md",
        f"none.*,{top}guides/manual.md", f"**/*.md, !{top}other.md",
    ):  # fmt: skip
        answer = shelf.ok("read_plan", file_paths=[f"{top}{path}"], **asked)
        assert answer["sections"][0]["title"] == "Configuring the retry limit"


FOREIGN = [
    ("安装说明。运行安装程序。", "失败的上传会重试五次，这是重试限制。", "如何设置重试限制？"),  # noqa: RUF001
    ("木を植える。", "アップロードに失敗すると、五回まで再試行される。", "再試行は何回ですか"),
    ("ติดตั้งโปรแกรมก่อน", "การอัปโหลดที่ล้มเหลวจะลองใหม่ห้าครั้ง", "ลองใหม่กี่ครั้ง"),
    ("Der Baum steht.", "Die Größe der Straße ist fünf.", "Größe"),
    ("Der Baum steht.", "ÜBERTRAGUNGEN werden wiederholt.", "Übertragung"),
    ("Το δέντρο.", "Ο λόγος της επανάληψης είναι αυτός.", "ΛΌΓΟΣ"),  # noqa: RUF001
    ("Дерево стоит.", "ЗАГРУЗКА повторяется пять раз.", "загрузка"),
    ("L'arbre.", "Le café est fermé.", "cafe\u0301"),
    ("L'arbre.", "Le cafe\u0301 est ferme\u0301.", "cafe\u0301"),
    ("L'arbre.", "Le cafe\u0301 est ferme\u0301.", "café"),
    ("别的东西。", "我们使用PostgreSQL存储数据。", "PostgreSQL"),
    ("别的东西。", "端口是5432号。", "5432"),
    ("別のもの。", "効率が75%上がった。", "75%"),
    ("อื่น ๆ", "เราใช้Redisเก็บข้อมูล", "redis"),
    ("나무", "\u110b\u1165\u11b8\u1105\u1169\u1103\u1173", "업로드"),
]


@pytest.mark.parametrize(("other", "answering", "query"), FOREIGN)
def test_a_word_of_any_script_is_found(
    shelf: Shelf, other: str, answering: str, query: str
) -> None:
    shelf.put("a.md", f"# D\n\n## One\n\n{other}\n\n## Two\n\n{answering}\n\n## Three\n\n{other}\n")
    answer = shelf.ok("read_plan", file_paths=["a.md"], query=query, budget_tokens=200)
    assert answer["sections"][0]["title"] in {"D", "Two"}
    assert "note" not in answer


@pytest.mark.parametrize(("other", "answering", "query"), FOREIGN)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_of_many_documents_in_any_script_the_likeliest_is_read(
    shelf: Shelf, other: str, answering: str, query: str, encoding: str
) -> None:
    for n in range(55):
        shelf.put(f"guides/{n:02}.md", f"# Guide {n}\n\n{other}\n")
    shelf.put("guides/zz.md", f"# Last\n\n{answering}\n".encode(encoding))
    answer = shelf.ok("read_plan", file_paths=["guides"], query=query, budget_tokens=200)
    assert answer["sections"][0]["title"] == "Last"


def test_of_many_documents_in_utf16_without_a_mark_the_likeliest_is_read(shelf: Shelf) -> None:
    for n in range(55):
        shelf.put(f"guides/{n:02}.md", f"# Guide {n}\n\nThe tree stands.\n")
    shelf.put("guides/zz.md", "# Last\n\nThe kettle is hot.\n".encode("utf-16-le"))
    answer = shelf.ok("read_plan", file_paths=["guides"], query="kettle", budget_tokens=200)
    assert answer["sections"][0]["title"] == "Last"


def test_decomposed_titles_and_names_are_found(shelf: Shelf) -> None:
    for n in range(55):
        shelf.put(f"guides/{n:02}.md", f"# Guide {n}\n\nThe tree stands.\n")
    shelf.put(
        "guides/zz-cafe\u0301.md", "# Last\n\n## Re\u0301sume\u0301\n\nNone.\n\n## Two\n\nAll.\n"
    )
    asked = {"file_paths": ["guides"], "budget_tokens": 200}
    answer = shelf.ok("read_plan", query="café résumé", **asked)
    assert answer["sections"][0]["title"] == "Re\u0301sume\u0301"
    assert answer["sections"][0]["content"] == "## Re\u0301sume\u0301\n\nNone.\n\n"


def test_of_many_documents_the_likeliest_are_read_and_the_others_counted(shelf: Shelf) -> None:
    for n in range(70):
        shelf.put(f"guides/{n:02}.md", f"# Guide {n}\n\n{FILLER}")
    shelf.put("guides/zz.md", MANUAL)
    answer = shelf.ok(
        "read_plan", file_paths=["guides"], query="retry limit of failed uploads", budget_tokens=500
    )
    assert answer["sections"][0]["title"] == "Configuring the retry limit"
    assert answer["unread_files"] == 21


@pytest.mark.parametrize("path", ["nowhere/*.md", "guides/*.rs", "docs/empty", "no*where"])
def test_what_has_no_document_is_not_found(shelf: Shelf, path: str) -> None:
    shelf.put("guides/a.md", NOTES)
    (shelf.folder / "empty").mkdir()
    error = shelf.fails("read_plan", file_paths=[path], query="x", budget_tokens=500)
    assert error["code"] == "FILE_NOT_FOUND"
    assert path in error["error"]


def test_a_word_tells_as_much_in_each_of_the_documents(shelf: Shelf) -> None:
    asides = "".join(f"## Part {n}\n\n{FILLER}\n" for n in range(80))
    shelf.put("novel.md", f"# Novel\n\n{asides}## The end\n\nA lamp went out. {FILLER}\n")
    shelf.put(
        "lamps.md",
        f"# Lamps\n\n## Cleaning the lamp\n\nWipe the lamp with a dry cloth. {FILLER}\n"
        f"## Storing the lamp\n\nPut the lamp into its box. {FILLER}\n",
    )
    answer = shelf.ok(
        "read_plan",
        file_paths=["novel.md", "lamps.md"],
        query="how do I clean the lamp",
        budget_tokens=250,
    )
    assert [section["title"] for section in answer["sections"]] == ["Cleaning the lamp"]


def test_of_many_documents_those_that_are_about_the_query_are_read(shelf: Shelf) -> None:
    for number in range(60):
        shelf.put(f"many/{number:02}.md", f"# Page {number}\n\nThe harbour lies there. {FILLER}\n")
    about = "The harbour master opens the harbour at dawn. " * 5
    shelf.put("many/zz.md", f"# Opening hours\n\n{about}\n")
    answer = shelf.ok("read_plan", file_paths=["many"], query="harbour", budget_tokens=300)
    assert answer["unread_files"] == 11
    assert answer["sections"][0]["title"] == "Opening hours"


HEADERS = """import net

export function openConnection(host) {
  return net.connect(host);
}

export function parseHTTPHeader(raw) {
  return raw.split(":");
}
"""
PETS = f"""# Catalogues

A catalogue has a category, and each category a category.

# Pets

There is a cat. {FILLER}
"""
NETWORK = f"""# Investing

A portfolio has portions; a portable portfolio has more portions.

# Network

It is port 8080. {FILLER}
"""


@pytest.mark.parametrize(
    ("name", "text", "query", "title"),
    [
        ("app.js", HEADERS, "header", "parseHTTPHeader"),
        ("app.js", HEADERS, "parse_http_header", "parseHTTPHeader"),
        ("app.py", "def load(): pass\n\n\ndef user_name(): pass\n", "username", "user_name"),
        ("cv.md", f"# Birds\n\n{FILLER}\n\n# Résumé tips\n\nShort.\n", "resume", "Résumé tips"),
        ("cv.md", f"# Birds\n\n{FILLER}\n\n# Travel\n\nOff to Zürich.\n", "zurich", "Travel"),
        ("pets.md", PETS, "cat", "Pets"),
        ("network.md", NETWORK, "which port", "Network"),
    ],
)  # fmt: skip
def test_words_are_those_of_the_searches(
    shelf: Shelf, name: str, text: str, query: str, title: str
) -> None:
    for number in range(55):
        shelf.put(f"many/{number:02}.md", f"# Catalogue {number}\n\nA portable category.\n")
    shelf.put(f"many/{name}", text)
    for paths in ([f"many/{name}"], ["many"]):
        answer = shelf.ok("read_plan", file_paths=paths, query=query, budget_tokens=400)
        assert answer["sections"][0]["title"] == title


@pytest.mark.parametrize("paths", [["many/zz.md"], ["many"]])
def test_where_no_word_is_found_words_that_begin_so_are(shelf: Shelf, paths: list[str]) -> None:
    for number in range(55):
        shelf.put(f"many/{number:02}.md", f"# Page {number}\n\n{FILLER}\n")
    shelf.put("many/zz.md", f"# Other\n\n{FILLER}\n\n# Rules\n\nConfiguration is easy.\n")
    answer = shelf.ok("read_plan", file_paths=paths, query="config", budget_tokens=300)
    assert answer["sections"][0]["title"] == "Rules"
