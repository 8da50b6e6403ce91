"""Lists that go on: where they were, whatever was added or removed meanwhile, within any budget."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import cursor, pagination
from tests.desks import call_tool
from tests.toolsets.scratch.caller import UNKNOWN, Caller, cell

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.databases import Clock

HUGE = 10**30
NARROWED = ({"namespaces": ["m"]}, {"tags": ["a"]}, {"tags": ["b"]})
NONSENSE: dict[str, list[list[Any]]] = {
    "pads-recent": [
        ["0001-01-01T00:00:00+23:00", UNKNOWN],
        ["9999-12-31T23:59:59-23:00", UNKNOWN],
        ["2024-01-01T00:00:00", UNKNOWN],
        ["yesterday", UNKNOWN],
        ["2024-01-01T00:00:00Z", "\ud800"],
        ["2024-01-01T00:00:00Z", "x"],
        ["f" * 32],
        ["A" * 28],
        [5],
    ],
    "pads-created": [["2024-01-01T00:00:00Z", "x"], ["_" * 31]],
    "pads-title": [[0, "t", "x"], [10**20, "t", UNKNOWN], ["A" * 31], ["é" * 32], []],
    "trash": [
        ["2024-01-01T00:00:00Z", "x"],
        ["0001-01-01T00:00:00+23:00", "x"],
        ["2024-01-01T00:00:00Z", "\x00"],
    ],
    "namespaces": [["2024-01-01T00:00:00Z", "\ud800"], [5, "x"]],
    "tags": [["x"], ["1"], [5], ["1-xyz"], ["1-0000000000"], ["1-", 5]],
    "outline": [["-1-00000000"], [f"{HUGE}-00000000"], ["1-00000000-5"]],
    "results": [["٣-"]],
    "schemas": [[None]],
    "hits": [[{}]],
    "cells": [["1-00000000"], ["1-00000000-5-5"], ["1-00000000--5"]],
    "metadata": [["x"]],
}
LISTS: dict[str, tuple[str, dict[str, Any]]] = {
    "pads-recent": ("scratch_list", {}),
    "pads-created": ("scratch_list", {"order": "created"}),
    "pads-title": ("scratch_list", {"order": "title"}),
    "trash": ("scratch_restore", {}),
    "namespaces": ("scratch_namespace", {"action": "list"}),
    "tags": ("scratch_list_tags", {}),
    "outline": ("scratch_list_cells", {"scratch_id": ""}),
    "results": ("scratch_validate", {"scratch_id": ""}),
    "schemas": ("scratch_schema", {"action": "list", "scratch_id": ""}),
    "hits": ("scratch_search", {"query": "x"}),
    "cells": ("scratch_read", {"scratch_id": ""}),
    "metadata": ("scratch_read", {"scratch_id": ""}),
}


def followed(
    caller: Caller,
    tool: str,
    field: str,
    most: int,
    between: Callable[[], object] = lambda: None,
    /,
    **arguments: Any,
) -> list[Any]:
    """Return the items of a list that is followed to its end; `between` comes after a page."""
    seen: list[Any] = []
    for answer in caller.followed(tool, most, **arguments):
        seen += answer[field]
        if "next" in answer:
            between()
    return seen


@pytest.mark.parametrize(
    ("kind", "values"), [(kind, values) for kind, some in NONSENSE.items() for values in some]
)
def test_a_cursor_that_nobody_answered_is_refused(
    mine: Caller, kind: str, values: list[Any]
) -> None:
    tool, arguments = LISTS[kind]
    if "scratch_id" in arguments:
        arguments = {**arguments, "scratch_id": mine.pad("x")}
    packed = base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")
    made = f"{kind}~{packed}"
    error = mine.fails(tool, **arguments, cursor=made)
    assert error["code"] == "VALIDATION_ERROR"
    assert "cursor" in error["message"]


@pytest.mark.parametrize("order", ["recent", "created", "title"])
def test_any_place_in_a_cursor_is_one(mine: Caller, order: str) -> None:
    mine.pad("x", metadata={"title": "t"})
    for letter in "A9_":
        for length in (32, 39, 40):
            made = cursor.encode(f"pads-{order}", [letter * length])
            answer = call_tool(mine.desk, mine.scope, "scratch_list", order=order, cursor=made)
            assert answer.code in {None, "VALIDATION_ERROR"}


def test_any_number_in_a_cursor_is_a_place(local: Caller) -> None:
    pad = local.pad(*["x" * 20] * 9)
    for tool in ("scratch_list_cells", "scratch_validate"):
        beyond = forged(local, tool, pad, "999999999-")
        assert "next" not in local.ok(tool, scratch_id=pad, cursor=beyond)


def cursor_of(answer: dict[str, Any]) -> str:
    """Return the cursor of a truncated answer, in the call that continues where that has room."""
    return answer.get("next_cursor") or answer["next"]["arguments"]["cursor"]


def forged(caller: Caller, tool: str, pad: str, place: str) -> str:
    """Return the cursor of a list of that pad with another place in it."""
    answered = cursor_of(caller.ok(tool, scratch_id=pad, max_tokens=200))
    return f"{answered.partition('.')[0]}.{place}"


def test_a_cursor_goes_on_the_list_that_answered_it_alone(local: Caller) -> None:
    cells = [cell("x" * 40, "txt", tags=["a", "b"]) for _ in range(12)]
    pad, twin = (local.ok("scratch_create", cells=cells)["scratchpad"] for _ in "ab")
    pads = [{"scratch_id": one["scratch_id"]} for one in (pad, twin)]
    for n in range(8):
        tags = [f"a rather long tag with the number {n} {end * 30}" for end in "xyz"]
        one = local.pad(
            "words " * 9, tags=["a", "b", *tags], namespace="n", metadata={"title": "t"}
        )
        local.ok("scratch_update", scratch_id=one, namespace="m")
        schema = {"name": f"schema {n}", "schema": {"minItems": n}}
        for given in pads:
            local.ok("scratch_schema", action="upsert", schema=schema, **given)
    shown = [one["cell_id"] for one in local.read(pads[0]["scratch_id"])["cells"]]
    narrowed = [*pads, {**pads[0], "tags": ["a"]}, {**pads[0], "cell_ids": shown[1:]}]
    indices = {**pads[0], "indices": list(range(11))}
    lists: list[tuple[str, list[dict[str, Any]]]] = [
        ("scratch_list_cells", narrowed),
        ("scratch_read", [*narrowed, indices]),
        ("scratch_validate", [*pads, indices]),
        ("scratch_list_tags", [{}, {"namespaces": ["m"]}]),
        ("scratch_schema", [{"action": "list", **given} for given in pads]),
        ("scratch_search", [{"query": "words"}, {"query": "words", "tags": ["a"]}]),
        *(
            ("scratch_list", [{"order": order, **given} for given in ({}, *NARROWED)])
            for order in ("recent", "created", "title")
        ),
    ]
    for tool, calls in lists:
        for given in calls:
            made = cursor_of(local.ok(tool, max_tokens=300, **given))
            local.ok(tool, cursor=made, max_tokens=900, **given)
            for other in calls:
                if other != given:
                    error = local.fails(tool, cursor=made, **other)
                    assert error["code"] == "VALIDATION_ERROR", (tool, given, other)
                    assert "arguments" in error["hint"]


@pytest.mark.parametrize(
    ("tool", "field"), [("scratch_list_cells", "cells"), ("scratch_validate", "results")]
)
def test_cells_go_on_where_they_were_though_others_went(
    mine: Caller, tool: str, field: str
) -> None:
    pad = mine.pad(*[f"cell {n}" for n in range(24)])
    ids = mine.cell_ids(pad)
    going = iter(ids)

    def delete_the_first() -> None:
        mine.ok("scratch_delete_cell", scratch_id=pad, cell_id=next(going))

    seen = followed(mine, tool, field, 900, delete_the_first, scratch_id=pad)
    assert [one["cell_id"] for one in seen] == ids


def test_a_list_whose_next_cell_went_goes_on_with_the_one_after(mine: Caller) -> None:
    pad = mine.pad(*[f"cell {n}" for n in range(24)])
    ids = mine.cell_ids(pad)
    answer = mine.ok("scratch_list_cells", scratch_id=pad, max_tokens=700)
    count = len(answer["cells"])
    mine.ok("scratch_delete_cell", scratch_id=pad, cell_id=ids[count])
    following = mine.ok("scratch_list_cells", **answer["next"]["arguments"])
    assert following["cells"][0]["cell_id"] == ids[count + 1]


@pytest.mark.parametrize("between", ["next", "last", "next went"])
def test_a_list_goes_on_after_what_it_has_shown_though_a_pad_was_written(
    mine: Caller, clock: Clock, between: str
) -> None:
    for _ in range(9):
        mine.pad()
        clock.advance(seconds=1)
    ids = mine.listed()
    first = mine.ok("scratch_list", limit=4)
    if between == "next went":
        for pad in (ids[2], ids[4]):
            mine.ok("scratch_delete", scratch_id=pad)
    else:
        mine.append(ids[4 if between == "next" else 3])
    rest = mine.ok("scratch_list", **(first["next"]["arguments"] | {"limit": 9}))["scratchpads"]
    expected = ids[4:] if between == "last" else ids[5:]
    assert [pad["scratch_id"] for pad in rest] == expected


@pytest.mark.parametrize("tool", ["scratch_list_cells", "scratch_read"])
@pytest.mark.parametrize(("moved", "to"), [(0, 0), (0, 29), (-1, 0), (-1, 29)])
def test_cells_go_on_after_what_was_shown_though_one_was_moved(
    mine: Caller, tool: str, moved: int, to: int
) -> None:
    pad = mine.pad(*[f"cell {n}" for n in range(30)])
    ids = mine.cell_ids(pad)
    answer = next(mine.followed(tool, 1_000, scratch_id=pad))
    shown = answer["cells"] if "cells" in answer else answer["scratchpad"]["cells"]
    count = len(shown)
    beside = ids[count + moved]  # the next one, or the last one shown
    mine.ok(
        "scratch_replace_cell",
        scratch_id=pad,
        cell_id=beside,
        cell=cell("moved", "txt"),
        new_index=to,
    )
    rest = mine.ok(tool, **(answer["next"]["arguments"] | {"max_tokens": 10_000}))
    cells = rest["cells"] if "cells" in rest else rest["scratchpad"]["cells"]
    at_end = [beside] if to else []
    expected = [one for one in ids[count:] if one != beside] + at_end
    assert [one["cell_id"] for one in cells] == expected


@pytest.mark.parametrize("tool", ["scratch_list_cells", "scratch_read"])
def test_cells_go_on_though_the_last_one_went_to_the_end_and_the_next_is_gone(
    mine: Caller, tool: str
) -> None:
    pad = mine.pad(*[f"cell {n}" for n in range(30)])
    ids = mine.cell_ids(pad)
    answer = next(mine.followed(tool, 1_000, scratch_id=pad))
    count = len(answer["cells"] if "cells" in answer else answer["scratchpad"]["cells"])
    moved = {"cell_id": ids[count - 1], "cell": cell("moved", "txt"), "new_index": 29}
    mine.ok("scratch_replace_cell", scratch_id=pad, **moved)
    mine.ok("scratch_delete_cell", scratch_id=pad, cell_id=ids[count])
    rest = mine.ok(tool, **(answer["next"]["arguments"] | {"max_tokens": 10_000}))
    cells = rest["cells"] if "cells" in rest else rest["scratchpad"]["cells"]
    assert [one["cell_id"] for one in cells] == [*ids[count + 1 :], ids[count - 1]]


def test_a_list_goes_on_among_pads_whose_ids_begin_alike(mine: Caller, clock: Clock) -> None:
    ids = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(1, 6)]
    for scratch_id in ids:
        mine.pad(scratch_id=scratch_id)
        clock.advance(seconds=1)
    first = mine.ok("scratch_list", limit=2, order="created")
    mine.ok("scratch_delete", scratch_id=ids[4])
    rest = mine.ok("scratch_list", **(first["next"]["arguments"] | {"limit": 9}))
    assert [pad["scratch_id"] for pad in rest["scratchpads"]] == ids[2::-1]


TITLES: dict[str, list[str]] = {
    "short": [f"Deploy notes {n}" for n in range(6)],
    "long": [f"Investigation of the flaky integration tests, run number {n}" for n in range(6)],
    "without spaces": [
        "".join(chr(0x4E00 + (n + 1) * 7 * k) for k in range(300)) for n in range(6)
    ],
    "equal": ["Pad"] * 6,
    "none": [""] * 6,
}


def ids_once(pads: list[dict[str, Any]]) -> list[str]:
    """Return the ids in order, where the last pad may be shown again, whole, after it was cut."""
    ids = [pad["scratch_id"] for pad in pads]
    return ids[:-1] if len(ids) > 1 and ids[-1] == ids[-2] else ids


@pytest.mark.parametrize("titles", list(TITLES))
def test_pads_are_listed_within_the_smallest_budget(
    mine: Caller, clock: Clock, titles: str
) -> None:
    for title in TITLES[titles]:
        mine.pad(metadata={"title": title} if title else {})
        clock.advance(microseconds=137)
    for order in ("recent", "created", "title"):
        seen = followed(mine, "scratch_list", "scratchpads", pagination.MIN_BUDGET, order=order)
        assert ids_once(seen) == mine.listed(order=order)
    for pad in mine.listed():
        mine.ok("scratch_delete", scratch_id=pad)
        clock.advance(microseconds=137)
    gone = followed(mine, "scratch_restore", "scratchpads", pagination.MIN_BUDGET)
    whole = mine.ok("scratch_restore")["scratchpads"]
    assert ids_once(gone) == [pad["scratch_id"] for pad in whole]
    assert len(whole) == 6


@pytest.mark.parametrize("title", ["A", "zz", None, "deploy notes 2", "deploy notes 2b"])
def test_titles_go_on_where_they_were_though_the_last_one_changed(
    mine: Caller, title: str | None
) -> None:
    ids = [mine.pad(metadata={"title": f"Deploy notes {n}"}) for n in range(6)]
    first = mine.ok("scratch_list", order="title", limit=3)
    mine.ok("scratch_update", scratch_id=ids[2], metadata={"title": title})
    rest = mine.ok("scratch_list", **(first["next"]["arguments"] | {"limit": 9}))
    answers = [*first["scratchpads"], *rest["scratchpads"]]
    assert [pad["scratch_id"] for pad in answers if pad["scratch_id"] != ids[2]] == [
        pad for pad in ids if pad != ids[2]
    ]


def test_titles_go_on_where_they_were_though_those_listed_went(mine: Caller) -> None:
    ids = [mine.pad(metadata={"title": f"Deploy notes {n}"}) for n in range(8)]
    going = iter(ids)

    def remove_the_first() -> None:
        mine.ok("scratch_delete", scratch_id=next(going))

    seen = followed(
        mine, "scratch_list", "scratchpads", 300, remove_the_first, order="title", limit=1
    )
    assert [pad["scratch_id"] for pad in seen] == ids


def test_namespaces_are_listed_within_the_smallest_budget_though_those_listed_went(
    mine: Caller, clock: Clock
) -> None:
    names = ["".join(chr(0x4E00 + n * 7 + k * 5) for k in range(190)) for n in range(4)]
    names += [f"a rather long name of a project {n}" for n in range(2)]
    for at, name in enumerate(names):
        mine.ok("scratch_namespace", action="create", namespace=name)
        clock.advance(microseconds=137 * (at % 2))
    going = iter(names)

    def remove_the_first() -> None:
        mine.ok("scratch_namespace", action="delete", namespace=next(going))

    lists = [
        followed(
            mine, "scratch_namespace", "namespaces", pagination.MIN_BUDGET, between, action="list"
        )
        for between in (lambda: None, remove_the_first)
    ]
    for seen in lists:
        shown = [one["namespace"].removesuffix("…") for one in seen]
        assert all(name.startswith(part) for name, part in zip(names, shown, strict=True))


def test_schemas_and_tags_go_on_where_they_were_though_others_went(mine: Caller) -> None:
    pad = mine.pad()
    ids = [
        mine.ok(
            "scratch_schema",
            action="upsert",
            scratch_id=pad,
            schema={"name": f"schema {n:02}", "schema": {"minItems": n}},
        )["schema"]["id"]
        for n in range(20)
    ]
    going = iter(ids)

    def delete_the_first() -> None:
        mine.ok("scratch_schema", action="delete", scratch_id=pad, schema_id=next(going))

    seen = followed(
        mine, "scratch_schema", "schemas", 500, delete_the_first, action="list", scratch_id=pad
    )
    assert [entry["id"] for entry in seen] == ids
    tags = [f"a rather long tag with a number {n:03}" for n in range(90)]
    mine.ok("scratch_update", scratch_id=pad, tags=tags)

    def drop_the_first() -> None:
        mine.ok("scratch_update", scratch_id=pad, tags=tags[1:])

    assert followed(mine, "scratch_list_tags", "scratchpad_tags", 500, drop_the_first) == tags


def test_an_unknown_id_in_a_page_of_results_is_no_fault(local: Caller) -> None:
    pad = local.pad(*"abcdefghi")
    made = forged(local, "scratch_validate", pad, "8-00000000")
    (result,) = local.ok("scratch_validate", scratch_id=pad, cursor=made)["results"]
    assert result["cell_index"] == 8


def test_a_schema_that_no_budget_holds_comes_as_cut_text(mine: Caller) -> None:
    pad = mine.pad()
    large = {"name": "large", "description": "a", "schema": {"enum": list(range(20_000))}}
    small = {"name": "small", "description": "b", "schema": {"minItems": 2}}
    kept = [
        mine.ok("scratch_schema", action="upsert", scratch_id=pad, schema=entry, max_tokens=400)
        for entry in (large, small)
    ]
    assert kept[0]["truncated"] is True
    found = mine.ok(
        "scratch_schema",
        action="get",
        scratch_id=pad,
        schema_id=kept[0]["schema"]["id"],
        max_tokens=400,
    )
    assert pagination.count_tokens(found) <= 400
    assert found["schema"]["schema"].startswith('{"enum":[0,1,2,')
    assert found["schema"]["schema"].endswith("…")
    assert found["truncated"] is True
    seen = followed(mine, "scratch_schema", "schemas", 400, action="list", scratch_id=pad)
    assert [entry["name"] for entry in seen] == ["large", "small"]
    assert seen[1]["schema"] == {"minItems": 2}


def test_a_last_item_that_no_budget_holds_ends_its_list(mine: Caller) -> None:
    pad = mine.pad("x", "x")
    long = {"name": "z", "schema": {"enum": ["a text that is long enough " * 40] * 20}}
    mine.ok("scratch_schema", action="upsert", scratch_id=pad, schema=long)
    mine.ok("scratch_update", scratch_id=pad, tags=["t" * 200])
    lists: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("scratch_schema", "schemas", {"action": "list", "scratch_id": pad}),
        ("scratch_list_tags", "scratchpad_tags", {}),
        ("scratch_list_cells", "cells", {"scratch_id": pad}),
    )
    for tool, field, arguments in lists:
        assert followed(mine, tool, field, 250, **arguments), tool
