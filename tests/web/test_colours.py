"""Colours of cells: which parts have them, and texts that are made to break them."""

from __future__ import annotations

import html
import re
from importlib.resources import files
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any, Final

import pytest

from rolltop.toolsets.scratch.syntax.checker import LANGUAGES
from rolltop.web.colours import MAX_COLOURED, Colours
from tests.growth import Sample
from tests.web.test_pads import new_pad

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.web.visitor import Page, Site, Visitor

PATIENCE: Final = 3.0
TAG: Final = re.compile(r'<span class="([cdkns])">|</span>')
OUT: Final = "</span><script>alert(1)</script>&amp;\"'"
CODE: Final = {
    "py": ("@d\ndef f(x): return 'a' # b", [("k", "def"), ("d", "f"), ("s", "'a'"), ("c", "# b")]),
    "js": ("const f = `a${1}`; // b", [("k", "const"), ("n", "1"), ("c", "// b")]),
    "tsx": ("const a = <b c='d'/>; // e", [("d", "b"), ("d", "c"), ("s", "'d'"), ("c", "// e")]),
    "rs": ("fn f<'a>() { let x = 1; }", [("k", "fn"), ("d", "f"), ("n", "1")]),
    "hpp": ("#define A\nclass B {}; /* c */", [("k", "class"), ("d", "B"), ("c", "/* c */")]),
    "sh": ('if [ 1 ]; then echo "$a"; fi # b\n', [("k", "if"), ("k", "then"), ("c", "# b")]),
    "css": ("a { color: #fff } /* b */", [("d", "a"), ("n", "#fff"), ("c", "/* b */")]),
    "htm": ("<a b='c'>d</a><!-- e -->", [("d", "a"), ("s", "'c'"), ("c", "<!-- e -->")]),
    "php": ("<?php function f() { return 1; }", [("k", "function"), ("d", "f"), ("n", "1")]),
    "json": ('{"a": ["b", 1, true]}', [("d", '"a"'), ("s", '"b"'), ("n", "1"), ("n", "true")]),
    "yml": ("a: 'b' # c", [("d", "a"), ("s", "'b'"), ("c", "# c")]),
    "toml": ("[a]\nb = 'c' # d", [("k", "[a]"), ("s", "'c'"), ("c", "# d")]),
    "md": ("# A\n\n- `b`", [("k", "# A"), ("s", "`b`")]),
}
HOSTILE: Final = (
    *(Sample((unit,)) for unit in ("(", "[", "{", "<a ", "a.", " \n", "/", "//", "`", '"', "\\")),
    Sample(("(", ")"), nested=True),
    Sample(("<b>", "</b>"), nested=True),
    Sample(("/*", "'", '"', "<!--", "```", "<<A\n")),
    Sample(("a ",), start="<?php /*"),
    Sample(("r#", '"')),
)


@pytest.fixture(scope="module")
def patient() -> Iterator[Colours]:
    """Return what colours all of a short text however slow the machine is."""
    made = Colours(seconds=PATIENCE)
    yield made
    made.close()


@pytest.fixture(scope="module")
def colours() -> Iterator[Colours]:
    """Return what the page uses."""
    made = Colours()
    yield made
    made.close()


def cell(language: str, content: str, name: str = "one") -> dict[str, Any]:
    return {"cell_id": name, "language": language, "content": content}


