"""No text of any format takes more time than its length allows, whatever it repeats."""

from __future__ import annotations

from functools import partial
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core import token_counter
from rolltop.core.fulltext.analyzer import tokenize_joined, tokenize_parts
from rolltop.core.fulltext.snippets import snippet
from rolltop.documents.outline import FILE_TYPES, FileType, detect_file_type, parse_outline
from rolltop.workspace.encoding import decode
from tests import growth
from tests.campaign import examples
from tests.growth import Sample, check_growth, processor_time

ANYWHERE: Final = (
    "a", "A", "_", "0", " ", "\t", "\n", "\r\n", "\0", "é", "中", "\u0301", "\u200b", ".", ",", ":",
    ";", "-", "=", "*", "+", "~", "^", "#", "<", ">", "(", ")", "[", "]", "{", "}", '"', "'", "`",
    "\\", "/", "|", "&", "%", "$", "@", "!", "?", "aA1", "a.b", "a/b", "://", '\\"', "\\\n", "//",
    "/*", "*/", '"""', "'''",
)  # fmt: skip
_BRACES: Final = (
    "class A {\n",
    "void f(",
    "f(){",
    "}\n",
    "/* a",
    "@A(",
    "static ",
    "a<b",
    "=>",
    "${",
)
OF_KIND: Final[dict[FileType, tuple[str, ...]]] = {
    "markdown": (
        "# a\n", "a\n---\n", "> ", "- ", "- a\n  ", "1. ", "```", "~~~\n", "[a](b)", "![",
        "[a]: b\n",
        "**", "* * ", "|a|\n|-|\n", "<div>", "<!--", "    a\n", "---\n", "&amp;", "<a ", "](",
    ),
    "restructuredtext": (
        "a\n===\n", "===\na\n===\n", "=== ===\n", ".. a::\n", ":a:`b`", ":a", "`a <b>`_", "``",
        "::\n",
        ">>> a\n", "+-+\n", "| ", "*a*", "1. ",
    ),
    "asciidoc": (
        "== a\n", "----\n", "====\n", "a\n----\n", "[a]\n", "|===\n", "a::", ":a: b\n",
        "////\n",
    ),
    "org": (
        "* a\n", "** TODO a :b:\n", " :a:", "[[a][b]]", "[[", "#+begin_a\n", "#+end_a\n",
        ":a:\n",
    ),
    "html": (
        "<h1>", "</h1>", "<h2", "<a ", ' a="v"', " a='v'", ' a="v', "='", "=", "<!--", "-->",
        "--!>",
        "<![CDATA[", "]]>", "<!a", "<?", "<script>", "</script", "<pre>", "<title>", "</", "&lt;",
        "&#1",
    ),
    "latex": (
        "\\section{", "\\section{a}\n", "\\verb|", "\\begin{verbatim}", "\\end{verbatim}",
        "%a\n",
    ),
    "python": (
        "def f(", "def f():\n", "class A:\n", "  def f():\n", "async ", "@a\n", 'f"', "#a\n",
        "r'",
    ),
    "javascript": (
        *_BRACES, "function ", "=/", "/[", "`", "`${", "(function(){", "async ",
        "export ",
    ),
    "java": _BRACES,
    "kotlin": (*_BRACES, "fun ", "fun <", "object ", "a?.", "companion "),
    "swift": (*_BRACES, "func a(", "init(", "extension A "),
    "csharp": (*_BRACES, '@"', '$"', "namespace a ", "[A]\n", "#if a\n", "record a(b);"),
    "c": (
        *_BRACES, "template <", 'R"(', ')"', "#if a\n", "#define a \\\n", "a::", "operator",
        "a<b,", "template<b>",
    ),
    "go": (*_BRACES, "func (", "type a struct {", "type a ", "func f() ", "type (\n", ")\n"),
    "rust": (*_BRACES, 'r#"', '"#', "impl a ", "#[a", "fn f(", "'a", "mod a {", "[a; ", "(b)]"),
    "php": (*_BRACES, "<?php\n", "<<<A\n", "A;\n", "#[", "function a(", "?>", "<", "'"),
    "ruby": (
        "def a\n", "end\n", "class A\n", "=begin\n", "=end\n", "__END__\n", "<<A\n", "%w(",
        " end",
    ),
    "shell": ("a() {\n", "a=(", "}\n", "function a {\n", "<<A\n", "$(", "case a in\n", "esac\n"),
    "json": ('{"a":', '"a": ', "[1,", "{},", '"\\"', '"a"', "{a:", "// a\n"),
    "yaml": ("a: ", "a:\n", "- a\n", "a: {", "a: [", 'a: "', "a: '", "'a': ", "---\n", "a#"),
    "toml": ("[a.b]\n", "[[a]]\n", "a = 1\n", '["a".', "a = [", "a = '''", "[a "),
    "ini": ("[a]\n", "[a", "a = b\n", "; a\n", " ]", " #"),
    "notebook": ("# a\n", "```\n"),
    "text": ("1.1 A\n\n", "1.1.", "Chapter 1\n\n", "a\n===\n", "A. B\n", "..... 1\n", "\n\n1. A. "),
}  # fmt: skip


