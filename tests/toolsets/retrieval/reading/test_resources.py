"""The file resource, its completions, and the prompt."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from rolltop.core.context import CallContext
from rolltop.core.errors import InvalidArgument, NotFound, RolltopError
from rolltop.core.tools import ResourceContents
from rolltop.server.resources import UriTemplate
from rolltop.toolsets.retrieval import TOOLSET
from tests.toolsets.retrieval.forest import SOMEBODY

if TYPE_CHECKING:
    from tests.toolsets.retrieval.forest import Forest

FILE = TOOLSET.resource_templates[0]


def read(forest: Forest, uri: str, budget: int = 20_000) -> str:
    variables = UriTemplate(FILE.template).match(uri)
    assert variables is not None

    async def through() -> str:
        call = CallContext(forest.desk, SOMEBODY, "resource file", budget)
        found = await FILE.read(call, **variables)
        assert isinstance(found, ResourceContents)
        return found.text

    return asyncio.run(through())


def complete(forest: Forest, variable: str, prefix: str, **context: str) -> list[str]:
    async def through() -> list[str]:
        call = CallContext(forest.desk, SOMEBODY, "resource file", 20_000)
        return await FILE.complete(call, variable, prefix, context)

    return asyncio.run(through())


def test_a_file_is_read_whole_or_by_lines(forest: Forest) -> None:
    forest.put("code/src/a b#c.py", "one\ntwo\nthree\n")
    address = "rolltop://file/code/src/a%20b%23c.py"
    assert read(forest, address) == "one\ntwo\nthree\n"
    assert read(forest, f"{address}#L2") == "two\n"
    assert read(forest, f"{address}#L2-L3") == read(forest, f"{address}#2-3") == "two\nthree\n"


def test_a_file_longer_than_any_answer_is_not_read_whole(forest: Forest) -> None:
    forest.put("code/a.py", "a line of text\n" * 100_000)
    assert 1_000 < len(read(forest, "rolltop://file/code/a.py", budget=1_000)) < 20_000


@pytest.mark.parametrize("lines", ["x", "0", "3-2", "9", "1-", "-1", "L", "1-2-3", "9" * 30])
def test_lines_that_are_no_range_are_refused(forest: Forest, lines: str) -> None:
    forest.put("code/a.py", "one\n")
    with pytest.raises(InvalidArgument) as caught:
        read(forest, f"rolltop://file/code/a.py#{lines}")
    assert caught.value.code == "RANGE_INVALID"


def test_what_is_not_there_is_not_found(forest: Forest) -> None:
    forest.put("code/.hidden", "x")
    for path in ("gone", ".hidden", "a%0Ab"):
        with pytest.raises(NotFound):
            read(forest, f"rolltop://file/code/{path}")
    assert UriTemplate(FILE.template).match("rolltop://file/code/../secret") is None


@pytest.mark.parametrize("path", ["out/secret", "/etc/passwd", "%2Fetc/passwd", "sub/../../secret"])
def test_no_address_leads_out_and_no_error_tells_where_the_root_is(
    forest: Forest, path: str
) -> None:
    forest.put("secret", "s3cret\n")
    (forest.top / "docs" / "out").symlink_to(forest.top)
    address = f"rolltop://file/docs/{path}"
    if UriTemplate(FILE.template).match(address) is None:
        assert ".." in path
        return
    with pytest.raises(RolltopError) as caught:
        read(forest, address)
    assert caught.value.code == "PATH_OUT_OF_ROOT"
    told = f"{caught.value.message} {caught.value.hint} {caught.value.data}"
    assert str(forest.top) not in told
    assert "s3cret" not in told


@pytest.mark.parametrize("prefix", ["../", "/etc/", "out/", ".hid", "a\0", "x" * 9_999])
def test_completion_shows_nothing_that_is_not_listed(forest: Forest, prefix: str) -> None:
    forest.put("docs/.hidden", "x")
    forest.put("docs/a", "x")
    (forest.top / "docs" / "out").symlink_to(forest.top)
    assert complete(forest, "path", prefix, root="docs") == []


def test_completion_goes_from_root_to_path(forest: Forest) -> None:
    for name in ("docs/guides/one.md", "docs/guides/two.md", "docs/other.md"):
        forest.put(name, "x\n")
    assert complete(forest, "root", "d") == ["docs"]
    assert complete(forest, "root", "") == ["docs", "code"]
    assert complete(forest, "path", "guides/", root="docs") == ["guides/one.md", "guides/two.md"]
    assert complete(forest, "path", "guides/t", root="docs") == ["guides/two.md"]
    assert complete(forest, "path", "", root="nowhere") == []
    assert complete(forest, "lines", "", root="docs", path="other.md") == []


def test_completion_goes_on_behind_a_folder_of_many_files(forest: Forest) -> None:
    for name in (*(f"a/{number:04}.py" for number in range(5_001)), "b.py", "z/c.py", "z.py"):
        forest.put(f"docs/{name}", "x\n")
    assert complete(forest, "path", "b", root="docs") == ["b.py"]
    assert complete(forest, "path", "z", root="docs") == ["z/c.py", "z.py"]
    assert complete(forest, "path", "a/500", root="docs") == ["a/5000.py"]


def test_completion_leaves_out_what_cannot_be_read(forest: Forest) -> None:
    for number in range(110):
        forest.put(f"docs/{number:03}.bin", "\0")
        forest.put(f"docs/{number:03}.txt", "x\n")
    found = complete(forest, "path", "0", root="docs")
    assert found[:100] == [f"{number:03}.txt" for number in range(100)]
    assert complete(forest, "path", "/0", root="docs") == []


def test_the_prompt_holds_the_question_and_names_its_tools() -> None:
    prompt = TOOLSET.prompts[0]
    text = prompt.render({"question": "Where is the lock taken?"})
    assert "Where is the lock taken?" in text
    assert all(name in text for name in prompt.tools)
    assert set(prompt.tools) <= {tool.name for tool in TOOLSET.tools}
