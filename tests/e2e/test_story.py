"""One story through `rolltop serve`, told by the SDK's own client over every way in."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, StdioServerParameters

from tests.forks import Forked
from tests.server.processes import LEGACY, MODERN, PATIENCE, Lines

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

SOURCE = Path(__file__).parents[2] / "src"
DOCUMENT = "# Tides\n\nIntroduction.\n\n## Causes\n\nThe moon pulls.\n\n## Uses\n\nMills.\n"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a store that does not exist yet, or of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store' / 'desk.db'}"
    fresh: Callable[[], str] = request.getfixturevalue("postgres_url")
    return fresh()


@pytest.fixture
def eras(store: str) -> tuple[str, str]:
    """The eras of the story and of its epilogue: each store sees both, in another order."""
    return (LEGACY, MODERN) if store.startswith("sqlite") else (MODERN, LEGACY)


@pytest.fixture
def environment(tmp_path: Path, store: str) -> dict[str, str]:
    """What a server of the story finds in its environment."""
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "tides.md").write_text(DOCUMENT)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ROLLTOP", "PYTHONDONT"))}
    return {
        **kept,
        "PYTHONPATH": str(SOURCE),
        "ROLLTOP_CALL_TIMEOUT": "1h",
        "ROLLTOP_SCRATCH_VALIDATION_TIMEOUT": "1h",
        "HOME": str(tmp_path),
        "ROLLTOP_DATA_DIR": str(tmp_path / "data"),
        "DATABASE_URL": store,
        "DOCS_ROOT": str(documents),
    }


@contextmanager
def http_server(environment: dict[str, str], folder: Path) -> Generator[str]:
    """Run `rolltop serve --http` on a free port; gives its URL, and ends it with SIGINT."""
    command = ["-m", "rolltop", "serve", "--http", "127.0.0.1:0"]
    with Forked(command, folder=folder, environment=environment) as process:
        log = Lines(process.stderr)
        yield log.until(r"url=(\S+)")[1]
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
        log.rest()


async def data(client: Client, name: str, **arguments: Any) -> Any:
    """Return what a call that must succeed answered."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def draft(client: Client) -> None:
    """Keep a cell that breaks its schema, be told where, and find it by its words."""
    schemas = {"tide": {"schema": {"properties": {"height": {"type": "number"}}}}}
    made = await data(client, "scratch_create", metadata={"title": "Log", "schemas": schemas})
    cell = {
        "language": "yaml",
        "content": "station: Brest\nheight: tall\n",
        "validate": True,
        "json_schema": "scratchpad://schemas/tide",
    }
    pad = made["scratchpad"]["scratch_id"]
    kept = await data(client, "scratch_append_cell", scratch_id=pad, cell=cell)
    (fault,) = kept["validation"][0]["errors"]
    assert (fault["line"], fault["code"]) == (2, "SCHEMA_VIOLATION")
    found = await data(client, "scratch_search", query="Brest height")
    assert [hit["cell_id"] for hit in found["hits"]] == [kept["cell_id"]]


async def story(client: Client) -> None:
    """Find, read, plan, mend a bad call, draft in a cell, and work a task off."""
    listed = await data(client, "list_sections", file_path="tides.md")
    assert listed["sections"] == ["Tides", "Causes", "Uses"]
    section = await data(client, "read_section", file_path="tides.md", section_heading="Causes")
    assert "The moon pulls." in section["content"]

    bad = await client.call_tool("add_task", {"titel": "Explain mills"})
    assert bad.is_error
    assert "title" in str(bad.structured_content)
    await draft(client)
    first = (await data(client, "add_task", title="Read about mills"))["data"]["task_id"]
    second = (await data(client, "add_task", title="Explain mills", blocked_by=[first]))["data"]
    ready = (await data(client, "next_task"))["data"]
    assert ready["task_id"] == first
    await data(client, "complete_task", task_id=first)
    assert (await data(client, "next_task"))["data"]["task_id"] == second["task_id"]

    read = await client.read_resource(f"rolltop://task/{second['task_id']}")
    assert "Explain mills" in str(read.contents[0])


async def epilogue(client: Client) -> None:
    """Find what an earlier process left."""
    listed = await data(client, "list_tasks", status="completed")
    assert [task["title"] for task in listed["data"]] == ["Read about mills"]
    (pad,) = (await data(client, "scratch_list"))["scratchpads"]
    results = (await data(client, "scratch_validate", scratch_id=pad["scratch_id"]))["results"]
    assert [result["valid"] for result in results] == [False]


def tell(transport: Any, era: str, chapter: Callable[[Client], Awaitable[None]]) -> None:
    """Let a client of the era go through a chapter."""

    async def meet() -> None:
        mode: Any = "legacy" if era == LEGACY else "auto"
        async with asyncio.timeout(PATIENCE), Client(transport, mode=mode) as client:
            # Raised inside, an error would come out wrapped in groups.
            outcomes = await asyncio.gather(chapter(client), return_exceptions=True)
        for failure in outcomes:
            if failure is not None:
                raise failure

    asyncio.run(meet())


def test_over_stdio(tmp_path: Path, environment: dict[str, str], eras: tuple[str, str]) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "rolltop", "serve"], env=environment, cwd=tmp_path
    )
    tell(server, eras[0], story)
    with http_server(environment, tmp_path) as url:
        tell(url, eras[1], epilogue)


def test_over_http(tmp_path: Path, environment: dict[str, str], eras: tuple[str, str]) -> None:
    with http_server(environment, tmp_path) as url:
        tell(url, eras[0], story)
    with http_server(environment, tmp_path) as url:
        tell(url, eras[1], epilogue)
