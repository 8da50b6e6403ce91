"""`rolltop tools`: the list a client would get, and what it costs to be connected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rolltop.core import token_counter
from rolltop.core.pagination import compact_json
from rolltop.toolsets import TOOLSETS

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


def test_each_tool_is_listed_with_its_tokens_and_the_sum(shell: Shell) -> None:
    outcome = shell("tools")
    assert outcome.code == 0
    _head, *rows, last = outcome.out.splitlines()
    costs = {row.split()[0]: int(row.split()[2]) for row in rows}
    listed = json.loads(shell("tools", "--json").out)["tools"]
    assert list(costs) == [tool["name"] for tool in listed]
    for tool in listed:
        seen = {key: tool[key] for key in ("name", "description", "inputSchema")}
        assert costs[tool["name"]] == token_counter.count(compact_json(seen))
    total = int(last.split()[0].replace(",", ""))
    assert abs(total - sum(costs.values())) <= len(costs) + 2


@pytest.mark.parametrize(
    ("options", "present", "absent"),
    [
        (["--read-only"], "list_tasks", "add_task"),
        (["--toolsets", "reader"], "smart_read", "add_task"),
        (["--tools", "add_task"], "add_task", "list_tasks"),
        (["--exclude-tools", "add_task"], "list_tasks", "add_task"),
        (
            ["--names", "seed", "--exclude-tools", "scratch_namespace_list"],
            "scratch_namespace_create",
            "scratch_namespace_list",
        ),
    ],
)
def test_the_list_is_narrowed_as_the_servers_is(
    shell: Shell, options: list[str], present: str, absent: str
) -> None:
    names = [row.split()[0] for row in shell("tools", *options).out.splitlines()]
    assert present in names
    assert absent not in names


def test_an_unknown_toolset_exits_2_naming_those_there_are(shell: Shell) -> None:
    outcome = shell("tools", "--toolsets", "taks")
    assert outcome.code == 2
    assert f"any of {', '.join(toolset.name for toolset in TOOLSETS)}" in outcome.err
