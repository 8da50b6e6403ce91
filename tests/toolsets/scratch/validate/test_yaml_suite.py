"""The YAML Test Suite through the check of a YAML cell."""

from __future__ import annotations

import json
from typing import Any

from rolltop.toolsets.scratch.validate import Cell, yaml_text
from rolltop.toolsets.scratch.validate.check import check
from rolltop.toolsets.scratch.validate.yaml_events import Composition

from .data import load

# libyaml takes `?x` for a key, a line of spaces for none, and ends an anchor at a colon.
LIBYAMLS_OWN = ["652Z", "HM87/1", "L24T/1", "Y2GN"]


def documents(text: str) -> list[Any]:
    """The JSON documents that stand one after the other in `text`."""
    decoder, found, at = json.JSONDecoder(), list[Any](), 0
    while at < len(text.rstrip()):
        value, end = decoder.raw_decode(text, at)
        found.append(value)
        at = end + len(text[end:]) - len(text[end:].lstrip())
    return found


def test_texts_are_told_from_errors() -> None:
    cases = load("yaml_test_suite/cases.json")
    wrong = [
        case["id"] for case in cases if check(Cell("yaml", case["yaml"])).valid == case["fail"]
    ]
    assert len(cases) > 400
    assert wrong == []


def test_values_are_those_of_the_suite() -> None:
    wrong: list[str] = []
    for case in load("yaml_test_suite/cases.json"):
        if case["json"] and not case["fail"]:
            values = [one.value for one in yaml_text.check(case["yaml"], "yaml").documents]
            if values != documents(case["json"]):
                wrong.append(case["id"])
    assert wrong == []


def test_values_put_together_from_events_are_the_parser_s() -> None:
    compared, wrong = 0, list[str]()
    for case in load("yaml_test_suite/cases.json"):
        composition = Composition(case["yaml"].removeprefix("\ufeff"))
        any(False for _ in composition.values())
        if composition.is_whole and case["json"] and not case["fail"]:
            compared += 1
            if (composition.documents or [None]) != documents(case["json"]):
                wrong.append(case["id"])
    assert compared > 150
    assert wrong == LIBYAMLS_OWN
