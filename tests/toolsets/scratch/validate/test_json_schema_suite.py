"""The JSON Schema Test Suite, its required part, through the check of a JSON cell."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rolltop.toolsets.scratch.validate import Cell
from rolltop.toolsets.scratch.validate.check import check
from rolltop.toolsets.scratch.validate.json_values import is_object

from .data import load

DIALECTS = {
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft7": "http://json-schema.org/draft-07/schema#",
}
TESTS = {"draft2020-12": 1257, "draft2019-09": 1227, "draft7": 913}


def dialected(schema: Any, dialect: str) -> Any:
    """The schema with the dialect the suite means; those of 2020-12 and 2019-09 name theirs."""
    if is_object(schema) and "$schema" not in schema and dialect.endswith("#"):
        return {"$schema": dialect, **schema}
    return schema


def outcomes(name: str) -> list[tuple[str, str, str, bool, Any, tuple[str, ...]]]:
    """File, group, test, expected, outcome and missing references of each test."""
    remotes = load("json_schema_suite/remotes.json")
    found: list[tuple[str, str, str, bool, Any, tuple[str, ...]]] = []
    for file, groups in load(f"json_schema_suite/{name}.json").items():
        for group in groups:
            schema = dialected(group["schema"], DIALECTS[name])
            for test in group["tests"]:
                text = json.dumps(test["data"])
                checked = check(Cell("json", text, schema=schema, registry=remotes))
                missing = tuple(checked.details["schema"]["missing"])
                found.append(
                    (file, group["description"], test["description"], test["valid"],
                     checked.valid, missing)
                )  # fmt: skip
    return found


@pytest.mark.parametrize("name", DIALECTS)
def test_required_tests_pass(name: str) -> None:
    results = outcomes(name)
    failed = [one for one in results if one[3] != one[4]]
    # Formats are asserted here; 2020-12's required tests have them as annotations only.
    assert {file for file, *_ in failed} <= {"format"}
    assert len(failed) == (19 if name == "draft2020-12" else 0)
    assert all(expected and not outcome for _, _, _, expected, outcome, _ in failed)
    assert not [one for one in results if one[5]]
    assert len(results) == TESTS[name]
