"""Whatever runs, with every extra: nothing is written outside our directories, nobody is called.

strace sees the server, its workers and the programs they run, native code included.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import pytest
from mcp import Client, StdioServerParameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOP: Final = Path(__file__).parents[2]
DOCUMENTS: Final = TOP / "tests" / "data" / "documents"
PATIENCE: Final = 300.0
_NETWORK: Final = ("connect", "sendto", "sendmsg", "sendmmsg", "bind")
_OPENS: Final = ("open", "openat", "openat2")
_CHANGES: Final = (
    *("creat", "mkdir", "mkdirat", "mknod", "mknodat", "rename", "renameat", "renameat2"),
    *("link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat", "rmdir", "truncate"),
    *("chmod", "fchmodat", "chown", "fchownat", "utimensat"),
)
STRACE: Final = (
    *("strace", "-f", "-qq", "-y", "-s", "4096", "--seccomp-bpf", "-e", "signal=none"),
    *("-e", f"trace={','.join((*_NETWORK, *_OPENS, *_CHANGES))}"),
)
_CALL: Final = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)(?:<(.*)>)?", re.DOTALL)
_PATH: Final = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')
_PEER: Final = re.compile(r'sa_family=(\w+)(?:, sin6?_port=htons\((\d+)\))?.*?"([^"]*)"')
_WRITES: Final = ("O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC")
CELLS: Final = {
    "py": "x = [1]\n",
    "js": "const x = 1;\n",
    "go": "package main\n",
    "sh": "echo one\n",
    "yaml": "a: [1]\n",
    "html": "<p>one</p>\n",
    "css": "a { color: red }\n",
}


class Traced:
    """Runs of rolltop under strace, in a home of their own."""

    def __init__(self, folder: Path, database: str) -> None:
        self.folder = folder
        self.database = database
        self.home, self.ours = folder / "home", [folder / name for name in ("data", "tmp")]
        for made in (self.home, *self.ours, folder / "documents"):
            made.mkdir()
        for document in DOCUMENTS.iterdir():
            shutil.copy(document, folder / "documents")
        (folder / "documents" / "long.md").write_text("# Long\n\n" + "A line of text.\n" * 20_000)
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "TMPDIR": str(folder / "tmp"),
            "PYTHONPATH": str(TOP / "src"),
            "ROLLTOP_DATA_DIR": str(folder / "data"),
            "DATABASE_URL": database,
            "DOCS_ROOT": str(folder / "documents"),
        }

    def command(self, name: str, *arguments: str) -> list[str]:
        log = str(self.folder / f"{name}.strace")
        return [*STRACE, "-o", log, sys.executable, "-m", "rolltop", *arguments]

    def run(self, name: str, *arguments: str) -> None:
        subprocess.run(
            self.command(name, *arguments),
            env=self.environment,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,  # doctor finds fault with this desk
            timeout=PATIENCE,
        )

    def calls(self) -> Iterator[tuple[str, str, str]]:
        """Yield each system call that succeeded, or tried to reach somebody."""
        for log in self.folder.glob("*.strace"):
            text = log.read_text(errors="replace")
            for line in _joined(text.splitlines()):
                found = _CALL.match(line)
                if found and (int(found[3]) >= 0 or found[1] in _NETWORK):
                    yield found[1], found[2], found[4] or ""

    def written(self) -> set[str]:
        """The paths outside our directories that something was done to."""
        allowed = (*map(str, self.ours), "/dev/null", "/memfd:", "pipe:")
        paths = {path for call in self.calls() for path in self._paths(*call)}
        return {
            path for path in paths if not path.startswith(allowed) and "__pycache__" not in path
        }

    def _paths(self, name: str, arguments: str, opened: str) -> list[str]:
        if name in _NETWORK:
            return []
        if name in _OPENS:
            return [opened] if any(flag in arguments for flag in _WRITES) else []
        found = _PATH.findall(arguments)[-1:] if "symlink" in name else _PATH.findall(arguments)
        return [str(Path(base or self.folder, path)) for base, path in found]

    def reached(self) -> set[str]:
        """The addresses that something was sent to, the database's apart."""
        own = str(urlsplit(self.database).port)
        found = set[str]()
        for name, arguments, _ in self.calls():
            if name not in _NETWORK:
                continue
            peer = _PEER.search(arguments)
            if peer and peer[1] in {"AF_INET", "AF_INET6"} and peer[2] != own:
                found.add(f"{name} {peer[3]}:{peer[2]}")
        return found


