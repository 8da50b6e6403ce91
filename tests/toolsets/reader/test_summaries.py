"""What a summary is made of: the document's own telling sentences."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import token_counter
from rolltop.toolsets.reader.summary.prose import ContentKinds, extract_sentences
from tests.toolsets.reader.shelf import ABSTRACT, paper, sentences, summary

if TYPE_CHECKING:
    from tests.toolsets.reader.shelf import Shelf


def said(text: str, kind: str = "markdown") -> list[tuple[int, str]]:
    return [(s.line, s.text) for s in extract_sentences(text, kind, ContentKinds())]


def quotes(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the lines' numbers and texts that a summary quotes, more than five."""
    found = re.findall(r"(?m)^L(\d+): (.+)$", answer["content"])
    assert len(found) > 5
    return found


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
            ("org", "# This is a comment of the source.\n#\n  # And this is another one of it."),
            ("latex", "\\begin{equation}\nThis is no sentence but a formula.\n\\end{equation}"),
            ("latex", "% This is a comment of the source."),
            ("html", "<script>\nThis is a line of a script.\n</script>"),
            ("html", "<pre>\nThis is a line of some code.\n</pre>"),
            ("json", '{"a": "This is a sentence inside of a value."}'),
            ("python", "x = compute(This, is, a, line, of, code)"),
            ("python", 'query = """\nThis is a line of a query.\n"""'),
            ("python", "ask(\n    'This is a line of a question.'\n)"),
            ("python", "said = \\\n    'This is a line of an answer.'"),
            ("python", '"""::\n\n    This is a line of an example.\n"""'),
            ("c", "#define area(this, is) a line of a macro\n"),
            ("c", "/*\n#define area(this, is) a line of a macro\n*/"),
            ("c", "*out = compute(this, is, a line of code);"),
            ("c", 'text = "\\n\\\n// This is a line of a text.";'),
            ("rust", "#[derive(Debug, Clone, Copy, PartialEq)]"),
            ("rust", "/// ```\n/// This is a line of an example.\n/// ```"),
            ("go", "//\tThis is a line of an example."),
            ("javascript", "const text = `\n// This is a line of a text.\n`"),
            ("csharp", "#region This is a part of it"),
            ("php", "<?php\n#[Attribute(this, is, a, line)]"),
            ("shell", "cat <<EOF\n# This is a line of a file.\nEOF"),
            ("ruby", "text = <<~TEXT\n  # This is a line of a text.\nTEXT"),
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
            ("org", "# A comment.\n#+BEGIN_QUOTE\nA quoted sentence with enough words.", 3),
            ("html", "<html>\n<p>A paragraph of a page &amp; more words.</p>", 2),
            ("python", '"""A module that says what it is for."""', 1),
            ("go", "x := 1\n// A comment that says what it does.", 2),
            ("c", "/*\n * A comment that says what it does.\n */", 2),
            ("python", "a = \"\"\"\nb\n\"\"\"\ndef c():\n    r'''It says what it does.'''\n", 5),
            ("python", "x = [  # )\n    # A comment that says what it holds.\n]", 2),
            ("rust", "#[test]\n//! A comment that says what it does.", 2),
            ("php", "<?php\n# A comment that says what it does.", 2),
            ("shell", "cat <<EOF\ntext\nEOF\n  # A comment that says what it does.", 4),
            ("shell", "x=$(( 1 << BITS ))\n# A comment that says what it does.", 2),
            ("ruby", "all << Error.new(1)\n# A comment that says what it does.", 2),
            ("ruby", "x = <<A\n=begin\nA\n# A comment that says what it does.", 4),
            ("ruby", "x = 1\n=begin\nA comment that says what it does.\n=end", 3),
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

    def test_documentation_has_no_quotes_and_comments_no_marks(self) -> None:
        text = 'class Lamp:\n    """It burns at\n    night."""\n\n    # It is lit by hand.\n'
        assert said(text, "python") == [(2, "It burns at night."), (5, "It is lit by hand.")]

    def test_tags_over_several_lines_keep_the_lines(self) -> None:
        page = '<p>Here is a <a\n href="x">link to the</a>\nharbour. <b\n>Lamps</b> are lit there.'
        assert said(page, "html") == [
            (1, "Here is a link to the harbour."),
            (4, "Lamps are lit there."),
        ]

    @pytest.mark.parametrize("feed", ["&#10;", "&#010", "&#x0A;", "&#Xa;", "&NewLine;"])
    def test_line_feeds_that_a_page_spells_are_no_lines(self, feed: str) -> None:
        page = f"<p>The first{feed}{feed} line is read.</p>\n<p>The second line &#101;nds here.</p>"
        assert said(page, "html") == [
            (1, "The first line is read."),
            (2, "The second line ends here."),
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
        assert 10 < token_counter.count(content) <= bound
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
from rolltop.toolsets.reader.summary.material import analyze
from rolltop.toolsets.reader.summary.render import SummaryRenderer

draw = random.Random(4)
words = ["".join(draw.choices("bcdfglmnprt", k=2)) + v + "o" for v in "aeiouy" for _ in range(10)]
lines = []
for _ in range(60):
    drawn = draw.sample(words, 12)
    for _ in range(3):
        draw.shuffle(drawn)
        lines.append(" ".join(drawn).capitalize() + ".\\n")
text = "\\n".join(lines)
renderer = SummaryRenderer(analyze(text, "text", (), (), ()), "structured", 400)
sys.stdout.write(renderer.render(400).content)
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


@pytest.mark.parametrize(
    "block",
    [
        "We show that it works as here::\n\n    {code}\n",
        "We show over two lines\nthat it works as here::\n\n    {code}\n\n    {code}\n",
        "* We show that an item\n  works as here::\n\n      {code}\n\n  and its text goes on.\n",
        ">>> {code}\n... {code}\nprinted_value = is_important(in_conclusion)\n",
        ".. note::\n\n   We show that\n   it works::\n\n      {code}\n\n   The note goes on.\n",
        ".. note:: We show that it works::\n\n      {code}\n",
        ".. code-block:: python\n   :linenos:\n\n   {code}\n\n   {code}\n",
        ".. py:function:: open\n\n   .. code::\n\n      {code}\n",
        "::\n\n   {code}\n",
    ],
)
def test_no_code_of_restructured_text_is_quoted(shelf: Shelf, block: str) -> None:
    code = "result_value = is_important(in_conclusion, we_find, the_results)"
    sections = [
        f"Part {n}\n======\n\nIn conclusion the harbour of part {n} is important for ships.\n\n"
        + block.replace("{code}", code)
        + "\nThe crew then sailed on to the next port and rested there for some days.\n"
        for n in range(60)
    ]
    shelf.put("guide.rst", "\n\n".join(sections))
    for style in ("structured", "extractive"):
        answer = shelf.ok("smart_read", file_path="guide.rst", mode="summary", summary_style=style)
        assert answer["type"] == "summary"
        assert "harbour" in answer["content"]
        for word in ("result_value", "printed_value", "is_important", "in_conclusion"):
            assert word not in answer["content"]


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("d.md", "```\n{code}\n```"),
        ("d.md", "~~~\n{code}\n~~~"),
        ("d.md", "<pre>\n{code}\n</pre>"),
        ("d.md", "<!--\n{code}\n-->"),
        ("d.rst", ".. code-block:: text\n\n   {code}"),
        ("d.rst", "It is so::\n\n   {code}"),
        ("d.adoc", "----\n{code}\n----"),
        ("d.tex", "\\begin{verbatim}\n{code}\n\\end{verbatim}"),
        ("d.org", "#+begin_src text\n{code}\n#+end_src"),
        ("d.html", "<script>\n{code}\n</script>"),
        ("d.html", "<style>\n{code}\n</style>"),
        ("d.html", "<pre>\n{code}\n</pre>"),
    ],
)
def test_a_sampled_text_quotes_no_block_that_began_before(
    shelf: Shelf, name: str, block: str
) -> None:
    prose = "".join(f"{one}\n\n" for one in sentences(900, 1))
    code = "\n   ".join(["call the lamp and then the keeper and return what it said."] * 3_000)
    prose = f"<html>{prose}" if name == "d.html" else prose
    text = f"{prose}{block.replace('{code}', code)}\n\n{prose}"
    content = summary(shelf, text, name, max_summary_tokens=2_000)["content"]
    cited = [int(line) for line in re.findall(r"(?m)^L(\d+): The", content)]
    assert min(cited) < 1_800
    assert max(cited) > 4_800
    assert "call" not in content


