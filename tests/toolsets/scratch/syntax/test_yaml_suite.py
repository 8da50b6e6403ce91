"""The YAML Test Suite through the check of a YAML cell."""

from __future__ import annotations

import json
from typing import Any

from rolltop.toolsets.scratch.syntax import yaml_text
from rolltop.toolsets.scratch.syntax.checker import check_cell
from rolltop.toolsets.scratch.syntax.results import CheckRequest

from .data import load


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
        case["id"]
        for case in cases
        if check_cell(CheckRequest("yaml", case["yaml"])).valid == case["fail"]
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