def _joined(lines: list[str]) -> Iterator[str]:
    """Yield calls whole that strace shows in two parts, as another process came between."""
    begun: dict[str, str] = {}
    for line in lines:
        process, _, rest = line.partition(" ")
        if rest.endswith("<unfinished ...>"):
            begun[process] = rest.removesuffix("<unfinished ...>")
        elif resumed := re.match(r" *<\.\.\. \w+ resumed>(.*)", rest, re.DOTALL):
            yield f"{process} {begun.pop(process, '').rstrip()}{resumed[1]}"
        else:
            yield line


@pytest.fixture(params=["sqlite", "postgresql"])
def traced(request: pytest.FixtureRequest, tmp_path: Path) -> Traced:
    if request.param == "sqlite":
        return Traced(tmp_path, f"sqlite:///{tmp_path / 'data' / 'desk.db'}")
    fresh: Callable[[], str] = request.getfixturevalue("postgres_url")
    return Traced(tmp_path, fresh())


async def answer(client: Client, name: str, **arguments: Any) -> Any:
    """Return what a call that must succeed answered."""
    result = await client.call_tool(name, arguments, read_timeout_seconds=PATIENCE)
    assert not result.is_error, result.content
    return result.structured_content


async def use_all(client: Client) -> None:
    """Use what each extra brings: documents, models, parsers."""
    for name in ("docx", "pptx", "epub", "pdf", "ipynb", "md"):
        await answer(client, "list_sections", file_path=f"handbook.{name}")
    await answer(client, "smart_read", file_path="long.md")
    await answer(client, "repo_search", query="lamp")
    cells = [{"language": name, "content": text, "validate": True} for name, text in CELLS.items()]
    pad = (await answer(client, "scratch_create"))["scratchpad"]["scratch_id"]
    for cell in cells:
        added = await answer(client, "scratch_append_cell", scratch_id=pad, cell=cell)
        assert added["validation"][0]["valid"], added
    await answer(client, "scratch_search", query="a list with one number", mode="hybrid")
    await answer(client, "note_save", text="The keeper's lamp\n")
    await answer(client, "note_list", q="lamp")
    await answer(client, "add_task", title="Trim the wick")
    mode = "words"
    async with asyncio.timeout(PATIENCE):
        while mode != "hybrid":  # until the files' vectors are made
            found = await answer(client, "repo_smart_search", query="when to trim the wick")
            mode = found["meta"]["mode"]


def test_what_is_written_outside_and_who_is_called_is_seen(tmp_path: Path) -> None:
    program = """
import socket
socket.socket(type=socket.SOCK_DGRAM).connect(("192.0.2.1", 53))  # sends nothing
open("outside", "w").close()
"""
    traced = Traced(tmp_path, "sqlite:///desk.db")
    *strace, _module, _name = traced.command("control")
    subprocess.run([*strace[:-1], sys.executable, "-c", program], cwd=tmp_path, check=True)
    assert traced.reached() == {"connect 192.0.2.1:53"}
    assert traced.written() == {str(tmp_path / "outside")}


def test_nothing_is_written_outside_and_nobody_is_called(traced: Traced) -> None:
    command, *arguments = traced.command("serve", "serve")
    server = StdioServerParameters(
        command=command, args=arguments, env=traced.environment, cwd=traced.folder
    )

    async def meet() -> None:
        async with Client(server, read_timeout_seconds=PATIENCE) as client:
            await use_all(client)

    asyncio.run(meet())
    traced.run("doctor", "doctor")
    traced.run("status", "notes", "status")
    assert len(list(traced.calls())) > 100
    assert traced.reached() == set()
    assert traced.written() == set()
    assert list(traced.home.rglob("*")) == []
