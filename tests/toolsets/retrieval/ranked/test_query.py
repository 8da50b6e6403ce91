"""What ranked search takes a query for: names, files, words."""

from __future__ import annotations

import sys

import pytest

from rolltop.toolsets.retrieval.ranked import rerank
from rolltop.toolsets.retrieval.ranked.rerank import ParsedQuery

VERY_LONG = 200_000


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("src/app/tokens.py", ("src/app/tokens.py",)),
        ("./Tokens.py", ("tokens.py",)),
        ("why does /etc/app.d/nginx fail?", ("etc/app.d/nginx",)),
        ("conf.d/nginx, pkg-1.2/LICENSE", ("conf.d/nginx", "pkg-1.2/license")),
        ("(see tokens.py:12, then docs/guide.md.)", ("tokens.py", "docs/guide.md")),
        ("app//core/tokens.py", ("app//core/tokens.py",)),
        ("a.py-b", ("a.py",)),
        ("src/", ()),
        ("/tasks", ()),
        ("../.. and ...", ()),
        ("a word. Another", ()),
    ],
)
def test_what_names_a_file_is_taken_for_one(query: str, files: tuple[str, ...]) -> None:
    found = ParsedQuery.of(query).files
    assert found[: len(files)] == files
    assert set(found) - {query.lower().strip("./")} <= set(files)


@pytest.mark.parametrize(
    "part", ["a", "a.", "a/", "a-", ".", "/", "a/-", "1_", "_", "é", "a.bcdefghijklm"]
)
def test_a_run_of_any_length_is_gone_through_once(
    monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """Gone through once for each of its characters, it would take minutes."""
    monkeypatch.setattr(rerank, "MAX_QUERY", sys.maxsize)
    for ending in ("", "!"):
        text = part * (VERY_LONG // len(part)) + ending
        assert sum(map(len, ParsedQuery.of(text).files)) <= 2 * len(text)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("asyncio.gather", {"gather"}),
        ("Path.read_text", {"readtext"}),
        ("os.path.join()", {"join"}),
        ("how does subprocess.run wait", {"run", "wait", "how", "does"}),
    ],
)
def test_the_last_part_of_a_dotted_name_is_a_name(query: str, names: set[str]) -> None:
    sought = ParsedQuery.of(query)
    assert names <= set(sought.names)
    assert sought.length >= max(map(len, names))


def test_no_more_files_are_looked_for_than_a_person_names() -> None:
    assert len(ParsedQuery.of(" ".join(f"f{n}.py" for n in range(300))).files) == 32
