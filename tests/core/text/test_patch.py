"""Line patches against a plain model: what each line becomes, all at once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core.text.lines import line_count
from rolltop.core.text.patch import BOM, LineChange, PatchError, apply_patch, rebase_patch
from tests.campaign import examples

CONTENTS = st.text(alphabet="ab\r😀 ", max_size=3).map(lambda text: text.rstrip("\r"))
LINES = st.lists(CONTENTS, max_size=6)
VALUES = st.lists(CONTENTS, min_size=1, max_size=3).map("\n".join)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Return a text with either kind of line breaks, with or without a mark and a last break."""
    lines, ending = draw(LINES), draw(st.sampled_from(["\n", "\r\n"]))
    closed = ending if lines and draw(st.booleans()) else ""
    return draw(st.sampled_from(["", BOM])) + ending.join(lines) + closed


@st.composite
def patches(draw: st.DrawFn, text: str) -> tuple[LineChange, ...]:
    """Return a patch that fits the text."""
    last = line_count(text.removeprefix(BOM))
    changed = draw(st.sets(st.integers(1, last))) if last else set[int]()
    changes = [
        LineChange("mod", n, draw(VALUES)) if draw(st.booleans()) else LineChange("del", n)
        for n in changed
    ]
    adds = draw(st.lists(st.integers(1, last + 1), max_size=3))
    changes += [LineChange("add", n, draw(VALUES)) for n in adds]
    return tuple(draw(st.permutations(changes)))


def contents(text: str) -> list[str]:
    """Return the lines without their breaks."""
    parts = text.removeprefix(BOM).split("\n")
    last = parts.pop()
    return [*(part.removesuffix("\r") for part in parts), *([last] if last else [])]


def lines_of(value: str) -> list[str]:
    """Return the lines of a value: a last break ends its last line."""
    return value.removesuffix("\n").split("\n")


def expected(text: str, changes: tuple[LineChange, ...]) -> list[str]:
    """Return what the lines become, said one line at a time."""
    lines = contents(text)
    result: list[str] = []
    for number in range(1, len(lines) + 2):
        for change in changes:
            if change.operation == "add" and change.line == number:
                result += lines_of(change.value)
        instead = [c for c in changes if c.operation != "add" and c.line == number]
        if instead:
            result += lines_of(instead[0].value) if instead[0].operation == "mod" else []
        elif number <= len(lines):
            result.append(lines[number - 1])
    return result


@settings(max_examples=examples(150))
@given(st.data())
def test_a_patch_does_to_each_line_what_it_says(data: st.DataObject) -> None:
    text = data.draw(texts())
    changes = data.draw(patches(text))
    values = "\n".join(change.value for change in changes)
    if "" in expected(text, changes)[-1:]:
        return  # a last line that is empty and open is no line: a text cannot say it
    patched = apply_patch(text, changes)
    assert contents(patched) == expected(text, changes)
    assert patched.startswith(BOM) == text.startswith(BOM)
    if changes and expected(text, changes):
        assert patched.endswith("\n") == text.endswith("\n")
    if "\r\n" in text and "\r" not in values:
        assert patched.count("\n") == patched.count("\r\n")
    if "\r" not in text and "\r" not in values:
        assert "\r" not in patched


@settings(max_examples=examples(50))
@given(texts())
def test_no_change_changes_no_byte(text: str) -> None:
    assert apply_patch(text, ()) == text


@pytest.mark.parametrize(
    ("text", "changes", "patched"),
    [
        ("a\r\nb", [LineChange("add", 3, "c")], "a\r\nb\r\nc"),
        ("a\nb\n", [LineChange("del", 2)], "a\n"),
        ("a\nb", [LineChange("del", 2)], "a"),
        ("", [LineChange("add", 1, "x\ny")], "x\ny"),
        ("a\r\nb\n", [LineChange("mod", 1, "x\ny")], "x\r\ny\r\nb\n"),
        ("a\n", [LineChange("add", 1, "x\n")], "x\na\n"),
        ("a\n", [LineChange("mod", 1, "")], "\n"),
        (f"{BOM}a\n", [LineChange("mod", 1, f"{BOM}b")], f"{BOM}b\n"),
        ("a\rb\n", [LineChange("add", 2, "c")], "a\rb\nc\n"),
    ],
)
def test_breaks_and_marks_stay_as_they_were(
    text: str, changes: list[LineChange], patched: str
) -> None:
    assert apply_patch(text, changes) == patched


