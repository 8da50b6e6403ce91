"""HTML, CSS and Markdown cells: what is an error, what a warning, and where."""

from __future__ import annotations

import pytest

from rolltop.toolsets.scratch.syntax.checker import check_cell
from rolltop.toolsets.scratch.syntax.results import CheckRequest


def found(language: str, content: str) -> tuple[list[tuple[int, int]], list[str]]:
    checked = check_cell(CheckRequest(language, content))
    return [(one.line, one.column) for one in checked.errors], [
        one.code for one in checked.warnings
    ]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("<p>x\n<!-- never", [(2, 1)]),
        ('<p>\n<a href="x>y</a>', [(2, 9)]),
        ('<a href="x>y</a>\n<a href="z">w</a>', [(1, 9)]),
        ("<ul>\n<li>x</ul></div>", [(2, 11)]),
        ("<div>\n<span>x\n</div>", [(2, 1)]),
        ("<div\n<p>x</p>", [(1, 1)]),
        ("<p>x</p", [(1, 5)]),
        ("<script>if (a < b) {}", [(1, 1)]),
        ("<p><div>x</div></p>", [(1, 16)]),
        ("<svg><g><br></g></svg>", [(1, 9)]),
        ("<svg><foreignObject><div></foreignObject></svg>", [(1, 21)]),
        ("<p><![CDATA[ a > b ]]></i>", [(1, 23)]),
        ("<svg><![CDATA[ </g> ]]></i></svg>", [(1, 24)]),
        ("<script><!-- <script></script> -->", [(1, 1)]),
    ],
)
def test_html_errors(text: str, places: list[tuple[int, int]]) -> None:
    assert found("html", text)[0] == places


@pytest.mark.parametrize(
    "text",
    [
        "<!doctype html><title>x</title><p>a<p>b<br>c<img src=x>",
        "<table><tr><td>1<td>2<tr><th>3</table>",
        "<dl><dt>a<dd>b<dt>c<dd>d</dl><ul><li>a<ul><li>b</ul><li>c</ul>",
        "<select><option>a<option>b</select>",
        "<script>'</div>' < \"<p\"</script><style>a > b {}</style>",
        '<svg viewBox="0 0 1 1"><path d="M0"/><g></g></svg>',
        '<svg><foreignObject><p>a<br>b<img src="x"><hr></foreignObject><path d="M0"/></svg>',
        "<svg><style><![CDATA[ a > b {} /* <p> */ ]]></style></svg>",
        "<math><annotation-xml encoding='text/html'><br></annotation-xml><mi/></math>",
        "<script><!-- d.write('<script>a<\\/b</script>') --></script>",
        "<script>a = '<!-- -->'; b = '<script>'</script><p>",
        "<script><!--> x = '<script>' </script><p>",
        "<textarea><div></textarea>a < b & c <- d",
        "<A HREF=x>y</a><input disabled value='<b>'>",
    ],
)
def test_html_with_implied_tags_is_valid(text: str) -> None:
    assert found("html", text) == ([], [])


def test_html_remarks_are_warnings() -> None:
    assert found("html", "<b><i>x</b></i>") == ([], ["HTML_MISNESTED"])
    assert found("html", "<p a=1 A=2>x") == ([], ["HTML_DUPLICATE_ATTRIBUTE"])
    assert found("html", "<div/></div>") == ([], ["HTML_SELF_CLOSING"])


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("a {\n color: red", [(1, 3)]),
        ("a {}\n}", [(2, 1)]),
        ("a { b: (1 }\nc {}", [(1, 8)]),
        ('a { b: "x\n}', [(1, 8)]),
        ("a {} /* x", [(1, 6)]),
        ("a { b: url(x", [(1, 3), (1, 8)]),
        ("a { b: 1) }", [(1, 9)]),
    ],
)
def test_css_errors(text: str, places: list[tuple[int, int]]) -> None:
    assert found("css", text)[0] == places


@pytest.mark.parametrize(
    "text",
    [
        "@media (min-width: 1px) { a:hover { b: c } & > d { e: f } }",
        'a::before { content: "\\"}"; background: url(data:x;y{) }',
        "a\\{ { --x: { y: z }; } /* } */",
        "a { b: 'x\\\ny' }",
        "<!-- a { } -->",
    ],
)
def test_css_that_browsers_read_is_valid(text: str) -> None:
    assert found("css", text) == ([], [])


def test_markdown_is_described_and_linted() -> None:
    text = (
        "---\ntitle: x\n---\n# One\n\n### Three [a][gone] and [b][here]\n\n# One\n\n"
        "`[c][code]` <i>it's</i>\n\n[here]: http://x\n\n```py\n[d][e]\n"
    )
    checked = check_cell(CheckRequest("md", text))
    assert checked.valid
    assert [(one.code, one.line) for one in checked.warnings] == [
        ("MD_HEADING_JUMP", 6),
        ("MD_BROKEN_REFERENCE", 6),
        ("MD_DUPLICATE_HEADING", 8),
        ("MD_UNCLOSED_FENCE", 14),
    ]
    analysis = checked.details["analysis"]
    assert (
        check_cell(CheckRequest("md", "x\n\n---\n# A\n\n---\n")).details["analysis"]["headings"]
        == 1
    )
    assert (analysis["headings"], analysis["links"], analysis["code_blocks"]) == (3, 1, 1)


def test_plain_text_says_why_nothing_was_checked() -> None:
    checked = check_cell(CheckRequest("txt", "{[('\0\ud800"))
    assert checked.valid
    assert checked.details["syntax"]["checked"] is False
    assert checked.details["syntax"]["reason"]
