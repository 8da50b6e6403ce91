"""`rolltop demo`: the whole story, by a real client on a real server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.cli.conftest import REPOSITORY

if TYPE_CHECKING:
    import pytest

    from tests.cli.conftest import Shell

TOOLS = (
    "list_sections",
    "smart_read",
    "read_section",
    "read_plan",
    "add_task",
    "next_task",
    "claim_task",
    "complete_task",
    "list_tasks",
    "scratch_create",
    "scratch_append_cell",
    "scratch_edit_cell",
    "scratch_search",
)
TOLD = (
    "2  replicas: twelve",
    "line 2: /replicas must be of type integer",
    "line 3: /port must be at most 65535",
    "valid: true",
    "service: billing replicas: 3 port: 8080",
)
"""A cell that breaks its schema, what it is told, and where it is found once it is mended."""


def test_the_story_is_told_where_there_is_no_repository(shell: Shell) -> None:
    shell.set("ROLLTOP_THREADS", "nonsense")  # one's own settings do not disturb it
    outcome = shell.process("demo")
    assert outcome.err == ""
    assert outcome.code == 0
    for tool in TOOLS:
        assert f"→ {tool}(" in outcome.out
    for line in TOLD:
        assert line in outcome.out
    assert "did you mean title?" in outcome.out
    assert "\x1b" not in outcome.out
    paid, whole = (
        int(found.replace(",", ""))
        for found in re.findall(r"cost ([\d,]+)", outcome.out.split("calls and the list")[1])
    )
    assert paid < whole
    assert not shell.data.exists()
    assert list(shell.folder.iterdir()) == []


def test_the_story_is_told_on_the_repositorys_own_documents(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(REPOSITORY)
    outcome = shell.process("demo")
    assert (outcome.code, outcome.err) == (0, "")
    assert re.search(r"list_sections\(file_path=…/[\w-]+\.md\)", outcome.out)
