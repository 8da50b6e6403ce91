"""What a summary is made of: the document's own telling sentences, and what it states."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import tokens
from rolltop.toolsets.reader.summary.prose import Seen, paragraphs
from rolltop.toolsets.reader.summary.sentences import sentences
from tests.toolsets.reader.shelf import paper

if TYPE_CHECKING:
    from tests.toolsets.reader.shelf import Shelf

BODY = paper(40).split("## Abstract\n")[1].split("\n\n", 1)[1]
ABSTRACT = "We built a lamp that burns for nine nights. It needs no oil at all."


def summary(shelf: Shelf, text: str, name: str = "d.md", **more: Any) -> dict[str, Any]:
    shelf.put(name, text)
    answer = shelf.ok("smart_read", file_path=name, **more)
    assert answer["type"] == "summary"
    return answer


def said(text: str, kind: str = "markdown") -> list[tuple[int, str]]:
    found = paragraphs(text, kind, seen=Seen())
    return [(s.line, s.text) for paragraph in found for s in sentences(paragraph)]


class TestAbstract:
    @pytest.mark.parametrize(
        "head",
        [
            "# Lamps\n\n## Abstract\n\n{}\n\n",
            "# Lamps\n\n# ABSTRACT\n\n{}\n\n",
            "# Lamps\n\n### 0. Abstract\n\n{}\n\n",
            "# Lamps\n\n## I. Abstract\n\n{}\n\n",
            "# Lamps\n\nAbstract\n--------\n\n{}\n\n",
            "# Lamps\n\n**Abstract**\n\n{}\n\n",
            "# Lamps\n\n**Abstract.** {}\n\n",
            "# Lamps\n\n**Abstract:** {}\n\n",
            "# Lamps\n\n*Abstract* — {}\n\n",
            "# Lamps\n\nAbstract: {}\n\n",
            "# Lamps\n\nABSTRACT\n\n{}\n\n",
            "# Lamps\n\n## Zusammenfassung\n\n{}\n\n",
            "# Lamps\n\n## TL;DR\n\n{}\n\n",
            "# Lamps\n\n## Executive Summary\n\n{}\n\n",
            "# Lamps\n\n## Summary\n\n{}\n\n",
        ],
    )
    @pytest.mark.parametrize("style", ["structured", "abstract"])
    def test_it_is_found_however_it_is_headed(self, shelf: Shelf, head: str, style: str) -> None:
        text = head.format(ABSTRACT) + "**Keywords:** lamps\n\n" + BODY
        answer = summary(shelf, text, summary_style=style)
        block = answer["content"].split("ABSTRACT:\n")[1].split("\n")
        line = text[: text.index("We built")].count("\n") + 1
        assert block[:2] == [
            f"L{line}: We built a lamp that burns for nine nights.",
            f"L{line}: It needs no oil at all.",
        ]
        assert answer["coverage"]["included"]["abstract"] is True

    def test_latex_has_its_own(self, shelf: Shelf) -> None:
        text = (
            "\\documentclass{article}\n\\begin{document}\n\\begin{abstract}\n"
            f"{ABSTRACT}\n\\end{{abstract}}\n\\section{{Lamps}}\n{BODY}\n\\end{{document}}\n"
        )
        assert "L4: We built a lamp" in summary(shelf, text, "d.tex")["content"]

    @pytest.mark.parametrize("lead", ["", "A lead of some words comes first.\n\n"])
    def test_one_in_sections_is_given_with_them(self, shelf: Shelf, lead: str) -> None:
        head = (
            f"# Lamps\n\n## Abstract\n\n{lead}### Background\n\nNights here are dark and long.\n\n"
        )
        rest = f"### Results\n\n{ABSTRACT}\n\n### Keywords\n\nbrass lamp, night watch, oil\n\n"
        answer = summary(shelf, head + rest + BODY, summary_style="abstract")
        told = re.findall(r"(?m)^L\d+: (.*)$", answer["content"])
        sentences = [*lead.strip().splitlines(), "Nights here are dark and long."]
        assert told == [*sentences, *ABSTRACT.replace(". ", ".\n").split("\n")]
        assert answer["coverage"]["included"]["abstract"] is True

    def test_what_holds_the_whole_text_is_no_abstract(self, shelf: Shelf) -> None:
        text = f"# Abstract\n\n{ABSTRACT}\n\n## 1 Introduction\n\nNights are dark here.\n\n{BODY}"
        content = summary(shelf, text, summary_style="abstract")["content"]
        assert content.endswith("It needs no oil at all.")

    def test_none_is_made_up(self, shelf: Shelf) -> None:
        answer = summary(shelf, "# Lamps\n\n" + BODY)
        assert "ABSTRACT" not in answer["content"]
        assert answer["coverage"]["included"]["abstract"] is False

    def test_without_one_the_introduction_then_an_extract(self, shelf: Shelf) -> None:
        text = f"# Lamps\n\n## 1 Introduction\n\n{ABSTRACT}\n\n" + BODY
        answer = summary(shelf, text, summary_style="abstract")
        assert answer["content"].startswith("INTRODUCTION:\nL5: We built")
        assert answer["coverage"]["included"]["abstract"] is False
        extract = summary(shelf, BODY.replace("#", ""), "plain.txt", summary_style="abstract")
        assert re.match(r"(INTRODUCTION:\n)?L\d+: ", extract["content"])

    @pytest.mark.parametrize(
        ("name", "head"),
        [
            (
                "d.html",
                "<div><p><strong>Abstract.</strong> {}</p></div>\n<h2>After</h2>\n<p>After it ",
            ),
            ("d.html", "<p>Abstract</p>\n<p>{}</p>\n<p>Keywords: oil</p>\n<p>After it "),
            ("d.adoc", "= Lamps\n\n[abstract]\n{}\n\nAfter it "),
            ("d.adoc", "= Lamps\n\n[abstract]\n--\n{}\n--\nAfter it "),
            ("d.rst", "Lamps\n=====\n\n:Abstract: {}\n:Date: This was some day.\n\nAfter it "),
            ("d.rst", "Lamps\n=====\n\n.. topic:: Abstract\n\n   {}\n\nAfter it "),
            ("d.org", "#+TITLE: Lamps\n#+BEGIN_abstract\n{}\n#+END_abstract\nAfter it "),
            ("d.tex", "\\begin{{abstract}}\n{}\n\\end{{abstract}}\n\nAfter it "),
        ],
    )
    @pytest.mark.parametrize("ends", ["\n", "\r\n"])
    def test_each_format_has_its_own_and_ends_it(
        self, shelf: Shelf, name: str, head: str, ends: str
    ) -> None:
        text = head.format(ABSTRACT) + "comes what is none of it.\n\n" + BODY.replace("#", "")
        answer = summary(shelf, text.replace("\n", ends), name, summary_style="abstract")
        told = re.findall(r"(?m)^L\d+: (.*)$", answer["content"])
        assert told == ABSTRACT.replace(". ", ".\n").split("\n")
        assert answer["coverage"]["included"]["abstract"] is True


class TestKeywords:
    @pytest.mark.parametrize(
        "stated",
        [
            "**Keywords:** brass lamp; night, oil\n",
            "Keywords: brass lamp, night, oil\n",
            "*Index Terms* — brass lamp, night, oil.\n",
            "## Keywords\n\nbrass lamp, night, oil\n",
            "## Keywords\n\n- brass lamp\n- night\n- oil\n",
            "Keywords\n--------\n\nbrass lamp, night, oil.\n",
            "**Keywords**\n\nbrass lamp; night; oil\n",
            "**Schlüsselwörter:** brass lamp, night, oil\n",
        ],
    )
    def test_stated_ones_are_given(self, shelf: Shelf, stated: str) -> None:
        content = summary(shelf, f"# Lamps\n\n{stated}\n{BODY}")["content"]
        assert re.match(r"KEYWORDS \(L\d\): brass lamp, night, oil\n", content)

    def test_a_title_underlined_with_dashes_begins_no_front_matter(self, shelf: Shelf) -> None:
        content = summary(shelf, f"Lamps\n---\n\nKeywords: oil, night\n\n{BODY}")["content"]
        assert content.startswith("KEYWORDS (L4): oil, night\n")

    def test_front_matter_states_them(self, shelf: Shelf) -> None:
        text = f"---\ntitle: Lamps\nkeywords: [brass lamp, night, oil]\n---\n\n# Lamps\n\n{BODY}"
        assert summary(shelf, text)["content"].startswith("KEYWORDS (L3): brass lamp, night, oil\n")

    @pytest.mark.parametrize("empty", ["", " []"])
    def test_front_matter_without_any_states_none(self, shelf: Shelf, empty: str) -> None:
        text = f"---\nkeywords:{empty}\ntitle: Lamps\n---\n\n# Lamps\n\n{BODY}"
        assert "KEYWORDS (extracted)" in summary(shelf, text)["content"]

    def test_else_they_are_drawn_from_the_text_and_say_so(self, shelf: Shelf) -> None:
        text = "# X\n\n" + BODY + "\n\nThe zeppelin landed safely near the zeppelin hangar.\n" * 60
        line = summary(shelf, text)["content"].split("\n")[0]
        assert line.startswith("KEYWORDS (extracted): ")
        for term in line.split(": ")[1].split(", "):
            assert all(word in text.lower() for word in term.split())

    @pytest.mark.parametrize(
        ("name", "stated"),
        [
            ("d.html", "<p><b>Keywords:</b> brass lamp, night, oil</p>"),
            ("d.tex", "\\keywords{brass lamp, night, oil} % for the journal, of course"),
            ("d.tex", "\\keywords{brass lamp \\and night \\and oil}"),
            ("d.tex", "\\begin{keyword}\nbrass lamp \\sep night\n\\sep oil\n\\end{keyword}"),
            ("d.tex", "\\begin{IEEEkeywords}\nbrass lamp,\nnight, oil.\n\\end{IEEEkeywords}"),
            ("d.org", "#+KEYWORDS: brass lamp, night, oil"),
            ("d.rst", ":Keywords: brass lamp, night, oil"),
            ("d.adoc", ":keywords: brass lamp, night, oil"),
        ],
    )
    def test_each_format_has_its_own(self, shelf: Shelf, name: str, stated: str) -> None:
        content = summary(shelf, f"{stated}\n\n{BODY.replace('#', '')}", name)["content"]
        assert re.match(r"KEYWORDS \(L\d\): brass lamp, night, oil\n", content)

    def test_an_underlined_title_is_none_of_them(self, shelf: Shelf) -> None:
        text = f"Lamps\n=====\n\nKeywords\n--------\n\nbrass, oil\n\n{BODY}"
        for name in ("d.md", "d.txt", "d.rst"):
            content = summary(shelf, text, name)["content"]
            assert content.startswith("KEYWORDS (L7): brass, oil\n")

    @pytest.mark.parametrize(
        "about",
        [
            "Keywords are reserved words of the language.",
            "## Keywords\n\nRust divides keywords into three categories:\n\n- strict\n- weak",
            "## Keywords\n\nGo has 25 keywords. They name nothing else.",
            "## Keywords\n\nThese words, which are kept for the language itself, name nothing.",
            "## Keywords\n\n| let | binds a name |\n|---|---|\n| fn | begins a function |",
            "## Keywords\n\n- `let`: binds a name\n- `fn`: begins a function",
            "Keywords\n--------\n\n## Strict",
        ],
    )
    def test_text_about_keywords_states_none(self, shelf: Shelf, about: str) -> None:
        text = f"# X\n\n{about}\n\n{BODY}"
        assert "KEYWORDS (extracted)" in summary(shelf, text)["content"]


@pytest.mark.parametrize("mark", ["**{}**", "*{}*", "> **{}**", "{}", "## {}"])
def test_line_ends_of_dos_hide_neither(shelf: Shelf, mark: str) -> None:
    heads = (mark.format(name) for name in ("Keywords", "Abstract"))
    text = "# Lamps\n\n{}\n\nlamp, oil\n\n{}\n\n".format(*heads) + f"{ABSTRACT}\n\n{BODY}"
    content = summary(shelf, text.replace("\n", "\r\n"))["content"]
    assert content.startswith("KEYWORDS (L5): lamp, oil\nABSTRACT:\nL9: We built a lamp")


LABELS = "Keywords: sham, fraud, bluff\nAbstract: This is sham and no abstract of the text.\n"
INDENTED = "".join(f"    {line}\n" for line in LABELS.splitlines())


class TestLabelsOfOthers:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("fence.md", f"# L\n\nAn example:\n\n```yaml\n{LABELS}```\n\n{BODY}"),
            ("tildes.md", f"# L\n\n~~~\n{LABELS}~~~\n\n{BODY}"),
            ("quoted.md", f"# L\n\n> ```\n> {LABELS}> ```\n\n{BODY}"),
            ("below.md", f"# L\n\n## Keywords\n\n```\nsham, fraud\n```\n\n{BODY}"),
            ("indented.md", f"# L\n\nAn example:\n\n{INDENTED}\n{BODY}"),
            ("comment.md", f"# L\n\n<!--\n{LABELS}-->\n\n{BODY}"),
            ("pre.md", f"# L\n\n<pre>\n{LABELS}</pre>\n\n{BODY}"),
            ("pre.html", f"<h1>L</h1>\n<pre>\n{LABELS}</pre>\n<p>{BODY}</p>\n"),
            ("comment.html", f"<h1>L</h1>\n<!--\n{LABELS}-->\n<p>{BODY}</p>\n"),
            ("block.rst", f"L\n=\n\n.. code-block:: yaml\n\n{INDENTED}\n{BODY}"),
            ("literal.rst", f"L\n=\n\nAn example::\n\n{INDENTED}\n{BODY}"),
            ("listing.adoc", f"= L\n\n----\n{LABELS}----\n\n{BODY}"),
            ("block.org", f"* L\n#+BEGIN_SRC yaml\n{LABELS}#+END_SRC\n{BODY.replace('#', '*')}"),
            ("listing.tex", f"\\begin{{lstlisting}}\n{LABELS}\\end{{lstlisting}}\n{BODY}"),
            (
                "note.py",
                "class Abstract:\n    keywords: sham\n    abstract: sham\n\n" + "x = 1\n" * 900,
            ),
            ("note.go", f"/*\n{LABELS}*/\n" + "var x = 1\n" * 900),
            ("note.yaml", "keywords: sham\nabstract: sham\n" + "other: 1\n" * 900),
        ],
    )
    def test_code_and_comments_state_nothing(self, shelf: Shelf, name: str, text: str) -> None:
        whole = summary(shelf, text, name, mode="summary")
        assert not re.search(r"KEYWORDS \(L|ABSTRACT:", whole["content"])
        assert whole["coverage"]["included"]["abstract"] is False
        short = summary(shelf, text, name, mode="summary", summary_style="abstract")
        assert not re.match("ABSTRACT:|INTRODUCTION:.*sham", short["content"])

    def test_what_follows_them_is_still_read(self, shelf: Shelf) -> None:
        text = f"# L\n\n```\n{LABELS}```\n\n**Keywords:** oil\n\n**Abstract.** {ABSTRACT}\n\n{BODY}"
        content = summary(shelf, text)["content"]
        assert content.startswith("KEYWORDS (L8): oil\nABSTRACT:\nL10: We built a lamp")

    @pytest.mark.parametrize(
        ("name", "head"),
        [
            ("d.md", "---\nabstract: |\n  {}\nkeywords: [lamp, oil]\n---\n\n# L\n\n"),
            ("d.rst", "L\n=\n\n.. abstract::\n\n   {}\n\n.. meta::\n   :keywords: lamp, oil\n\n"),
        ],
    )
    def test_what_a_format_has_for_it_states_it(self, shelf: Shelf, name: str, head: str) -> None:
        content = summary(shelf, head.format(ABSTRACT) + BODY, name)["content"]
        assert re.match(r"KEYWORDS \(L\d+\): lamp, oil\nABSTRACT:\nL\d: We built a lamp", content)


class TestSentences:
    def test_each_has_the_line_it_starts_on(self) -> None:
        text = (
            "One sentence of five words\nover two lines. Another one that starts\nhere ends now.\n"
        )
        assert said(text) == [
            (1, "One sentence of five words over two lines."),
            (2, "Another one that starts here ends now."),
        ]

    @pytest.mark.parametrize(
        "text",
        [
            "Dr. Smith met Mr. J. Doe at St. Mary in the evening.",
            "See e.g. the first chapter, i.e. the one on lamps, cf. Fig. 3 there.",
            "It costs 3.14 coins in version 2.0.1 of the price list.",
            "Is it www.example.org or lamp.py that the text means here?",
        ],
    )
    def test_full_stops_inside_do_not_end_it(self, text: str) -> None:
        assert said(text) == [(1, text)]

    def test_wide_scripts_end_without_spaces(self) -> None:
        text = "这是关于灯笼的第一句话。这是关于港口的第二句话!"
        assert len(said(text.replace("!", "\uff01"))) == 2

    @pytest.mark.parametrize(
        ("kind", "text"),
        [
            ("markdown", "```\nThis is a line of code in a fence.\n```"),
            (
                "markdown",
                "~~~text\nThis is a line of code in a fence.\n```\nStill the fence here is.\n~~~",
            ),
            ("markdown", "    This is a line of indented code here."),
            ("markdown", "| This is a | row of a table | with words |"),
            ("markdown", "[![Build status of the main branch](https://a.b/c.svg)](https://a.b/c)"),
            ("markdown", "![A picture of a lamp on a table](lamp.png)"),
            ("markdown", "- [The first link of the list](https://example.org/one/two/three)"),
            ("markdown", "[lamp]: https://example.org/this/is/a/definition The title of it"),
            ("markdown", "<!-- This is a comment that\ngoes on here for a while -->"),
            ("markdown", "---\ntitle: This is the front matter of it\n---"),
            ("markdown", "<pre>\nThis is a line of some code.\n</pre>"),
            ("markdown", '<pre class="x"><code>This is a line of it.</code></pre>'),
            ("restructuredtext", ".. code-block:: python\n\n   This is a line of code in it."),
            ("restructuredtext", "::\n\n   This is a literal block of text."),
            ("org", "#+BEGIN_SRC sh\nThis is a line of code in it.\n#+END_SRC"),
            ("latex", "\\begin{equation}\nThis is no sentence but a formula.\n\\end{equation}"),
            ("latex", "% This is a comment of the source."),
            ("html", "<script>\nThis is a line of a script.\n</script>"),
            ("html", "<pre>\nThis is a line of some code.\n</pre>"),
            ("json", '{"a": "This is a sentence inside of a value."}'),
            ("python", "x = compute(This, is, a, line, of, code)"),
            ("markdown", "Words: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"),
        ],
    )
    def test_what_is_no_prose_is_no_sentence(self, kind: str, text: str) -> None:
        assert said(text + "\n", kind) == []

    @pytest.mark.parametrize(
        ("kind", "text", "line"),
        [
            ("markdown", "> A quoted sentence with enough words here.", 1),
            ("markdown", "* A list item with enough words here.", 1),
            ("markdown", "```\ncode\n```\nA sentence after the fence is read.", 4),
            ("markdown", "1. first item of it\n\n    A paragraph inside the item of the list.", 3),
            ("restructuredtext", ".. note::\n\n   A note is prose that people read.", 3),
            ("html", "<html>\n<p>A paragraph of a page &amp; more words.</p>", 2),
            ("python", '"""A module that says what it is for."""', 1),
            ("go", "x := 1\n// A comment that says what it does.", 2),
            ("c", "/*\n * A comment that says what it does.\n */", 2),
        ],
    )
    def test_prose_is_found_where_it_stands(self, kind: str, text: str, line: int) -> None:
        found = said(text, kind)
        assert [number for number, _ in found if number == line] == [line]

    @pytest.mark.parametrize(
        ("page", "text"),
        [
            (
                "<p>Use <code>--force</code> of <kbd>git push</kbd> on <tt>main</tt> never.</p>",
                "Use --force of git push on main never.",
            ),
            (
                '<p>An import<em>ant</em> word (<a href="x">of H<sub>2</sub>O</a>) stays one.</p>',
                "An important word (of H2O) stays one.",
            ),
            (
                "<ul>  <li><p>Blocks stand</p>\t<p>apart from<br>each other.</p></li></ul>",
                "Blocks stand apart from each other.",
            ),
            (
                "<p>This is seen<!-- <b>and</b> this is a > comment of it -->\n by everybody.</p>",
                "This is seen by everybody.",
            ),
            (
                "<template><p>This is no part of the page.</p></template><p>But this here is.</p>",
                "But this here is.",
            ),
        ],
    )
    def test_of_a_page_they_read_as_it_shows_them(self, page: str, text: str) -> None:
        assert said(f"<html>\n{page}\n</html>\n", "html") == [(2, text)]

    def test_tags_over_several_lines_keep_the_lines(self) -> None:
        page = '<p>Here is a <a\n href="x">link to the</a>\nharbour. <b\n>Lamps</b> are lit there.'
        assert said(page, "html") == [
            (1, "Here is a link to the harbour."),
            (4, "Lamps are lit there."),
        ]

    def test_an_endless_one_is_cut_at_a_word(self) -> None:
        text = "word " * 40_000 + "end."
        ((line, cut),) = said(text)
        assert line == 1
        assert cut.endswith("word…")
        assert len(cut) <= 601


class TestFindings:
    def test_the_telling_sentence_is_among_them(self, shelf: Shelf) -> None:
        text = paper(40)
        content = summary(shelf, text)["content"]
        assert "SECTIONS (tokens):\n- A study of lanterns" in content
        assert content.index("ABSTRACT:") < content.index("SECTIONS") < content.index("KEY FIND")

    def test_no_sentence_is_given_twice(self, shelf: Shelf) -> None:
        text = (
            "# T\n\n## Abstract\n\n"
            + ABSTRACT
            + "\n\n"
            + ("Same words said again here. " * 3 + "\n\n") * 1500
        )
        content = summary(shelf, text)["content"]
        told = re.findall(r"(?m)^L\d+: (.*)$", content)
        assert len(told) == len(set(told))
        assert content.count("Same words said again here.") == 1

    def test_an_extract_is_in_the_documents_order(self, shelf: Shelf) -> None:
        content = summary(shelf, paper(40), summary_style="extractive")["content"]
        lines = [int(n) for n in re.findall(r"(?m)^L(\d+): ", content)]
        assert len(lines) > 5
        assert lines == sorted(lines)

    def test_data_without_a_sentence_shows_how_it_begins(self, shelf: Shelf) -> None:
        rows = "".join(f'  "key {n}": [{n}, {n * 7}, {n * 13}],\n' for n in range(3000))
        content = summary(shelf, "{\n" + rows + '  "last": 0\n}\n', "d.json")["content"]
        assert 'BEGINNING:\nL1: {\nL2: "key 0": [0, 0, 0],\n' in content
        assert "SECTIONS (tokens):\n- key 0 (" in content

    @pytest.mark.parametrize("style", ["structured", "extractive", "abstract"])
    @pytest.mark.parametrize("bound", [100, 300, 800])
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("han.md", "# \u984c\n\n" + "\u6f22\u5b57" * 9_000),
            ("kana.md", ("\u3053\u308c\u306f\u7d50\u679c\u3067\u3059" * 30 + "\n\n") * 60),
            (
                "small.js",
                "var a=" + ",".join(f"f{n}(function(){{return {n}}})" for n in range(2_000)),
            ),
            ("long.txt", "lamp" * 15_000),
        ],
    )
    def test_where_no_sentence_fits_one_is_cut(
        self, shelf: Shelf, name: str, text: str, bound: int, style: str
    ) -> None:
        more = {"summary_style": style, "max_summary_tokens": bound}
        content = summary(shelf, text, name, mode="summary", **more)["content"]
        assert 10 < tokens.count(content) <= bound
        lines = text.split("\n")
        for line, told in re.findall(r"(?m)^L(\d+): (.+?)\u2026?$", content):
            assert told in lines[int(line) - 1]

    def test_a_small_document_is_answered_in_full_and_not_by_a_cut_line(self, shelf: Shelf) -> None:
        shelf.put("han.md", "\u6f22\u5b57" * 150)
        for style in ("extractive", "abstract"):
            answer = shelf.ok("smart_read", file_path="han.md", mode="summary", summary_style=style)
            assert answer["type"] == "full"

    def test_a_log_tells_its_errors_once(self, shelf: Shelf) -> None:
        usual = "2026-01-31 12:00:00 INFO request served in some milliseconds by worker one\n"
        error = "2026-01-31 12:00:01 ERROR the disk of the queue is full and writes are refused\n"
        content = summary(shelf, (usual * 40 + error) * 30, "s.log")["content"]
        assert content.count("ERROR the disk of the queue is full") == 1

    def test_a_long_document_is_sampled_and_says_so(self, shelf: Shelf) -> None:
        answer = summary(shelf, paper(400))
        assert "even sample" in answer["_preamble"]
        lines = [int(n) for n in re.findall(r"(?m)^L(\d+): ", answer["content"])]
        text = paper(400).split("\n")
        for line in lines:
            assert text[line - 1]


TWINS = """
import random, sys
from rolltop.toolsets.reader.summary import analyse, compose

draw = random.Random(4)
words = ["".join(draw.choices("bcdfglmnprt", k=2)) + v + "o" for v in "aeiouy" for _ in range(10)]
lines = []
for _ in range(60):
    drawn = draw.sample(words, 12)
    for _ in range(3):
        draw.shuffle(drawn)
        lines.append(" ".join(drawn).capitalize() + ".\\n")
sys.stdout.write(compose(analyse("\\n".join(lines), "text", (), ()), "structured", 400).content)
"""
"""Sentences of the same words in another order, as good as one another."""


def test_every_process_gives_the_same_summary() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", TWINS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1
    assert "KEY FINDINGS:" in told.pop()
