"""Headings of the formats that have no witness of their own, each with what must not mislead it."""

from __future__ import annotations

from typing import Final

import pytest

from rolltop.documents.outline import FileType, parse_outline

ASCIIDOC: Final = """\
= Doc Title
Author

== One ==

----
== no
----

[discrete]
=== Two

Setext
------

words
words
----
== no
----
////
== no
////
##### Five
text == no
"""

ORG: Final = """\
#+TITLE: no
* TODO [#A] First          :tag:other:
text
** [[http://x][Sub]] done
*not a headline*
 * item
*** Third
"""

HTML: Final = """\
<!DOCTYPE html><title><h1>no</h1></title>
<h1 class="a>b" id='x'>Hi &amp; <b>you</b></h1>
<!-- <h2>no</h2> -->
<script>document.write("<h2>no</h2>")</script>
<H2
 data-x="<h3>">Two
 lines</H2>
<textarea><h2>no</h2></textarea>
<h3>open
<h4>next</h4>
<header>no</header><hr><h7>no</h7>
"""

LATEX: Final = r"""\documentclass{article}
% \section{no}
\begin{document}
\section{One \textbf{bold} \& {two}}
\begin{verbatim}
\section{no}
\end{verbatim}
100\% \section*[short]{Half
 price}\label{x}
\verb|\section{no}| \subsection{Sub}
\paragraph{Deep.} \sectionmark{no} \section
\end{document}
\section{no}
"""

YAML: Final = """\
%YAML 1.2
---
# comment: no
a: 1
b:
  c: 2
"q: x": |
  d: no

  e: no
'it''s': "several
  lines: no
f: no
  "
url: http://x: y
flow: {g: 1,
  h: 2}
- x: no
a#b: 2 # i: no
...
---
second: 1
"""

INI: Final = (
    '[a b]\nx=[no]\n ; [no]\n[remote "o"]\n[*.{py,js}]\n[c] ; see [no]\n[d#e]\t# no\n[no] = 1\n'
)

TOML: Final = """\
[build-system]
requires = []
[project]
[project.urls]
[tool.ruff]
["tool" . ruff."a.b"]
[tool.ruff.lint.rules]
[[bin]]
[bin.run]
[[bin]]
[binary]
"""

TEXT: Final = """\
Title
=====

words

1. Intro

words

1.1 Sub part

A line of words
that goes on.

2. Next

3. this is a sentence.

3.1 Contents ........ 12

Chapter 4

Other title
-----------

Not underlined
--
"""

EXAMPLES: Final[list[tuple[FileType, str, list[tuple[str, int, int]]]]] = [
    (
        "asciidoc",
        ASCIIDOC,
        [("Doc Title", 1, 1), ("One", 2, 4), ("Two", 3, 11), ("Setext", 2, 13), ("Five", 5, 24)],
    ),
    ("org", ORG, [("First", 1, 2), ("Sub done", 2, 4), ("Third", 3, 7)]),
    ("html", HTML, [("Hi & you", 1, 2), ("Two lines", 2, 5), ("open", 3, 9), ("next", 4, 10)]),
    (
        "latex",
        LATEX,
        [("One bold & two", 1, 4), ("Half price", 1, 8), ("Sub", 2, 10), ("Deep.", 4, 11)],
    ),
    (
        "yaml",
        YAML,
        [("a", 1, 4), ("b", 1, 5), ("q: x", 1, 7), ("it's", 1, 11), ("url", 1, 15),
         ("flow", 1, 16), ("a#b", 1, 19), ("second", 1, 22)],
    ),
    ("ini", INI, [("a b", 1, 1), ('remote "o"', 1, 4), ("*.{py,js}", 1, 5), ("c", 1, 6),
                  ("d#e", 1, 7)]),
    (
        "toml",
        TOML,
        [("build-system", 1, 1), ("project", 1, 3), ("project.urls", 2, 4), ("tool.ruff", 1, 5),
         ('"tool" . ruff."a.b"', 2, 6), ("tool.ruff.lint.rules", 2, 7), ("bin", 1, 8),
         ("bin.run", 2, 9), ("bin", 1, 10), ("binary", 1, 11)],
    ),
    (
        "text",
        TEXT,
        [("Title", 1, 1), ("1. Intro", 1, 6), ("1.1 Sub part", 2, 10), ("2. Next", 1, 15),
         ("Chapter 4", 1, 21), ("Other title", 2, 23)],
    ),
    (
        "json",
        '{"a": {"b": [1, "}"]}, // c: no\n "d\\n": null, e: 1}',
        [("a", 1, 1), ("d", 1, 2), ("e", 1, 2)],
    ),
    ("notebook", "# A\n\n```python\n# no\n```\n", [("A", 1, 1)]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "expected"), EXAMPLES, ids=[e[0] for e in EXAMPLES])