@st.composite
def samples(draw: st.DrawFn, fragments: tuple[str, ...]) -> Sample:
    """Draw what a text of these fragments repeats, and what is before and behind that."""
    fragment = st.sampled_from(fragments) | st.sampled_from(ANYWHERE)
    return Sample(
        tuple(draw(st.lists(fragment, min_size=1, max_size=4))),
        start="".join(draw(st.lists(st.just("\n") | fragment, max_size=3))),
        end=draw(st.just("") | fragment),
        width=draw(st.sampled_from([0, 0, 0, 80, 900, 1_900])),
        nested=draw(st.booleans()),
    )


@given(st.data(), st.sampled_from(FILE_TYPES))
@settings(max_examples=examples(250), deadline=None)
def test_an_outline_takes_time_by_the_length_of_the_text(
    data: st.DataObject, kind: FileType
) -> None:
    sample = data.draw(samples(OF_KIND[kind]))
    check_growth(partial(parse_outline, kind=kind), sample)


# Each made a scanner quadratic or exponential once.
ONCE: Final[list[tuple[FileType, Sample]]] = [
    ("html", Sample((' a="v"',), "<h1>Page</h1>\n<img")),
    ("html", Sample((" a=", '"v"'), "<h1>Page</h1>\n<img")),
    ("html", Sample(("<![CDATA[",), end="<h1>Page</h1>")),
    ("markdown", Sample(("- ", "\\\n", "/"), "\n", nested=True)),
    ("markdown", Sample(("> ", "a\n"), nested=True)),
    ("markdown", Sample(("1) + ", "a\n"), nested=True)),
    ("javascript", Sample(("/[",))),
    ("javascript", Sample(("/[/]", "\\/"), "=")),
    ("javascript", Sample((" ", "{"), nested=True)),
    ("ruby", Sample(("=begin\n",))),
    ("toml", Sample(('"\\',))),
    ("yaml", Sample(('\\"',), 'a: {"')),
    ("text", Sample((" ",), "1.", "A!\n\n2. B\n\n")),
    ("text", Sample((" ",), "Chapter", "1 A\n\n2. B\n\n")),
    ("c", Sample(("a<b> ",))),
    ("restructuredtext", Sample((":a",), "=", "\n====\n", width=999)),
]


@pytest.mark.parametrize(("kind", "sample"), ONCE)
def test_what_made_an_outline_slow_once_does_so_no_more(kind: FileType, sample: Sample) -> None:
    check_growth(partial(parse_outline, kind=kind), sample, 8 * 64 * 1024)


@given(samples(sum(OF_KIND.values(), ())))
@settings(max_examples=examples(40), deadline=None)
def test_words_tokens_and_encodings_take_time_by_the_length_of_the_text(sample: Sample) -> None:
    check_growth(tokenize_joined, sample)
    check_growth(tokenize_parts, sample)
    check_growth(token_counter.count, sample)
    check_growth(lambda text: token_counter.prefix_length(text, len(text) // 16), sample)
    check_growth(partial(detect_file_type, "readme"), sample)
    check_growth(lambda text: snippet(text, text[:200]), sample)
    check_growth(lambda text: decode(text.encode("latin-1", "replace") + b"\xe9"), sample)


def test_marks_on_a_letter_are_sorted_in_time_by_their_number() -> None:
    check_growth(tokenize_joined, Sample(("\u0301\u0323",), "a"), 4 * growth.SIZE)


def test_the_measure_tells_squares_from_lines_and_ends_what_never_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def square(text: str) -> None:
        for at in range(0, len(text), 4):
            text[:at].split("a")

    def endless(text: str) -> None:
        while text:
            pass

    check_growth(lambda text: [text.upper() for _ in range(500)], Sample(("a",)))
    monkeypatch.setattr(growth, "FLOOR", growth.FLOOR / 20)  # a fast machine needs less than that
    with pytest.raises(AssertionError, match="power of"):
        check_growth(square, Sample(("a",)), 4_000)
    assert processor_time(endless, "a", 0.05) == float("inf")
