"""Neither answers nor the log show where the roots are, and the log shows nothing of the files."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from tests.desks import call_tool
from tests.toolsets.retrieval.forest import SOMEBODY, Forest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

WORD = "zebra-crossing"
PATHS = [
    "a.txt", "docs/a.txt", ".", "docs", "folder", "binary", "large", "out", ".hidden", "missing",
    "../x", "/", "a.txt/below", "pipe\0", "twice",
]  # fmt: skip
QUERIES = [WORD, "(", "[a-", "", "nothing at all", f"{WORD}\n", "a{9999}"]


def calls(forest: Forest) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in [*PATHS, str(forest.top / "docs" / "a.txt"), str(forest.top / "gone")]:
        for repo in ({}, {"repo": "docs"}, {"repo": "both"}, {"repo": WORD}):
            yield "repo_open_file", {"path": path, **repo}
            yield "repo_get_snippet", {"path": path, "start_line": 2, "end_line": 9, **repo}
            yield "repo_list_dir", {"path": path, "depth": 5, **repo}
    for query in QUERIES:
        for more in ({}, {"regex": True}, {"file_glob": "{"}, {"file_glob": "*.txt"}):
            yield "repo_search", {"query": query, **more}
        for more in ({}, {"file_glob": "{"}, {"order": "path"}):
            yield "repo_smart_search", {"query": query, **more}


def test_no_answer_and_no_line_of_the_log_tells(
    forest: Forest, caplog: pytest.LogCaptureFixture
) -> None:
    forest.desk.settings = forest.desk.settings.replace({"retrieval.max_file_bytes": 10_000})
    for name in ("docs/a.txt", "docs/folder/b.txt", "docs/.hidden", "docs/twice", "code/twice"):
        forest.put(name, f"the {WORD}\n" * 3)
    forest.put("docs/binary", WORD.encode() + b"\0")
    forest.put("docs/large", WORD * 1_000)
    (forest.top / "docs" / "out").symlink_to(forest.top)
    caplog.set_level(logging.DEBUG)
    for tool, arguments in calls(forest):
        answer = call_tool(forest.desk, SOMEBODY, tool, **arguments)
        given = str(arguments.get("path", ""))
        assert str(forest.top) not in answer.text, (tool, arguments)
        assert answer.code != "INTERNAL_ERROR"
        if answer.is_error and given != WORD and arguments.get("repo") != WORD:
            assert WORD not in answer.text or WORD in str(arguments.get("query"))
    logged = " ".join(str(vars(record)) for record in caplog.records)
    assert str(forest.top) not in logged
    assert WORD not in logged
    assert "repo_search" in logged