def test_a_title_ends_what_seems_not_to_end(shelf: Shelf) -> None:
    parts = (f"# Lamps\n\n{one}\n\n- ```\n  lamp\n  ```\n\n" for one in sentences(60, 1))
    content = summary(shelf, "".join(parts), mode="summary")["content"]
    cited = {int(line) // 8 for line in re.findall(r"(?m)^L(\d+): The", content)}
    assert {part % 2 for part in cited} == {0, 1}


@pytest.mark.parametrize(
    ("passage", "parts", "uses"),
    [
        ("~~~\nlamp = 1\n~~~", {"code_examples"}, ["implementation"]),
        ("    lamp = 1", {"code_examples"}, ["implementation"]),
        ("| lamp | light |\n|---|---|\n| a | 1 |", {"tables_and_figures"}, []),
        ("Lamps guide ships (Smith et al., 2019) at night.", {"complete_citations"}, ["citation"]),
        (
            f"## Dusk\n\n{'It is dark. ' * 350}\n\n## Methods\n\n{'It is dark. ' * 400}\n\n## Dawn",
            {"detailed_methods"},
            ["implementation"],
        ),
        ("Nothing else is in it.", set[str](), []),
    ],
)
def test_what_a_long_text_holds_is_told_wherever_it_stands(
    shelf: Shelf, passage: str, parts: set[str], uses: list[str]
) -> None:
    prose = [f"Harbour {n} has lamps that the keeper lights at dusk." for n in range(4_000)]
    prose[2_000:2_000] = ["", passage, ""]
    answer = summary(shelf, "\n\n".join(prose))
    assert {name for name, is_out in answer["coverage"]["excluded"].items() if is_out} == parts
    assert answer["confidence"]["not_recommended_for"] == ["detailed_analysis", *uses]


_POWER = (
    "这个水电站为周边的城市供电。水电站的大坝很高，水库调节洪水。",  # noqa: RUF001
    "水位由传感器测量，我们使用PostgreSQL存储数据。",  # noqa: RUF001
    "每个水电站有三台发电机，在PostgreSQL里有记录。",  # noqa: RUF001
    "传感器出现故障时，值班人员停机。",  # noqa: RUF001
)
_DAM = (
    "この発電所は周辺の都市に電力を供給している。発電所のダムは高い。",
    "貯水池の水位はセンサーで測定され、データはRedisに保存される。",
    "発電機の点検は冬に行われる。センサーの記録もRedisにある。",
)


@pytest.mark.parametrize(
    ("sentences", "words"),
    [(_POWER, {"水电站", "传感器", "postgresql"}), (_DAM, {"発電所", "センサー", "redis"})],
)
def test_keywords_of_a_script_without_spaces_are_words(
    shelf: Shelf, sentences: tuple[str, ...], words: set[str]
) -> None:
    rest = "".join(chr(0x4E00 + 7 * n) + ("。" if n % 9 == 8 else "") for n in range(2000))
    shelf.put("d.md", "\n".join(sentences) + "\n" + rest)
    content = shelf.ok("smart_read", file_path="d.md", mode="summary")["content"]
    assert words == set(content.split("\n")[0].removeprefix("KEYWORDS (extracted): ").split(", "))


@pytest.mark.parametrize(("lines", "length"), [(1, 2_500), (1, 1_000), (30, 100), (200, 30)])
def test_a_text_of_long_lines_is_quoted_by_its_sentences(
    shelf: Shelf, lines: int, length: int
) -> None:
    kept = [sentences(length, seed) for seed in range(lines)]
    answer = summary(shelf, "\n".join(map(" ".join, kept)), "talk.txt")
    quoted = quotes(answer)
    assert all(said in kept[int(line) - 1] for line, said in quoted)
    assert "Lines 1-" not in answer["content"]
    assert answer["coverage"]["included"]["section_headers"] is False


@pytest.mark.parametrize(
    ("name", "row", "part"),
    [
        ("a.csv", 'id,text\n7,"The lamp is lit and it is good here."\n', "tables_and_figures"),
        ("a.tsv", "id\ttext\n7\tThe lamp is lit and it is good here.\n", "tables_and_figures"),
        ("a.jsonl", '{"text": "The lamp is lit and it is good here."}\n', "code_examples"),
    ],
)
def test_rows_of_data_are_no_sentences(shelf: Shelf, name: str, row: str, part: str) -> None:
    answer = summary(shelf, row * 3_000, name)
    assert answer["content"].startswith(f"BEGINNING:\nL1: {row.splitlines()[0]}")
    assert answer["coverage"]["excluded"][part] is True
    assert not any(answer["coverage"]["included"].values())


@pytest.mark.parametrize(
    ("name", "comment"),
    [
        ("a.scala", "  // {}\n"),
        (
            "a.scala",
            "/**\n * {}\n * {{{{{{\n * val lamp = new Lamp(with the copper)\n * }}}}}}\n */\n",
        ),
        ("a.zig", "    /// {}\n"),
        ("a.css", "/* {} */\n"),
        ("a.lua", "--- {}\n"),
        ("a.lua", "--[==[\n{}\n]==]\n"),
        ("a.hs", "-- | {}\n"),
        ("a.hs", "{{-| {}\n-}}\n"),
        ("a.ex", '  @doc """\n  {}\n  """\n'),
        ("a.r", "#' {}\n"),
        ("a.sql", "/* {}\n*/\n"),
        ("a.sql", "/****/\n/* {}\n*/\n/**/\n"),
        ("a.css", "/*****/\n/* {}\n*/\n"),
        ("a.fs", "(* {} *)\n"),
        ("a.m", "% {}\n"),
        ("a.jl", '"""\n{}\n"""\n'),
        ("a.pm", "=head1 NAME\n\n{}\n\n=cut\n"),
        ("a.ps1", "<#\n{}\n#>\n"),
        ("a.el", ";;; {}\n"),
        ("a.erl", "%% {}\n"),
        ("a.vim", '" {}\n'),
    ],
)
def test_of_a_program_in_any_language_comments_are_quoted(
    shelf: Shelf, name: str, comment: str
) -> None:
    kept = sentences(150, 5)
    code = "let copper = lantern of the harbour with a (mirror) in the garden.\n"
    text = "".join(f"{comment.format(one)}{code * 5}" for one in kept)
    answer = summary(shelf, text, name)
    quoted = quotes(answer)
    assert all(said in kept and said in text.split("\n")[int(at) - 1] for at, said in quoted)
    assert answer["coverage"]["excluded"]["code_examples"] is True
