"""Words are found wherever they stand in a note, however often its other words come back."""

from __future__ import annotations

from typing import Final

from tests.toolsets.notes.caller import Caller

LOG: Final = "\n".join(f"2026-11-23 order_{n} shipped" for n in range(1000, 1400))
LONG: Final = " ".join(f"w{n}" for n in range(8000))
NOTES: Final = {
    LOG: ["order_1399", '"order_1399 shipped"', "order_1000 order_1255 order_1256 order_1399"],
    "\n".join(f"getItem{chr(65 + n % 26)}{n}x()" for n in range(400)): ["getItemJ399x"],
    " ".join(f"v{n}" for n in range(1000)): ["v500", "v999", '"v998 v999"', "v0 v999"],
    " ".join(f"the whale{chr(97 + n % 26)}{n} swims" for n in range(400)): [
        '"the whalej399 swims"',
        '"whalei398 swims the"',
    ],
    "\n".join(f"日本第{n}回目" for n in range(400)): ["第399回目", '"第398回目 日本第399"', "第3"],
    "so " * 400 + "it ends " + "so " * 300: ['"so it ends so"', '"ends so so so"'],
    LONG: ["w7999", "w4000 w7999", '"w7998 w7999"'],
}
TITLES: Final = {query: text.splitlines()[0][:60] for text, some in NOTES.items() for query in some}


def found(caller: Caller, query: str) -> list[str]:
    return [title[:60] for title in caller.titles(query)]


def test_what_stands_late_in_a_note_is_found_and_excluded(mine: Caller) -> None:
    for note in NOTES:
        mine.note(note)
    assert {q: found(mine, q) for q in TITLES} == {q: [title] for q, title in TITLES.items()}
    assert found(mine, '"order_1000" -order_1399') == []
    assert found(mine, '-"order_1398 shipped" shipped') == []
    assert found(mine, '"w1" -w7999') == []
    assert found(mine, '"w1" -w8000') == [TITLES["w7999"]]
    assert len(found(mine, "-order_1399 -第399回目")) == len(NOTES) - 2
    assert found(mine, '"order_1398 order_1399"') == []


def test_a_note_that_grows_and_shrinks_is_found_by_its_words_of_now(mine: Caller) -> None:
    note = mine.note("order_1")
    mine.ok("note_save", id=note, local_version=1, text=LOG)
    assert mine.listed(q="order_1399") == [note]
    mine.ok("note_save", id=note, local_version=2, text="order_2", confirm_shrink=True)
    assert mine.listed(q='"order_1399"') == mine.listed(q='"order_1000"') == []
    assert mine.listed(q="order_2") == [note]


def test_next_is_there_wherever_a_cursor_is(mine: Caller) -> None:
    """Where the query is long, the cursor stands in `next` alone."""
    query = "harbour " + " ".join(f"zz{number}" for number in range(25))
    for number in range(4):
        mine.note(f"{query} {number}")
    answers = [mine.ok("note_list", q=query, max_tokens=budget) for budget in range(200, 300, 4)]
    assert all(answer["next"]["arguments"]["cursor"] for answer in answers)
    assert not all("next_cursor" in answer for answer in answers)
