"""Markdown headings are CommonMark's: by its own examples, and by two parsers as witnesses."""

from __future__ import annotations

import re
import sysconfig
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from rolltop.documents.outline import parse_outline
from rolltop.documents.outline.markdown import parse_headings
from tests.campaign import examples

# The reference implementation, as GitHub runs it; both modules come without types.
cmark: Final[Any] = import_module("cmarkgfm")
cmark_options: Final[Any] = import_module("cmarkgfm.cmark").Options

SPEC: Final = Path(__file__).parents[1] / "data" / "commonmark" / "spec.txt"

EXAMPLE: Final = re.compile(r"^`{32} example\n(.*?)^\.\n(.*?)^`{32}$", re.MULTILINE | re.DOTALL)

# Marks that begin, end or hide a block, and little else.
ADVERSARIAL: Final = st.lists(
    st.sampled_from(
        ["# ", "## ", "#", "=", "===", "---", "-", "- ", "* ", "+ ", "1. ", "2) ", "> ", ">", "```",
         "~~~", "    ", "  ", " ", "\t", "a", "b c", "\n", "\n", "\n", "\n\n", "<div>", "</div>",
         "<!--", "-->", "<pre>", "</pre>", "|", "|-|", "`", "\\", "10. ", "***", "<a>", "(", ")"]
    ),
    max_size=24,
).map("".join)  # fmt: skip

Witnessed = list[tuple[int, int]]


def _ours(text: str) -> Witnessed:
    """Return line and level of every heading, those in quotes and lists too."""
    source = text.encode()
    return [(source[:start].count(b"\n") + 1, level) for start, level, _, _ in parse_headings(text)]


def _markdown_it(text: str) -> Witnessed:
    tokens: list[Any] = MarkdownIt("commonmark").enable("table").parse(text)
    found = [token for token in tokens if token.type == "heading_open"]
    return [(token.map[0] + 1, int(token.tag[1])) for token in found]


def _cmark(text: str) -> Witnessed:
    options = cmark_options.CMARK_OPT_SOURCEPOS | cmark_options.CMARK_OPT_UNSAFE
    html: str = cmark.github_flavored_markdown_to_html(text, options)
    found = re.findall(r'<h([1-6]) data-sourcepos="(\d+):', html)
    return [(int(line), int(level)) for level, line in found]


def _spec_examples() -> list[tuple[str, str]]:
    text = SPEC.read_text("utf-8").replace("→", "\t")
    return [(found.group(1), found.group(2)) for found in EXAMPLE.finditer(text)]


def test_every_example_of_the_specification_has_the_headings_it_shows() -> None:
    found = _spec_examples()
    assert len(found) == 652
    for source, html in found:
        shown = re.findall(r"<h([1-6])>(.*?)</h\1>", html, re.DOTALL)
        expected = [
            (int(level), " ".join(unescape(re.sub(r"<[^>]+>", "", title)).split()))
            for level, title in shown
        ]
        ours = [(level, " ".join(title.split())) for _, level, title, _ in parse_headings(source)]
        assert ours == [(level, title) for level, title in expected], source


@settings(max_examples=examples(600), deadline=None)
@example("- a\n # b\n\n   # c\n")
@example("> a\nb\n===\n")
@example("|-|\n---")
@example("=\n|-|\n---")
@given(text=ADVERSARIAL)
def test_hostile_markdown_has_the_headings_a_witness_finds(text: str) -> None:
    # The witnesses differ from each other now and then, and markdown-it raises IndexError for some
    # texts; never do both differ from us.
    assert _ours(text) == _cmark(text) or _ours(text) == _markdown_it(text)


def test_real_documents_have_the_headings_both_witnesses_find() -> None:
    packages = Path(sysconfig.get_path("purelib"))
    documents = [*packages.rglob("*.md"), *packages.glob("*.dist-info/METADATA"), SPEC]
    texts = [path.read_text("utf-8", "replace") for path in sorted(documents)]
    chosen = [text for text in texts if len(text) < 60_000][:120]
    assert len(chosen) >= 40
    count = 0
    for text in chosen:
        ours = _ours(text)
        count += len(ours)
        assert ours == _cmark(text)
        assert [level for _, level in ours] == [level for _, level in _markdown_it(text)]
    assert count > 300


DOCUMENT: Final = """\
---
title: Not a heading
# neither is this
---

Title
across *lines*
===

## Closed ##
   ### Indented
    #### code, not a heading
```python title="# no"
# no
```
~~~
## no
~~~~
<div>
# no
</div>

> ## quoted

- # listed

| # a | b |
|-----|---|
| # c | d |

#### `code` and [link](/url "t") and \\# hash #
#no
#######  no
##### &amp; ![image](x)
######
"""


def test_only_the_headings_of_the_document_itself_are_sections() -> None:
    found = parse_outline(DOCUMENT, "markdown").sections
    assert [(section.title, section.level, section.start_line) for section in found] == [
        ("Title across lines", 1, 6),
        ("Closed", 2, 10),
        ("Indented", 3, 11),
        ("code and link and # hash", 4, 31),
        ("& image", 5, 34),
        ("", 6, 35),
    ]


def test_front_matter_that_never_ends_is_text() -> None:
    found = parse_outline("---\ntitle\n\n# A\n", "markdown").sections
    assert [(section.title, section.start_line) for section in found] == [("A", 4)]


def test_toml_front_matter_is_passed_over() -> None:
    text = '+++\ntitle = "x"\n# comment\n+++\n# A\n'
    assert [section.start_line for section in parse_outline(text, "markdown").sections] == [5]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_of_any_kind_are_counted_alike(newline: str) -> None:
    text = newline.join(["# Ä", "", "字\rstill the line", "", "B", "---", ""])
    found = parse_outline(text, "markdown").sections
    assert [(section.title, section.start_line) for section in found] == [("Ä", 1), ("B", 5)]