def coloured(colours: Colours, *cells: dict[str, Any]) -> list[list[tuple[str, str]]]:
    """Return the parts of each cell with a class, after a look at all there is."""
    found = colours.colour(cells)
    assert list(found) == [one["cell_id"] for one in cells], "the process ended"
    for one in cells:
        lines = found[one["cell_id"]]
        for line, text in zip(lines, one["content"].split("\n"), strict=True):
            bare = TAG.sub("", line)
            assert not set("<>\"'") & set(bare)
            assert html.unescape(bare) == text
            opened = [tag.startswith("</") for tag in re.findall("</?span", line)]
            assert opened == [False, True] * (len(opened) // 2)
    return [
        [
            (name, html.unescape(text))
            for line in found[one["cell_id"]]
            for name, text in re.findall(r'<span class="(.)">(.*?)</span>', line)
        ]
        for one in cells
    ]


@pytest.mark.parametrize("language", CODE)
def test_parts_of_a_cell_have_their_classes(language: str, patient: Colours) -> None:
    text, wanted = CODE[language]
    (found,) = coloured(patient, cell(language, text))
    assert [one for one in wanted if one not in found] == []


@pytest.mark.parametrize("language", ["c", "cs", "md", "py", "rs", "sh"])
def test_a_last_line_without_its_end_has_its_colours(language: str, patient: Colours) -> None:
    text = f"{'//' if language in {'c', 'cs', 'rs'} else '#'} a"
    (found,) = coloured(patient, cell(language, text))
    assert found == [("k" if language == "md" else "c", text)]


def test_every_language_has_colours_and_no_text_becomes_markup(patient: Colours) -> None:
    texts = [
        f"{before}{OUT}\n{after}{OUT}\n"
        for before, after in (
            ("# ", "// "),
            ("/* ", '"""'),
            ("x = '", "`"),
            ("<b c='", "<!-- "),
            ("<?php\n", "[a]: "),
        )
    ]
    bare: list[str] = []
    for language in sorted(set(LANGUAGES) - {"txt"}):  # one by one: loading them all takes long
        cells = [cell(language, text, str(n)) for n, text in enumerate(texts)]
        if not any(coloured(patient, *cells)):
            bare.append(language)
    assert bare == []


@pytest.mark.parametrize("language", ["py", "js", "c", "rs", "html", "php", "md", "yaml", "json"])
def test_hostile_texts_are_plain_from_where_the_time_is_up(language: str, colours: Colours) -> None:
    first = cell("json", "[1]", "first")
    for sample in HOSTILE:
        found = coloured(colours, first, cell(language, sample.text(MAX_COLOURED // 2)))
        assert found[0] == [("n", "1")], sample


def test_a_text_in_which_the_time_is_up_is_coloured_up_to_there(colours: Colours) -> None:
    text = "x = 1 # a\n" + " \n" * (MAX_COLOURED // 4)
    (found, after) = coloured(colours, cell("py", text), cell("py", "1", "after"))
    assert (found, after) == ([("n", "1"), ("c", "# a")], [])


def test_long_texts_and_those_of_no_known_language_are_plain(colours: Colours) -> None:
    cells = [
        cell("json", "[1]", "short"),
        cell("json", "[" * 1_000_000, "long"),
        cell("txt", "'a'", "prose"),
        cell("sql", "SELECT 1", "unknown"),
        cell("raw", "Token\t'a'", "of Pygments"),
        cell("../os", "1", "no name"),
        {"cell_id": "left out", "language": "py"},
    ]
    assert list(colours.colour(cells)) == ["short", "left out"]


def parts(page: Page) -> list[str]:
    return [given["class"] for tag, given in page.elements if tag == "span" and "class" in given]


def test_a_pad_shows_colours_with_what_is_wrong_below_the_line(site: Site, ann: Visitor) -> None:
    bad = {"language": "json", "content": f'{{\n  "a": 1,\n  b\n}}\n{OUT}', "validate": True}
    pad_id, _ = new_pad(site.agent(), bad)
    page = ann.get(f"/pads/{pad_id}")
    assert {"d", "n", "line bad"} <= {*parts(page)}
    assert re.search(r'"a": 1,\n\s+b\nline 3: .*JSON_SYNTAX.*\n}\n', page.text)
    assert OUT in page.text
    assert "<script>alert" not in page.body


def test_a_pad_is_plain_where_its_colours_take_too_long(
    site: Site, ann: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    pad_id, _ = new_pad(site.agent(), {"language": "py", "content": f"x = '''{OUT}'''\n"})
    monkeypatch.setattr("rolltop.web.colours.MAX_SECONDS", 0.0)
    page = ann.get(f"/pads/{pad_id}")
    assert (page.status, f"x = '''{OUT}'''" in page.text) == (200, True)
    assert not {*"cdkns"} & {*parts(page)}


def test_an_earlier_version_of_a_cell_has_its_colours(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    pad_id, (cell_id,) = new_pad(agent, {"language": "py", "content": f"x = '{OUT}'\ny = 1"})
    agent("scratch_delete_cell", scratch_id=pad_id, cell_id=cell_id)
    page = ann.get(f"/open?uri=rolltop%3A%2F%2Fcell%2F{cell_id}@1")
    assert {"s", "n"} <= {*parts(page)}
    assert f"x = '{OUT}'\ny = 1" in page.text


def luminance(colour: str) -> float:
    digits = colour if len(colour) == 6 else "".join(2 * digit for digit in colour)
    shares = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_are_told_from_the_ground_in_the_light_and_in_the_dark() -> None:
    style = files("rolltop.web").joinpath("static/page.css").read_text("utf-8")
    pairs = dict(re.findall(r"--(\w+): .*?(light-dark\(#\w+, #\w+\))", style))
    used = re.findall(r"pre \.[cdkns] { color: var\(--(\w+)\)", style)
    assert len(used) == 5
    for name, ground, mode in product(used, ("soft", "removed"), (0, 1)):
        levels = [luminance(re.findall(r"#(\w+)", pairs[one])[mode]) for one in (name, ground)]
        (dark, light), *_ = pairwise(sorted(levels))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, ground, mode)
