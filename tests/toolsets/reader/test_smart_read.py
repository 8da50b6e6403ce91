"""smart_read: a document in full, or its summary with all that a summary says of itself."""

from __future__ import annotations

import json
import re
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import token_counter
from tests.desks import call_tool
from tests.toolsets.reader.shelf import SOMEBODY, Shelf, make_shelf, offering, paper

if TYPE_CHECKING:
    from pathlib import Path

LONG = paper()


def compact(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def squeezed(text: str) -> str:
    return " ".join(text.split())


class TestFull:
    def test_a_short_document_is_answered_as_it_is(self, shelf: Shelf) -> None:
        path = shelf.put("short.md", "# Title\r\n\r\nText with ümläuts.\r\n")
        answer = shelf.ok("smart_read", file_path="short.md")
        assert answer == {
            "content": "# Title\r\n\r\nText with ümläuts.\r\n",
            "type": "full",
            "uri": "rolltop://file/docs/short.md",
            "tokens": token_counter.count("# Title\r\n\r\nText with ümläuts.\r\n"),
            "path": str(path.resolve()),
        }

    def test_the_threshold_is_more_than_ten_thousand_tokens(self, shelf: Shelf) -> None:
        text = "word\n" * 5000
        assert token_counter.count(text) == 10_000
        shelf.put("at.txt", text)
        shelf.put("over.txt", text + "word\n")
        assert shelf.ok("smart_read", file_path="at.txt")["type"] == "full"
        assert shelf.ok("smart_read", file_path="over.txt")["type"] == "summary"

    def test_the_threshold_is_a_setting(self, tmp_path: Path) -> None:
        shelf = make_shelf(tmp_path / "docs", settings={"reader.threshold_tokens": 100})
        shelf.put("a.md", paper(2))
        assert shelf.ok("smart_read", file_path="a.md")["type"] == "summary"

    @pytest.mark.parametrize("budget", [200, 1000, 9000])
    def test_pages_join_to_the_file_and_end_at_lines(self, shelf: Shelf, budget: int) -> None:
        text = LONG[: LONG.index("\n", 40_000) + 1]
        shelf.put("long.md", text)
        first = shelf.ok("smart_read", file_path="long.md", mode="full", max_tokens=budget)
        assert first["content"].endswith("\n")
        whole = shelf.whole("smart_read", file_path="long.md", mode="full", max_tokens=budget)
        assert whole == text

    def test_a_line_over_the_budget_is_cut_at_a_character(self, shelf: Shelf) -> None:
        text = "intro\n" + "ab cd " * 800 + "\nend\n"
        shelf.put("line.txt", text)
        answer = shelf.ok("smart_read", file_path="line.txt", line_start=2, max_tokens=300)
        start = answer["next"]["arguments"]
        assert start["line_start"] == 2
        assert text.split("\n")[1].startswith(answer["content"])
        assert start["char_start"] == len(answer["content"])
        assert shelf.whole("smart_read", file_path="line.txt", max_tokens=300) == text

    @pytest.mark.parametrize("mode", ["auto", "summary", "full"])
    def test_a_position_means_full_from_there(self, shelf: Shelf, mode: str) -> None:
        shelf.put("long.md", LONG)
        line = LONG.split("\n")[99]
        by_line = shelf.ok(
            "smart_read", file_path="long.md", mode=mode, line_start=100, max_tokens=400
        )
        assert by_line["type"] == "full"
        assert by_line["content"].startswith(line)
        by_char = shelf.ok(
            "smart_read", file_path="long.md", mode=mode, char_start=5, max_tokens=400
        )
        assert LONG[5:].startswith(by_char["content"])
        both = shelf.ok("smart_read", file_path="long.md", line_start=3, char_start=2)
        assert both["content"].startswith(LONG.split("\n")[2][2:])

    def test_positions_outside_say_what_is_allowed(self, shelf: Shelf) -> None:
        shelf.put("three.txt", "a\nb\nc\n")
        error = shelf.fails("smart_read", file_path="three.txt", line_start=4)
        assert error["code"] == "INVALID_ARGUMENT"
        assert "1 to 3" in error["hint"]
        error = shelf.fails("smart_read", file_path="three.txt", line_start=2, char_start=5)
        assert "4 characters" in error["error"]
        for bad in ({"line_start": 0}, {"char_start": -1}, {"line_start": "two"}):
            assert shelf.fails("smart_read", file_path="three.txt", **bad)["code"] == (
                "INVALID_ARGUMENT"
            )


class TestSummary:
    def test_every_field_is_there_and_true(self, shelf: Shelf) -> None:
        path = shelf.put("paper.md", LONG)
        answer = shelf.ok("smart_read", file_path="paper.md")
        outline = shelf.ok("list_sections", file_path="paper.md", max_tokens=20_000)
        assert set(answer) == {
            "_preamble", "content", "type", "uri", "style", "original_tokens", "summary_tokens",
            "reduction_factor", "sections", "coverage", "original", "confidence",
        }  # fmt: skip
        assert (answer["type"], answer["style"]) == ("summary", "structured")
        assert answer["original_tokens"] == token_counter.count(LONG)
        assert answer["summary_tokens"] == token_counter.count(compact(answer))
        ratio = answer["original_tokens"] / answer["summary_tokens"]
        assert answer["reduction_factor"] == pytest.approx(ratio, abs=0.1)
        assert answer["sections"]["count"] == outline["count"] == 43
        assert answer["sections"]["headers"] == outline["sections"][:20]
        assert answer["original"] == {
            "path": str(path.resolve()),
            "filename": "paper.md",
            "size_bytes": len(LONG.encode()),
            "size_tokens": token_counter.count(LONG),
        }
        score = answer["summary_tokens"] / answer["original_tokens"]
        assert answer["coverage"]["completeness_score"] == pytest.approx(score, abs=0.0001)
        assert answer["confidence"]["completeness"] == answer["coverage"]["completeness_score"]
        assert "triage" in answer["confidence"]["recommended_for"]
        assert "detailed_analysis" in answer["confidence"]["not_recommended_for"]

    def test_the_preamble_holds_both_counts_and_calls_that_work(self, shelf: Shelf) -> None:
        path = str(shelf.put("paper.md", LONG).resolve())
        answer = shelf.ok("smart_read", file_path="paper.md")
        preamble = answer["_preamble"]
        before, after = answer["original_tokens"], answer["summary_tokens"]
        assert f"\nOriginal: {before:,} tokens → Summary: {after:,} tokens (" in preamble
        assert f"{answer['reduction_factor']:g}x" in preamble
        assert preamble.split("\n")[0] == "⚠️ DOCUMENT SUMMARY (NOT FULL CONTENT)"
        for call in ("list_sections", "read_section", "smart_read"):
            assert f'{call}(file_path="{path}"' in preamble
        assert shelf.ok("list_sections", file_path=path)["count"] == 43

    @pytest.mark.parametrize("budget", [500, 20_000])
    def test_the_preamble_names_no_tool_that_is_not_offered(
        self, shelf: Shelf, budget: int
    ) -> None:
        path = str(shelf.put("paper.md", LONG).resolve())
        narrow = offering(shelf, "smart_read", "read_section")
        answer = narrow.ok("smart_read", file_path="paper.md", max_tokens=budget)
        assert f'read_section(file_path="{path}"' in answer["_preamble"]
        assert "list_sections" not in answer["_preamble"] + answer["sections"]["note"]
        long = "".join(f"## Section {n}\n\n{LONG[:2000]}\n\n" for n in range(60))
        shelf.put("long.md", f"# Long\n\n{long}")
        content = narrow.ok("smart_read", file_path="long.md", max_tokens=budget)["content"]
        assert "more sections of" in content
        assert "list_sections" not in content

    def test_coverage_says_what_the_summary_holds(self, shelf: Shelf) -> None:
        shelf.put("paper.md", LONG)
        coverage = shelf.ok("smart_read", file_path="paper.md")["coverage"]
        assert coverage["included"] == {
            "abstract": True, "keywords": True, "section_headers": True, "key_findings": True,
        }  # fmt: skip
        assert coverage["excluded"]["code_examples"] is True
        assert coverage["excluded"]["tables_and_figures"] is True
        assert coverage["excluded"]["complete_citations"] is False
        extract = shelf.ok("smart_read", file_path="paper.md", summary_style="extractive")
        assert extract["coverage"]["included"] == {
            "abstract": False, "keywords": False, "section_headers": False, "key_findings": True,
        }  # fmt: skip

    def test_plain_prose_excludes_nothing_it_does_not_hold(self, shelf: Shelf) -> None:
        prose = re.sub(r"(?s)```.*?```|\|.*?\n\n", "", paper())
        shelf.put("prose.md", prose)
        excluded = shelf.ok("smart_read", file_path="prose.md")["coverage"]["excluded"]
        assert excluded == dict.fromkeys(excluded, False)

    @pytest.mark.parametrize("style", ["structured", "extractive", "abstract"])
    @pytest.mark.parametrize("bound", [100, 250, 800, 2500])
    def test_content_keeps_its_bound_in_every_style(
        self, shelf: Shelf, style: str, bound: int
    ) -> None:
        shelf.put("paper.md", LONG)
        answer = shelf.ok(
            "smart_read", file_path="paper.md", summary_style=style, max_summary_tokens=bound
        )
        assert answer["style"] == style
        assert 0 < token_counter.count(answer["content"]) <= bound

    def test_every_sentence_stands_on_its_line(self, shelf: Shelf) -> None:
        shelf.put("paper.md", LONG)
        lines = LONG.split("\n")
        for style in ("structured", "extractive", "abstract"):
            content = shelf.ok("smart_read", file_path="paper.md", summary_style=style)["content"]
            cited = re.findall(r"(?m)^L(\d+): (.*)$", content)
            assert cited
            for number, text in cited:
                around = squeezed(" ".join(lines[int(number) - 1 : int(number) + 12]))
                assert squeezed(text.removesuffix("…")) in around
                assert text[:8] in lines[int(number) - 1]

    def test_the_same_bytes_give_the_same_summary(self, shelf: Shelf, tmp_path: Path) -> None:
        shelf.put("paper.md", LONG)
        again = make_shelf(tmp_path / "docs")
        one = shelf.ok("smart_read", file_path="paper.md")
        assert shelf.ok("smart_read", file_path="paper.md") == one
        assert again.ok("smart_read", file_path="paper.md") == one

    def test_a_document_it_cannot_shorten_is_answered_in_full(self, shelf: Shelf) -> None:
        shelf.put("tiny.md", "# Tiny\n\nOne sentence of some words that says little.\n")
        answer = shelf.ok("smart_read", file_path="tiny.md", mode="summary")
        assert answer["type"] == "full"
        assert answer["content"].startswith("# Tiny")
        assert "not be shorter" in answer["note"]
        shelf.put("empty.md", "")
        assert shelf.ok("smart_read", file_path="empty.md", mode="summary")["content"] == ""

    def test_a_middling_document_is_summarised_where_asked(self, shelf: Shelf) -> None:
        shelf.put("middle.md", paper(6))
        answer = shelf.ok("smart_read", file_path="middle.md", mode="summary")
        assert answer["type"] == "summary"
        assert answer["content"]
        assert answer["summary_tokens"] < answer["original_tokens"]
        assert answer["reduction_factor"] >= 1

    @pytest.mark.parametrize("style", ["structured", "extractive", "abstract"])
    def test_a_file_just_over_ten_thousand_tokens_shrinks_to_a_tenth(
        self, shelf: Shelf, style: str
    ) -> None:
        text = LONG[: token_counter.prefix_length(LONG, 10_050)]
        shelf.put("p.md", text)
        answer = shelf.ok("smart_read", file_path="p.md", summary_style=style)
        assert 10_000 < answer["original_tokens"] < 10_100
        assert answer["summary_tokens"] * 10 < answer["original_tokens"]
        assert len(answer["content"]) > 100

    @pytest.mark.parametrize("budget", [200, 260, 330, 420, 600, 1000])
    def test_small_budgets_shrink_content_then_headers_then_preamble(
        self, tmp_path: Path, budget: int
    ) -> None:
        shelf = make_shelf(tmp_path / "d")
        shelf.put("p.md", LONG)
        path = str(shelf.folder.resolve() / "p.md")
        refused = call_tool(shelf.desk, SOMEBODY, "smart_read", file_path="p.md", max_tokens=budget)
        if refused.is_error:
            assert token_counter.count(refused.text) <= budget
            assert refused.code == "INVALID_ARGUMENT"
            found = re.search(r"at least (\d+)", refused.structured["error"])
            assert found is not None
            assert budget < int(found.group(1)) <= 200 + 4 * token_counter.count(path)
            budget = int(found.group(1))
        answer = shelf.ok("smart_read", file_path="p.md", max_tokens=budget)
        assert answer["type"] == "summary"
        assert answer["summary_tokens"] == token_counter.count(compact(answer)) <= budget
        assert answer["original"]["size_tokens"] == answer["original_tokens"]
        assert path in answer["_preamble"]
        assert answer["content"]

    @pytest.mark.parametrize("style", ["structured", "extractive", "abstract"])
    def test_a_budget_without_room_for_content_is_refused(self, shelf: Shelf, style: str) -> None:
        shelf.put("p.md", LONG)
        asked = {"file_path": "p.md", "mode": "summary", "summary_style": style}
        refused = 0
        for most in range(200, 400, 5):
            answer = call_tool(shelf.desk, SOMEBODY, "smart_read", **asked, max_tokens=most)
            if answer.is_error:
                found = re.search(r"with max_tokens (\d+)", answer.structured["hint"])
                assert found is not None
                assert shelf.ok("smart_read", **asked, max_tokens=int(found.group(1)))["content"]
                refused += 1
            else:
                assert answer.structured["content"]
        assert 0 < refused < 30

    def test_less_budget_never_says_more(self, shelf: Shelf) -> None:
        shelf.put("p.md", LONG)
        answers = [
            shelf.ok("smart_read", file_path="p.md", max_tokens=budget)
            for budget in (400, 500, 700, 1000, 2000)
        ]
        for less, more in pairwise(answers):
            assert len(less["sections"]["headers"]) <= len(more["sections"]["headers"])
            assert len(less["_preamble"]) <= len(more["_preamble"]) + 8


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            ({"file_path": "nope.md"}, "FILE_NOT_FOUND"),
            ({"file_path": "../outside.md"}, "PATH_OUT_OF_ROOT"),
            ({"file_path": "/etc/passwd"}, "PATH_OUT_OF_ROOT"),
            ({"file_path": "  "}, "INVALID_ARGUMENT"),
            ({"file_path": "folder"}, "FILE_UNREADABLE"),
            ({"file_path": "bin.dat"}, "FILE_BINARY"),
            ({"file_path": ".hidden.md"}, "FILE_NOT_FOUND"),
            ({"file_path": "a.md", "mode": "short"}, "MODE_INVALID"),
            ({"file_path": "a.md", "mode": 1}, "MODE_INVALID"),
            ({"file_path": "a.md", "summary_style": "haiku"}, "STYLE_INVALID"),
            ({"file_path": "a.md", "max_summary_tokens": 99}, "INVALID_ARGUMENT"),
            ({"file_path": "a.md", "max_summary_tokens": 5001}, "INVALID_ARGUMENT"),
            ({"file_path": "a.md", "max_summary_tokens": "few"}, "INVALID_ARGUMENT"),
            ({"file_path": "a.md", "colour": "red"}, "INVALID_ARGUMENT"),
            ({}, "INVALID_ARGUMENT"),
        ],
    )
    def test_each_has_its_code(self, shelf: Shelf, arguments: dict[str, Any], code: str) -> None:
        shelf.put("a.md", "# A\n")
        shelf.put(".hidden.md", "# A\n")
        shelf.put("folder/b.md", "# B\n")
        shelf.put("bin.dat", b"\x7fELF\x01\x02\x01\x00\x03" * 100)
        assert shelf.fails("smart_read", **arguments)["code"] == code

    def test_a_missing_file_is_answered_with_the_one_that_may_be_meant(self, shelf: Shelf) -> None:
        shelf.put("guides/setup/install.md", "# A\n")
        shelf.put("a/install.md", "# A\n")
        for path in ("setup/install.md", "guides/setup/instal.md"):
            hint = shelf.fails("read_section", file_path=path, section_heading="A")["hint"]
            assert "Did you mean docs/guides/setup/install.md?" in hint
            assert "repo_list_dir shows what is there." in hint
            alone = offering(shelf, "smart_read").fails("smart_read", file_path=path)["hint"]
            assert "repo_list_dir" not in alone
        shelf.ok("smart_read", file_path="docs/guides/setup/install.md")
        assert "mean" not in shelf.fails("smart_read", file_path="unlike.md")["hint"]

    def test_a_long_wrong_path_is_answered_soon_where_many_files_have_its_name(
        self, tmp_path: Path
    ) -> None:
        shelf = make_shelf(tmp_path / "docs")
        for number in range(2000):
            shelf.put(f"team-{number % 40:02}/service-{number:05}/index.md", "# A\n")
        asked = "/".join(f"module_{number:05}" for number in range(300))
        begun = time.process_time()  # what others do on the machine does not count
        error = shelf.fails("smart_read", file_path=f"{asked}/service-01234/index.md")
        assert time.process_time() - begun < 5
        assert error["code"] == "FILE_NOT_FOUND"
        assert "Did you mean docs/team-34/service-01234/index.md?" in error["hint"]

    def test_a_file_over_the_limit_names_the_setting(self, tmp_path: Path) -> None:
        shelf = make_shelf(tmp_path / "docs", settings={"reader.max_file_bytes": 1000})
        shelf.put("fits.txt", "x" * 1000)
        shelf.put("over.txt", "x" * 1001)
        assert shelf.ok("smart_read", file_path="fits.txt")["type"] == "full"
        error = shelf.fails("smart_read", file_path="over.txt")
        assert error["code"] == "FILE_TOO_LARGE"
        assert "reader.max_file_bytes" in error["hint"]

    def test_two_roots_with_the_same_file_are_ambiguous(self, tmp_path: Path) -> None:
        shelf = make_shelf(tmp_path / "docs")
        shelf.put("one/a.md", "# One\n")
        shelf.put("two/a.md", "# Two\n")
        from rolltop.workspace import Roots  # noqa: PLC0415  # only here

        shelf.desk.roots = Roots.open(
            {"one": shelf.folder / "one", "two": shelf.folder / "two"}, base=tmp_path
        )
        error = shelf.fails("smart_read", file_path="a.md")
        assert error["code"] == "PATH_AMBIGUOUS"
        assert sorted(error["candidates"]) == ["one/a.md", "two/a.md"]
        assert shelf.ok("smart_read", file_path="two/a.md")["content"] == "# Two\n"


