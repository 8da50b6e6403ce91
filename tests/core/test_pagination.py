"""Answers fit their budget, are cut at an item or a line, and lose nothing when continued."""

from __future__ import annotations

import copy
import dataclasses
import json
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core import pagination
from rolltop.core.errors import InvalidArgument
from tests.campaign import examples


def _finish(
    result: dict[str, Any], changed: dict[str, object], cursor: str | None
) -> dict[str, Any]:
    more = {"truncated": True, "next": {"tool": "t", "arguments": {"q": "x", **changed}}}
    return {**result, **more, **({"next_cursor": cursor} if cursor else {})}


def _page(items: list[dict[str, Any]], start: int = 0) -> pagination.Page:
    return pagination.Page(
        items[start:],
        lambda part: {"success": True, "data": part},
        lambda index: str(start + index + 1),
    )


def _text(text: str, start: int = 0) -> pagination.TextPage:
    return pagination.TextPage(
        text[start:], lambda part: {"content": part}, lambda end: {"char_start": start + end}
    )


strings = st.text(st.characters(exclude_categories=["Cs"]), max_size=400) | st.sampled_from(
    ["<|endoftext|>" * 20, "\\" * 300, '"' * 200, "é" * 300, "😀" * 200, " " * 900, "\n" * 200]
)


@settings(max_examples=examples(60))
@given(
    st.lists(st.fixed_dictionaries({"title": strings, "n": st.integers()}), max_size=60),
    st.integers(200, 3000),
)
def test_following_a_list_gives_every_item_once_within_the_budget(
    items: list[dict[str, Any]], limit: int
) -> None:
    seen: list[dict[str, Any]] = []
    start = 0
    while True:
        answer = pagination.truncate(_page(items, start), limit, _finish)
        assert pagination.count_tokens(answer) <= limit
        seen += answer["data"]
        if "next_cursor" not in answer:
            break
        assert len(seen) > start
        start = len(seen)
        assert answer["next_cursor"] == str(start)
        assert answer["next"]["arguments"]["cursor"] == str(start)
    assert len(seen) == len(items)
    for whole, given_ in zip(items, seen, strict=True):
        if whole != given_:
            assert given_["title"].endswith("…")
            assert pagination.count_tokens(_page([whole]).render(1)) + 60 > limit


@settings(max_examples=examples(60))
@given(st.lists(strings, max_size=80).map("\n".join), st.integers(200, 3000))
def test_following_a_text_gives_every_character_once_within_the_budget(
    text: str, limit: int
) -> None:
    parts: list[str] = []
    start = 0
    while True:
        answer = pagination.truncate(_text(text, start), limit, _finish)
        assert pagination.count_tokens(answer) <= limit
        parts.append(answer["content"])
        if "next" not in answer:
            break
        start = answer["next"]["arguments"]["char_start"]
        begun = answer["content"].rpartition("\n")[2]
        if begun != answer["content"] and begun:  # a line that fits no answer, begun in this one
            at = start - len(begun)
            line = text[at:].partition("\n")[0]
            alone = _finish({"content": line}, {"char_start": at + len(line)}, None)
            assert pagination.count_tokens(alone) > limit
    assert "".join(parts) == text


def test_a_line_too_long_for_any_answer_is_begun_where_there_is_room() -> None:
    text = "# Title\n\n" + "word " * 5000
    answer = pagination.truncate(_text(text), 1000, _finish)
    assert 900 < pagination.count_tokens(answer) <= 1000
    assert text.startswith(answer["content"])


def _around(tags: list[str], text: str, start: int = 0) -> pagination.TextPage:
    return pagination.TextPage(
        text[start:],
        lambda part: {"tags": tags, "content": part},
        lambda end: {"char_start": start + end},
    )


@settings(max_examples=examples(60))
@given(st.lists(strings, max_size=60), st.text(max_size=1500), st.integers(200, 600))
def test_a_text_is_read_to_its_end_whatever_stands_around_it(
    tags: list[str], text: str, limit: int
) -> None:
    parts: list[str] = []
    start = 0
    while True:
        answer = pagination.truncate(_around(tags, text, start), limit, _finish)
        assert pagination.count_tokens(answer) <= limit
        parts.append(answer["content"])
        goes_on = answer.get("next", {"arguments": {}})["arguments"]
        if "char_start" not in goes_on:
            break
        assert answer["content"]
        start = goes_on["char_start"]
    assert "".join(parts) == text
    if "next" in answer:  # what stands around the text was cut to the end
        whole = pagination.truncate(_around(tags, text, start), goes_on["max_tokens"], _finish)
        assert whole == {"tags": tags, "content": parts[-1]}


