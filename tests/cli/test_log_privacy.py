"""Every tool, called well and badly with words that must not be found in the log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from rolltop.core.dispatch import ToolRegistry
from rolltop.core.principal import Principal
from rolltop.toolsets import TOOLSETS

if TYPE_CHECKING:
    from rolltop.core.dispatch import RegisteredTool
    from tests.cli.conftest import Shell

MARKER = "zebra-crossing"
OFFERS = ToolRegistry(TOOLSETS).list_tools(Principal.for_user(""))


def value(part: dict[str, Any], schema: dict[str, Any]) -> object:
    """Return a value of a parameter's kind that holds the marker wherever text may stand."""
    if "$ref" in part:
        return value(schema["$defs"][part["$ref"].rsplit("/", 1)[1]], schema)
    if "anyOf" in part:
        return value(part["anyOf"][0], schema)
    if "enum" in part:
        return part["enum"][0]
    if part["type"] == "array":
        return [value(part["items"], schema)]
    simple: dict[str, object] = {"integer": part.get("minimum", 1), "boolean": True}
    return simple.get(part["type"], MARKER)


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer.name)
def test_no_tool_writes_callers_text_to_the_log(shell: Shell, offer: RegisteredTool) -> None:
    log = shell.folder.parent / "rolltop.log"
    (shell.folder / f"{MARKER}.md").write_text(f"# {MARKER}\n\nA {MARKER} here.\n")
    for name, text in {
        "LOG_FILE_PATH": str(log),
        "LOG_LEVEL": "trace",
        "DOCS_ROOT": str(shell.folder),
    }.items():
        shell.set(name, text)
    schema = offer.parameters.schema
    whole = {name: value(part, schema) for name, part in schema["properties"].items()}
    least = {name: whole[name] for name in schema.get("required", [])}
    paths = {
        name: [f"{MARKER}.md"] if isinstance(given, list) else f"{MARKER}.md"
        for name, given in whole.items()
        if "path" in name
    }
    calls: list[dict[str, object]] = [
        whole,
        least,
        {**least, **paths},
        {MARKER: MARKER, f"{MARKER}_id": str(UUID(int=0))},
        {name: {MARKER: MARKER} for name in whole},
        {name: f"{MARKER}\0\ud800" if given == MARKER else given for name, given in whole.items()},
    ]
    for arguments in calls:
        shell("call", offer.name, "--json", json.dumps(arguments))
    written = log.read_text()
    assert MARKER not in written
    assert written.count(offer.name) >= len(calls)
    assert "outcome" in written
    assert "fault" not in written
