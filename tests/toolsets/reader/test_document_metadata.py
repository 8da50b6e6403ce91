"""What a document says about itself: its abstract and its keywords, and what only looks so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.toolsets.reader.shelf import ABSTRACT, BODY, summary

if TYPE_CHECKING:
    from tests.toolsets.reader.shelf import Shelf


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

    @pytest.mark.parametrize(
        "title", ["Summary", "Overview", "Abstract", "Synopsis", "1.2 Overview"]
    )
    def test_a_chapters_is_not_the_books(self, shelf: Shelf, title: str) -> None:
        chapters = "".join(
            f"# Chapter {n}\n\nThe lamp of chapter {n} burns.\n\n## Use\n\nIt gives light.\n\n{own}"
            for n in range(1, 9)
            for own in [f"## {title}\n\n{ABSTRACT}\n\n" if n in (2, 3) else ""]
        )
        for text in (
            chapters + BODY,
            f"# Introduction\n\nThis book tells of lamps that burn all night.\n\n{chapters}{BODY}",
        ):
            content = summary(shelf, text, summary_style="abstract")["content"]
            assert content.startswith("INTRODUCTION:\nL3: Th")
            assert "We built a lamp" not in content

    def test_that_of_the_first_chapter_is_not_the_books_where_others_have_one(
        self, shelf: Shelf
    ) -> None:
        text = "".join(
            f"# Chapter {n}\n\nThe lamp of chapter {n} burns.\n\n## Summary\n\n{ABSTRACT}\n\n"
            for n in range(1, 9)
        )
        content = summary(shelf, text + BODY, summary_style="abstract")["content"]
        assert content.startswith("INTRODUCTION:\nL3: The lamp of chapter 1 burns.")

    @pytest.mark.parametrize(
        "head",
        [
            "# Lamps\n\n## Summary\n\n{}\n\n# One\n\n# Two\n\n## 7 Summary\n\nIt burns.\n\n",
            "# Lamps\n\n## Summary\n\n{}\n\n## One\n\n### Summary\n\n## Two\n\n### Summary\n\n",
            "# Summary\n\n{}\n\n# One\n\n## Summary\n\nIt burns.\n\n",
        ],
    )
    def test_the_books_own_is_given_where_chapters_have_one(self, shelf: Shelf, head: str) -> None:
        content = summary(shelf, head.format(ABSTRACT) + BODY, summary_style="abstract")["content"]
        assert content.startswith("ABSTRACT:\nL")
        assert "We built a lamp" in content

    @pytest.mark.parametrize(
        "text",
        [
            "# T / ## Authors / J Doe / ### Abstract / {0} / ## Intro / {1} / ## Use / {1}",
            (
                "# Cover / x / # Lamp / ## Abstract / {0} / ## Introduction / {1} / "
                "# Appendix / It is."
            ),
            (
                "# T / ## Abstract / {0} / ## Introduction / {1} / # Deutsch / ## Abstract / "
                "Wir bauten."
            ),
            "# Abstract / {0} / # Abstract / Wir bauten. / # Introduction / {1}",
            "# T / # 1 Front / ## 1.1 Abstract / {0} / # 2 Introduction / {1} / # 3 Use / {1}",
            (
                "# T / # Front / ## Abstract / {0} / # Introduction / {1} / # Brass / "
                "## Abstract / It burns. / # Iron / ## Abstract / It glows."
            ),
        ],
    )
    def test_the_documents_is_found_wherever_its_front_holds_it(
        self, shelf: Shelf, text: str
    ) -> None:
        text = text.replace(" / ", "\n\n").format(ABSTRACT, BODY)
        content = summary(shelf, text, summary_style="abstract")["content"]
        assert content.startswith("ABSTRACT:\nL")
        assert "We built a lamp" in content
        assert "Wir" not in content

    @pytest.mark.parametrize(
        "text",
        [
            (
                "# Brass / ## Abstract / {0} / ## Introduction / {1} / # Iron / ## Abstract / "
                "It glows. / ## Introduction / {1}"
            ),
            (
                "# Preface / Hi. / # Brass / ## Abstract / {0} / ## Use / {1} / # Iron / "
                "## Abstract / It glows. / ## Use / It is used."
            ),
            (
                "# Preface / Hi. / # Chapter 1 / ## Abstract / {0} / ## Use / {1} / "
                "# Chapter 2 / ## Use / It is used."
            ),
            "# Preface / Hi. / # Brass / ## Abstract / {0} / # Iron / {1} / # Tin / {1}",
            (
                "# Brass / # Abstract / {0} / # Introduction / {1} / # Iron / # Abstract / "
                "It glows. / # Introduction / {1}"
            ),
            (
                "# Introduction / Hello. / # Brass / ## Abstract / {0} / ## Use / {1} / "
                "# Iron / It glows."
            ),
            (
                "# Abstract / {0} / # Abstract / It glows. / # Abstract / It shines. / "
                "# Abstract / It burns. / # Index / {1}"
            ),
        ],
    )
    def test_that_of_one_paper_of_many_is_not_the_collections(
        self, shelf: Shelf, text: str
    ) -> None:
        text = text.replace(" / ", "\n\n").format(ABSTRACT, BODY)
        content = summary(shelf, text, summary_style="abstract")["content"]
        assert "ABSTRACT" not in content

    def test_a_chapters_title_under_a_line_is_no_label_of_the_books(self, shelf: Shelf) -> None:
        text = (
            "====\nBook\n====\n\nAll night.\n\n-----\nBrass\n-----\n\nIt burns.\n\n^^^^^^^^\n"
            f"Abstract\n^^^^^^^^\n\n{ABSTRACT}\n\n----\nIron\n----\n\n{BODY}"
        )
        content = summary(shelf, text, "d.rst", summary_style="abstract")["content"]
        assert "ABSTRACT" not in content
        own = text.replace("^^^^^^^^", "--------")
        content = summary(shelf, own, "own.rst", summary_style="abstract")["content"]
        assert content.startswith("ABSTRACT:\nL17: We built a lamp")

    def test_the_introduction_of_the_main_part_is_the_documents(self, shelf: Shelf) -> None:
        head = "# Cover / x / # Lamp / ## First / Oil. / ## Introduction / ".replace(" / ", "\n\n")
        text = f"{head}{ABSTRACT}\n\n## Use\n\n{BODY}\n\n# Appendix\n\nIt is."
        content = summary(shelf, text, summary_style="abstract")["content"]
        assert content.startswith("INTRODUCTION:\nL13: We built a lamp")

    def test_an_introduction_to_a_chapter_is_not_the_books(self, shelf: Shelf) -> None:
        chapters = "".join(
            f"# Chapter {n}\n\nThe lamp of chapter {n} burns.\n\n## Use\n\nIt gives light.\n\n"
            for n in range(1, 4)
        )
        text = f"{chapters}## Description\n\n{ABSTRACT}\n\n# Last\n\n{BODY}"
        content = summary(shelf, text, summary_style="abstract")["content"]
        assert content.startswith("INTRODUCTION:\nL3: The lamp of chapter 1 burns.")

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


STATED = f"Keywords: lamp, oil\n\nAbstract: {ABSTRACT}\n\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.rst", f"Lamps\n~~~~~\n\n{STATED}More\n~~~~\n\n{BODY}"),
        ("a.adoc", f"= Lamps\n\nPart\n~~~~\n\n{STATED}{BODY}"),
        ("a.txt", f"Lamps\n~~~~~\n\n{STATED}{BODY}"),
        ("a.md", f"# Lamps\n\n<PRE>\nx\n</pre>\n\n{STATED}{BODY}"),
        (
            "a.tex",
            "\\begin{document}\n\\begin{frontmatter}\n\\begin{abstract}\n" + ABSTRACT
            + "\n\\end{abstract}\n\\begin{keyword}\nlamp \\sep oil\n\\end{keyword}\n"
            + "\\end{frontmatter}\n\\section{Lamps}\n" + BODY.replace("#", ""),
        ),
    ],
)  # fmt: skip
def test_neither_is_hidden_by_what_only_looks_like_code(shelf: Shelf, name: str, text: str) -> None:
    answer = summary(shelf, text, name)
    assert answer["coverage"]["included"]["abstract"] is True
    assert "We built a lamp" in answer["content"]
    assert "lamp, oil" in answer["content"].split("\n")[0]


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
            ("comment.org", f"# Keywords: sham\n# Abstract: A sham.\n{BODY.replace('#', '*')}"),
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