def test_what_stands_around_a_text_leaves_half_of_the_room_to_it() -> None:
    tags, text = [f"project/alpha-{n}" for n in range(100)], "word " * 5000
    answer = pagination.truncate(_around(tags, text), 200, _finish)
    assert pagination.count_tokens(answer["content"]) > 80
    assert "tags" not in answer
    assert answer["omitted"] == ["tags"]


@pytest.mark.parametrize("tags", range(0, 30, 2))
def test_a_text_is_read_in_few_answers_though_little_room_is_left(tags: int) -> None:
    """What is never cut takes 140 of 200 tokens, as a note's ids and hash do."""
    text, start, answers = "word " * 300, 0, 0
    fixed = {f"id{n}": sha256(bytes([n])).hexdigest()[:38] for n in range(5)}
    while True:
        cut = pagination.TextPage(
            text[start:],
            lambda part: {**fixed, "tags": [f"tag {n}" for n in range(tags)], "content": part},
            lambda end, start=start: {"char_start": start + end},
        )
        goes_on = pagination.truncate(cut, 200, _finish).get("next", {"arguments": {}})["arguments"]
        answers += 1
        if "char_start" not in goes_on:
            break
        start = goes_on["char_start"]
    assert answers <= 20


def test_of_the_only_item_the_next_call_gets_the_whole() -> None:
    item = {"title": "word " * 500}
    answer = pagination.truncate(_page([item]), 200, _finish)
    assert answer["data"][0]["title"].endswith("…")
    assert "next_cursor" not in answer
    enough = answer["next"]["arguments"]["max_tokens"]
    assert pagination.truncate(_page([item]), enough, _finish) == {"success": True, "data": [item]}


def test_where_only_missing_items_count_one_whose_text_is_cut_is_a_whole_answer() -> None:
    page = dataclasses.replace(_page([{"title": "word " * 500}]), counts_only=True)
    answer = pagination.truncate(page, 200, _finish)
    assert pagination.count_tokens(answer) <= 200
    assert answer["data"][0]["title"].endswith("…")
    assert answer.keys() == {"success", "data"}


def test_a_cut_list_is_as_long_as_the_budget_allows() -> None:
    items = [{"title": f"task number {n}"} for n in range(5000)]
    answer = pagination.truncate(_page(items), 1000, _finish)
    kept = len(answer["data"])
    longer = _finish({"success": True, "data": items[: kept + 2]}, {"cursor": str(kept)}, str(kept))
    assert pagination.count_tokens(longer) > 1000 * 0.99


def test_a_text_of_millions_of_characters_is_cut_at_a_line() -> None:
    text = "all work and no play\n" * 500_000
    answer = pagination.truncate(_text(text), 20_000, _finish)
    assert 19_000 < pagination.count_tokens(answer) <= 20_000
    assert answer["content"].endswith("\n")


@given(st.lists(strings, max_size=40), st.integers(0, 120))
def test_as_many_parts_are_counted_as_fit(parts: list[str], limit: int) -> None:
    count = pagination.count_fitting(len(parts), limit, lambda n: parts[:n])
    assert count == 0 or pagination.fits_budget(parts[:count], limit)
    assert count == len(parts) or not pagination.fits_budget(parts[: count + 1], limit)


def test_no_bound_gives_everything() -> None:
    text = "line\n" * 100_000
    assert pagination.truncate(_text(text), 0, _finish) == {"content": text}


def test_an_object_over_the_budget_is_cut_in_its_texts_and_says_so() -> None:
    answer = pagination.truncate_object({"success": True, "data": {"title": "x y " * 900}}, 200)
    assert pagination.count_tokens(answer) <= 200
    assert answer["truncated"] is True
    assert answer["data"]["title"].endswith("…")


