"""The JSON Schema Test Suite, its required part, through scratch_validate.

Each test of the suite is a cell with its schema; the suite's remote schemas are kept by the pad
under the addresses the suite gives them, since nothing is fetched from anywhere.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pytest

from rolltop.toolsets.scratch.syntax.json_text import is_object
from tests.desks import make_desk
from tests.toolsets.scratch.caller import Caller
from tests.toolsets.scratch.syntax.data import load

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS: Final = {"draft2020-12": 1257, "draft2019-09": 1227, "draft7": 913}
DRAFT_7: Final = "http://json-schema.org/draft-07/schema#"
OTHER_DRAFTS: Final = re.compile("/draft(?:-next|6|4|3)/")
UNBOUNDED: Final = {
    "max_result_tokens": 0,
    "scratch.max_cells_per_pad": 0,
    "scratch.validation_timeout": 100,
    "call_timeout": 200.0,
}
# By file and group. Such a schema is refused before anything is stored.
REFUSED: Final = {
    ("const", "nul characters in strings"): "no stored text holds a NUL",
    ("enum", "nul characters in strings"): "no stored text holds a NUL",
    ("vocabulary", "schema that uses custom metaschema with with no validation vocabulary"): (
        "a dialect of one's own would have to be fetched"
    ),
    ("vocabulary", "ignore unrecognized optional vocabulary"): (
        "a dialect of one's own would have to be fetched"
    ),
}
# By file and group. Its remote schema cannot be had, which is a warning; the rest is checked.
REMOTE: Final = {
    ("refRemote", "remote HTTP ref with different $id"): "kept under its $id, not its address",
    ("refRemote", "remote HTTP ref with different URN $id"): "kept under its $id, not its address",
}

Test = tuple[str, str, str, bool]
"""File, group, description, and whether the suite expects the data to be valid."""


@pytest.fixture
def caller(local: Caller) -> Iterator[Caller]:
    desk = make_desk(local.desk.database, settings=UNBOUNDED)
    yield Caller(desk, local.scope)
    desk.close()


def groups(name: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield file, group and schema; the schemas of draft 7 do not name their dialect."""
    for file, listed in load(f"json_schema_suite/{name}.json").items():
        for group in listed:
            schema = group["schema"]
            if name == "draft7" and is_object(schema) and "$schema" not in schema:
                schema = {"$schema": DRAFT_7, **schema}
            yield file, group, schema


def remotes() -> dict[str, Any]:
    """Return the suite's remote schemas of these dialects as a pad keeps them, by address."""
    return {
        address: {"schema": {**dialect(address), "$id": address, **schema}}
        for address, schema in load("json_schema_suite/remotes.json").items()
        if not OTHER_DRAFTS.search(address)
    }


def dialect(address: str) -> dict[str, str]:
    """Return what a remote schema of draft 7 leaves out: which dialect it is of."""
    return {"$schema": DRAFT_7} if "/draft7/" in address else {}


def cell(schema: Any, data: Any, **fields: Any) -> dict[str, Any]:
    given = schema if is_object(schema) else json.dumps(schema)
    return {"language": "json", "content": json.dumps(data), "json_schema": given, **fields}


@pytest.mark.parametrize("name", TESTS)
def test_required_tests_pass(caller: Caller, name: str) -> None:
    sent: list[tuple[Test, dict[str, Any]]] = []
    refused = 0
    for file, group, schema in groups(name):
        if (file, group["description"]) in REFUSED:
            refused += len(group["tests"])
            assert caller.code("scratch_create", cells=[cell(schema, 1)]) == "VALIDATION_ERROR"
            continue
        sent += [
            (
                (file, group["description"], test["description"], test["valid"]),
                cell(schema, test["data"]),
            )
            for test in group["tests"]
        ]
    metadata = {"schemas": remotes()}
    made = caller.ok("scratch_create", metadata=metadata, cells=[one for _, one in sent])
    pad = made["scratchpad"]["scratch_id"]
    results = caller.ok("scratch_validate", scratch_id=pad)["results"]
    assert len(sent) == len(results) == TESTS[name] - refused
    told = list(zip([test for test, _ in sent], results, strict=True))
    away = {test[:2] for test, result in told if result["details"]["schema"]["missing"]}
    assert away <= REMOTE.keys()
    wrong = [
        (test, result["valid"])
        for test, result in told
        if test[:2] not in REMOTE and result["valid"] != test[3]
    ]
    # Formats are asserted here; 2020-12's required tests have them as annotations only.
    assert {test[0] for test, _ in wrong} <= {"format"}
    assert len(wrong) == (19 if name == "draft2020-12" else 0)
    assert all(test[3] and not valid for test, valid in wrong)