def test_headings_are_found_and_look_alikes_are_not(
    kind: FileType, text: str, expected: list[tuple[str, int, int]]
) -> None:
    found = parse_outline(text, kind).sections
    assert [(section.title, section.level, section.start_line) for section in found] == expected


@pytest.mark.parametrize(("kind", "text", "expected"), EXAMPLES, ids=[e[0] for e in EXAMPLES])
def test_windows_line_ends_change_no_heading(
    kind: FileType, text: str, expected: list[tuple[str, int, int]]
) -> None:
    found = parse_outline(text.replace("\n", "\r\n"), kind).sections
    assert [(section.title, section.level, section.start_line) for section in found] == expected


def test_numbered_titles_may_end_in_a_period() -> None:
    titles = ["0. Definitions.", "1. Source Code.", "1.1. Users' Rights.", "Chapter 2.",
              "Section 3 -- Scope.", "10. Use by the U.S. Government.",
              "11. Überprüfung der Daten."]  # fmt: skip
    body = "  Some words of a paragraph.\nThey go on.\n\n"
    text = "Licence\n\n" + "".join(f"  {title}\n\n{body}" for title in titles)
    for given in (text, text.removeprefix("Licence\n\n")):
        assert [section.title for section in parse_outline(given, "text").sections] == titles


@pytest.mark.parametrize(
    "text",
    [
        "1. Open the box.\n\n2. Take it out.\n\n3. Close it.\n\nWords.\n\n" * 2,
        "1. Open the box\n   with care.\n\n2. Close it.\n\nWords.\n\n" * 2,
        "1. Open the box.\n\n2. Close it\n   with care.\n\nWords.\n\n" * 2,
        "12. Birds came. They left.\n\nWords.\n\n" * 2,
        "12. and so it went.\n\nWords.\n\n" * 2,
        "12 birds came.\n\nWords.\n\n" * 2,
        "Section 4 applies here.\n\nWords.\n\n" * 2,
        "1. And so on...\n\nWords.\n\n" * 2,
        "1. These birds:\n\nWords.\n\n" * 2,
    ],
)
def test_items_of_a_list_and_sentences_are_no_titles(text: str) -> None:
    assert parse_outline(text, "text").sections == ()
    assert parse_outline(text.replace("\n", "\r\n"), "text").sections == ()


def test_long_text_without_titles_is_divided_into_equal_parts() -> None:
    paragraph = "Nothing here is a title, and the lines go on.\n" * 9 + "\n"
    found = parse_outline(paragraph * 150, "text")
    sizes = [section.end_line - section.start_line + 1 for section in found.sections]
    assert found.is_divided
    assert sum(sizes) == found.line_count == 1_500
    assert max(sizes) <= 1.5 * min(sizes)
    assert found.sections[0].title == f"Lines 1-{sizes[0]}"
    # Parts begin where a paragraph does.
    assert all(section.start_line % 10 == 1 for section in found.sections)