@settings(max_examples=examples(100))
@given(strings.filter(lambda text: len(text) > 40), st.data(), st.integers(30, 600))
def test_a_text_with_a_focus_is_cut_around_it(text: str, data: st.DataObject, limit: int) -> None:
    at = data.draw(st.integers(0, len(text) - 1))
    marked = f"{text[:at]}†{text[at:]}"
    answer = pagination.truncate_object({"preview": pagination.FocusedText(marked, at)}, limit)
    assert pagination.count_tokens(answer) <= limit
    shown = answer["preview"]
    assert "†" in shown
    assert shown.strip("…") in marked
    assert len(shown) <= len(marked)
    assert copy.deepcopy(pagination.FocusedText(marked, at)).at == at
    if "truncated" in answer:
        plain = pagination.truncate_object({"preview": marked}, limit)["preview"]
        assert len(shown) >= len(plain) // 4


@given(
    size=st.integers(1, 400),
    others=st.lists(st.integers(41, 900), max_size=5),
    limit=st.integers(200, 600),
)
def test_a_text_with_a_focus_is_cut_only_where_no_other_has_more_than_a_mark(
    size: int, others: list[int], limit: int
) -> None:
    text = "龘" * size
    shown = pagination.truncate_object(
        {"preview": pagination.FocusedText(text, 0), "others": [{"text": "é" * n} for n in others]},
        limit,
    )
    assert pagination.count_tokens(shown) <= limit
    if shown["preview"] != text:
        assert all(one == {"text": "…"} for one in shown["others"])


def test_a_list_of_texts_that_does_not_fit_is_left_out_and_named() -> None:
    many = [f"tag{n}" for n in range(400)]
    kept = {"id": "x" * 36, "few": ["a", "b"], "data": {"tags": many, "omitted": ["other"]}}
    answer = pagination.truncate_object({**kept, "tags": many}, 200)
    assert answer == {
        "id": "x" * 36,
        "few": ["a", "b"],
        "data": {"omitted": ["other", "tags"]},
        "truncated": True,
        "omitted": ["tags"],
    }


def test_an_empty_list_stays_empty_however_little_room_there_is() -> None:
    kept: dict[str, Any] = {"numbers": list(range(500)), "names": ["a", "b"], "in": {"tags": []}}
    answer = pagination.truncate_object(kept, 200, is_committed=True)
    assert (answer["omitted"], answer["in"]) == (["names"], {"tags": []})


def test_what_a_write_kept_is_answered_in_a_few_words_rather_than_refused() -> None:
    kept = {"numbers": list(range(500)), "said": "é" * 30, "names": ["a", "b"]}
    answer = pagination.truncate_object(kept, 200, is_committed=True)
    assert answer == {
        "numbers": kept["numbers"],
        "said": "…",
        "truncated": True,
        "omitted": ["names"],
    }
    with pytest.raises(InvalidArgument):
        pagination.truncate_object(kept, 200)


def test_a_budget_too_small_for_anything_says_how_much_it_takes() -> None:
    page = pagination.Page([{"ids": list(range(500))}], lambda part: {"data": part}, str)
    with pytest.raises(InvalidArgument, match=r"takes at least \d+") as caught:
        pagination.truncate(page, 200, _finish)
    assert "max_tokens" in caught.value.hint


def test_lone_surrogates_are_replaced_everywhere() -> None:
    value = {"a\ud800": ["\udfff", {"b": "ok"}]}
    sent = pagination.replace_surrogates(value)
    assert sent == {"a\ufffd": ["\ufffd", {"b": "ok"}]}
    assert json.loads(pagination.compact_json(sent)) == sent


def test_a_cut_object_names_the_call_that_gets_it_whole() -> None:
    whole = {"data": {"title": "x y " * 900}}
    asked: list[int] = []

    def larger(needed: int) -> dict[str, Any]:
        asked.append(needed)
        return {"tool": "t", "arguments": {"max_tokens": needed}}

    answer = pagination.truncate_object(whole, 200, larger=larger)
    assert pagination.count_tokens(answer) <= 200
    assert answer["next"] == {
        "tool": "t",
        "arguments": {"max_tokens": pagination.count_tokens(whole)},
    }
    assert pagination.truncate_object(whole, asked[0], larger=larger) == whole