@pytest.mark.parametrize(
    "changes",
    [
        [LineChange("mod", 3, "x")],
        [LineChange("add", 4, "x")],
        [LineChange("del", 0)],
        [LineChange("mod", 1, "x"), LineChange("del", 1)],
        [LineChange("del", 2), LineChange("del", 2)],
    ],
)
def test_a_patch_that_does_not_fit_says_which_operation(changes: list[LineChange]) -> None:
    with pytest.raises(PatchError, match=r"text_patch\[[01]\]: "):
        apply_patch("a\nb", changes)


@settings(max_examples=examples(150))
@given(st.data())
def test_a_patch_that_is_moved_does_the_same_to_the_same_lines(data: st.DataObject) -> None:
    """Every line of the text is another one, so that it can be followed through both patches."""
    count = data.draw(st.integers(0, 8))
    text = "".join(f"line {n}\n" for n in range(count))
    theirs = data.draw(patches(text).map(lambda p: _named(p, "theirs")))
    ours = data.draw(patches(text).map(lambda p: _named(p, "ours")))
    now = apply_patch(text, theirs)
    moved = rebase_patch(text, now, ours)
    touched = {c.line for c in theirs if c.operation != "add"}
    if moved is None:
        assert touched
        return
    assert not touched & {c.line for c in ours if c.operation != "add"}
    both = contents(apply_patch(now, moved.changes))
    for change in ours:
        if change.operation != "add":
            assert f"line {change.line - 1}" not in both
        for new in change.value.split("\n") if change.value else []:
            assert new in both
    untouched = [
        f"line {n}"
        for n in range(count)
        if n + 1 not in touched | {c.line for c in ours if c.operation != "add"}
    ]
    assert [line for line in both if line.startswith("line ")] == untouched
    assert [line for line in both if line.startswith("theirs")] == [
        line for line in contents(now) if line.startswith("theirs")
    ]
    for change in (c for c in ours if c.operation == "add"):
        place = both.index(change.value.split("\n")[0])
        before = [n for n in range(change.line - 1) if f"line {n}" in both]
        after = [n for n in range(change.line - 1, count) if f"line {n}" in both]
        assert all(both.index(f"line {n}") < place for n in before)
        assert all(both.index(f"line {n}") > place for n in after)


def test_what_both_touch_is_not_moved() -> None:
    text = "a\nb\nc\n"
    assert rebase_patch(text, "a\nX\nc\n", [LineChange("mod", 2, "Y")]) is None
    assert rebase_patch(text, "a\nc\n", [LineChange("del", 2)]) is None
    assert rebase_patch(text, "X\nY\nc\n", [LineChange("add", 2, "Z")]) is None


def test_two_that_append_are_both_kept_in_their_order() -> None:
    moved = rebase_patch("a\n", "a\ntheirs\n", [LineChange("add", 2, "ours")])
    assert moved is not None
    assert moved.lines == ((2, 3),)
    assert apply_patch("a\ntheirs\n", moved.changes) == "a\ntheirs\nours\n"


def test_a_change_of_line_breaks_alone_touches_no_line() -> None:
    moved = rebase_patch("a\nb\n", "a\r\nb\r\n", [LineChange("mod", 2, "B")])
    assert moved is not None
    assert apply_patch("a\r\nb\r\n", moved.changes) == "a\r\nB\r\n"


def _named(changes: tuple[LineChange, ...], name: str) -> tuple[LineChange, ...]:
    """Return the patch with values that name whose they are."""
    return tuple(
        c if c.operation == "del" else LineChange(c.operation, c.line, f"{name} {n}")
        for n, c in enumerate(changes)
    )