def test_addresses_and_file_urls_are_paths(shelf: Shelf) -> None:
    path = shelf.put("a b/ä.md", "# One\n\nfirst\n\n## Two\n\nsecond\n")
    uri = "rolltop://file/docs/a%20b/ä.md"
    for given in (uri, path.as_uri(), "rolltop://section/docs/a%20b/%C3%A4.md#sabcdefg"):
        assert shelf.ok("smart_read", file_path=given)["content"] == path.read_text()
        assert shelf.ok("list_sections", file_path=given)["count"] == 2
        section = shelf.ok("read_section", file_path=given, section_heading="Two")
        assert section["content"] == "## Two\n\nsecond\n"
        plan = shelf.ok("read_plan", file_paths=[given], query="second", budget_tokens=200)
        assert plan["sections"]
    later = shelf.ok("smart_read", file_path=f"{uri}#L5-7")
    assert later["content"] == "## Two\n\nsecond\n"
    assert shelf.ok("smart_read", file_path=f"{uri}#L5-7", line_start=7)["content"] == "second\n"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("file:///etc/passwd", "PATH_OUT_OF_ROOT"),
        ("file:///etc/none", "PATH_OUT_OF_ROOT"),
        ("FILE:///%2e%2e/etc/passwd", "PATH_OUT_OF_ROOT"),
        ("file:///a%00", "FILE_NOT_FOUND"),
        ("rolltop://file/docs/%2E%2E/other", "PATH_OUT_OF_ROOT"),
        ("rolltop://file/docs/.env", "FILE_NOT_FOUND"),
    ],
)
def test_addresses_and_file_urls_lead_no_further_than_paths(
    shelf: Shelf, given: str, code: str
) -> None:
    shelf.put(".env", "SECRET=1")
    (shelf.folder.parent / "other").write_text("outside")
    assert shelf.fails("smart_read", file_path=given)["code"] == code
    assert shelf.fails("smart_read", file_path=(shelf.folder / ".env").as_uri())["code"] == (
        "FILE_NOT_FOUND"
    )


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("smart_read", {"mode": "full"}),
        ("read_section", {"section_heading": "A study of lanterns"}),
    ],
)
def test_a_page_says_where_the_file_changed_since_the_one_before(
    shelf: Shelf, tool: str, more: dict[str, str]
) -> None:
    asked = {"file_path": "long.md", "max_tokens": 400, **more}

    def read_on(before: dict[str, Any]) -> dict[str, Any]:
        return shelf.ok(tool, **before["next"]["arguments"])

    shelf.put("long.md", LONG)
    first = shelf.ok(tool, **asked)
    shelf.put("long.md", f"{LONG}\nWhat is put behind moves no line.\n")
    second = read_on(first)
    assert "note" not in second
    shelf.put("long.md", LONG.replace("## Abstract", "A new line.\n\n## Abstract"))
    third = read_on(second)
    assert "changed" in third["note"]
    assert "changed" in read_on(third)["note"]
    again = shelf.ok(tool, **asked)
    assert "note" not in again
    assert "note" not in read_on(again)