def test_a_huge_text_has_a_bounded_number_of_parts() -> None:
    found = parse_outline("log line without any structure\n" * 300_000, "text")
    assert 150 <= len(found.sections) <= 200


@pytest.mark.parametrize("kind", ["text", "json"])
def test_short_text_without_titles_has_no_sections(kind: FileType) -> None:
    found = parse_outline("[1, 2]\n", kind)
    assert found.sections == ()
    assert not found.is_divided


def test_one_endless_line_is_one_part() -> None:
    found = parse_outline("word " * 100_000, "text")
    assert [(section.start_line, section.end_line) for section in found.sections] == [(1, 1)]


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("<code>fetch</code>(<i>url</i>)", "fetch(url)"),
        ('<a href="fn.html">open</a> -&gt; <a href="unit.html">()</a>', "open -> ()"),
        ('<a href="#api">API</a> of <b>C</b><sup>++</sup>', "API of C++"),
        ("Two<br/>lines <p>more</p>text", "Two lines more text"),
        ('Usage<a class="headerlink" href="#usage" title="Link here">¶</a>', "Usage"),
        ('<a class="doc-anchor" href="#usage">§</a>Usage', "Usage"),
        ('Usage<a class="hash-link" href="#usage">&#8203;</a>', "Usage"),
        ('<a href="#x">&#20013;&#25991;</a>', "\u4e2d\u6587"),
        ('Foo <a href="x">&#x2200;</a> bar <a href="#y">&#xb6;</a>', "Foo \u2200 bar"),
    ],
)
def test_a_title_of_html_reads_as_in_a_browser(markup: str, title: str) -> None:
    found = parse_outline(f"<h1>Page</h1>\n<h2>{markup}</h2>\n<p>text</p>\n", "html").sections
    assert [section.title for section in found] == ["Page", title]


def test_a_long_title_of_html_ends_without_a_part_of_a_tag() -> None:
    markup = "".join(f'<a class="trait" href="../trait{at}.html">Trait</a> ' for at in range(99))
    (section,) = parse_outline(f"<h1>{markup}</h1>\n", "html").sections
    assert set(section.title.split()) == {"Trait"}


@pytest.mark.parametrize(
    ("argument", "title"),
    [
        (r"Intro\label{sec:intro}", "Intro"),
        (
            r"Results\footnote{With {\em many} thanks.} of \cite[p.~3]{knuth} 1984",
            "Results of 1984",
        ),
        (r"\texorpdfstring{$\pi_{k < n}(S^{n})$}{Homotopy} of spheres", "Homotopy of spheres"),
        (r"Solution to \cref{ex:composition}", "Solution to"),
        (
            r"\texorpdfstring{$\mathcal{A}_{\infty_{\mathrm{b}}}$}{A-inf}",
            r"$\mathcalA_\infty_b$A-inf",
        ),
    ],
)
def test_a_title_of_latex_has_only_what_shows_as_words(argument: str, title: str) -> None:
    (section,) = parse_outline(f"\\section{{{argument}}}\n\nText.\n", "latex").sections
    assert section.title == title


@pytest.mark.parametrize("below", ["{rule}\n", ""])
@pytest.mark.parametrize("rule", ["=" * 70, "-" * 78, "**********"])
def test_numbered_titles_between_rules_are_found(rule: str, below: str) -> None:
    titles = ["1. Introduction", "2. How it works", "2.1 In detail"]
    text = "".join(f"{rule}\n{one}\n{below.format(rule=rule)}\nIt says more.\n" for one in titles)
    assert [section.title for section in parse_outline(text, "text").sections] == titles


def test_a_title_between_two_lines_of_its_length_is_found() -> None:
    text = "========\nOverview\n========\n\nText.\n\n*****\nUsage\n*****\n\n----\ncode\n----\n"
    found = parse_outline(text, "text").sections
    assert [(section.title, section.level) for section in found] == [("Overview", 1), ("Usage", 2)]
