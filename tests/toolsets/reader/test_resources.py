"""The section resource, its completions, and the prompt."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from rolltop.core.context import CallContext
from rolltop.core.errors import NotFound
from rolltop.server.resources import UriTemplate
from rolltop.toolsets.reader import TOOLSET
from rolltop.workspace import PathError
from tests.toolsets.reader.shelf import SOMEBODY

if TYPE_CHECKING:
    from tests.toolsets.reader.shelf import Shelf

SECTION = TOOLSET.resource_templates[0]


def read(shelf: Shelf, root: str, path: str, section: str) -> str:
    call = CallContext(shelf.desk, SOMEBODY, "resource section", 20_000)

    async def through() -> str:
        found = await SECTION.read(call, root=root, path=path, id=section)
        assert isinstance(found, str)
        return found

    return asyncio.run(through())


def complete(shelf: Shelf, variable: str, prefix: str, **context: str) -> list[str]:
    call = CallContext(shelf.desk, SOMEBODY, "resource section", 20_000)

    async def through() -> list[str]:
        return await SECTION.complete(call, variable, prefix, context)

    return asyncio.run(through())


def test_a_section_is_read_by_root_path_and_id(shelf: Shelf) -> None:
    shelf.put("guides/a.md", "# A\n\none\n\n# B\n\ntwo\n")
    outline = shelf.ok("list_sections", file_path="guides/a.md")["outline"]
    assert read(shelf, "docs", "guides/a.md", outline[1]["id"]) == "# B\n\ntwo\n"


def test_what_is_not_there_is_not_found(shelf: Shelf) -> None:
    shelf.put("a.md", "# A\n")
    with pytest.raises(NotFound):
        read(shelf, "docs", "a.md", "szzzzzzz")
    with pytest.raises(PathError):
        read(shelf, "docs", "gone.md", "szzzzzzz")
    with pytest.raises(PathError):
        read(shelf, "docs", "../../etc/passwd", "szzzzzzz")


def test_completion_goes_from_root_to_path_to_id(shelf: Shelf) -> None:
    shelf.put("guides/one.md", "# Alpha\n\n# Beta\n")
    shelf.put("guides/two.md", "# Gamma\n")
    shelf.put("other.md", "# O\n")
    assert complete(shelf, "root", "d") == ["docs"]
    assert complete(shelf, "root", "x") == []
    assert complete(shelf, "path", "guides/", root="docs") == ["guides/one.md", "guides/two.md"]
    assert complete(shelf, "path", "guides/t", root="docs") == ["guides/two.md"]
    assert complete(shelf, "path", "", root="nowhere") == []
    outline = shelf.ok("list_sections", file_path="guides/one.md")["outline"]
    found = complete(shelf, "id", "be", root="docs", path="guides/one.md")
    assert found == [outline[1]["id"]]
    every = complete(shelf, "id", "", root="docs", path="guides/one.md")
    assert every == [entry["id"] for entry in outline]


def test_completion_offers_documents_in_utf16_without_a_mark(shelf: Shelf) -> None:
    shelf.put("wide.md", "# One\n\ntext\n".encode("utf-16-le"))
    assert complete(shelf, "path", "", root="docs") == ["wide.md"]
    assert complete(shelf, "id", "", root="docs", path="wide.md")


def test_completion_offers_only_paths_whose_sections_can_be_read(shelf: Shelf) -> None:
    for name in ("a.md", "b c.md", "über.md", "c#1.md", "d?.md", "e%41.md"):
        shelf.put(name, "# A\n\none\n")
    shelf.put("image.png", b"\x89PNG\0\0")
    shelf.folder.joinpath(os.fsdecode(b"bad\xff.md")).write_text("# A\n")
    shelf.desk.settings = shelf.desk.settings.replace({"reader.max_file_bytes": 1_000})
    shelf.put("large.md", "# A\n" + "word " * 300)
    offered = complete(shelf, "path", "", root="docs")
    assert offered == ["a.md", "b c.md", "über.md"]
    template = UriTemplate(SECTION.template)
    for path in offered:
        (section,) = complete(shelf, "id", "", root="docs", path=path)
        given = template.match(f"rolltop://section/docs/{path}#{section}")
        assert given == {"root": "docs", "path": path, "id": section}
        assert read(shelf, "docs", path, section) == "# A\n\none\n"


def test_the_prompt_names_the_document_and_real_tools() -> None:
    prompt = TOOLSET.prompts[0]
    text = prompt.render({"file_path": "a b.md", "question": "why?"})
    assert "a b.md" in text
    assert "why?" in text
    for tool in ("smart_read", "list_sections", "read_section", "read_plan"):
        assert tool in text
