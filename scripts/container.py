"""Builds packaging/Containerfile by buildah, and tries the image over HTTP; keeps nothing.

As root, with buildah and debootstrap. No registry of images is asked: in the place of the image
that the file starts from stands a Debian with the same Python. The packages are downloaded before,
so the steps of the file themselves run without a network.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from packaging.tags import platform_tags

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).resolve().parents[1]
CONTAINERFILE: Final = ROOT / "packaging" / "Containerfile"
UV: Final = ROOT / ".venv" / "bin" / "uv"
SUITE: Final = "trixie"
"""The release of Debian that has the Python of the image."""
IMAGE: Final = "rolltop"
EMAIL: Final = "crew@example.org"
TITLE: Final = "Kept in the volume"
START_SECONDS: Final = 60
_CONFIGURATION: Final = 2  # the exit code
PIP_SETTINGS: Final = "[global]\nno-index = true\nfind-links = /wheels\n"
PATHS: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def main() -> None:
    """Build the image and try it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {"STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}
        base, version = re.findall(r"(?m)^FROM (\S+:([\d.]+)\S*)$", CONTAINERFILE.read_text())[0]
        builder = Builder(folder)
        builder.make_base(base, version)
        download_wheels(folder / "wheels", version)
        builder.build()
        try_image(builder)


class Builder:
    """Buildah with a storage of its own."""

    def __init__(self, folder: Path) -> None:
        """Keep images and containers below the folder."""
        self._folder = folder
        places = ("--root", folder / "storage", "--runroot", folder / "run")
        self._buildah = ("buildah", *map(str, places))

    def __call__(self, *arguments: str | Path) -> str:
        """Run a command and return its output; raises if it fails."""
        return run([*self._buildah, *arguments])

    def make_base(self, name: str, version: str) -> None:
        """Make an image of Debian with its Python where the official image has it."""
        system = self._folder / "system"
        packages = "--include=ca-certificates,python3,python3-venv"
        run(["debootstrap", "--variant=minbase", packages, SUITE, system])
        run(["chroot", system, "python3", "-m", "venv", "/usr/local"])
        found = run(["chroot", system, "/usr/local/bin/python", "--version"])
        if not found.startswith(f"Python {version}."):
            raise SystemExit(f"{SUITE} has {found.strip()}, and {name} is asked for")
        container = self("from", "scratch").strip()
        self("add", "--quiet", container, system, "/")
        self("config", "--env", f"PATH={PATHS}", container)
        self("commit", "--quiet", "--rm", container, name)
        shutil.rmtree(system)

    def build(self) -> None:
        """Build the image from what is committed, as its first lines say."""
        context = self._folder / "context"
        context.mkdir()
        archive = run(["git", "-C", ROOT, "archive", "--output", f"{context}.tar", "HEAD"])
        assert not archive
        shutil.unpack_archive(f"{context}.tar", context, filter="data")
        offline = ("--offline", "--no-build-isolation", "--python", sys.executable)
        run([UV, "build", "--quiet", "--wheel", *offline, "--out-dir", context / "dist", context])
        settings = self._folder / "pip.conf"
        settings.write_text(PIP_SETTINGS, encoding="utf-8")
        mounts = ((self._folder / "wheels", "/wheels"), (settings, "/etc/pip.conf"))
        volumes = [part for own, there in mounts for part in ("--volume", f"{own}:{there}:ro")]
        file = ("--file", context / "packaging" / CONTAINERFILE.name)
        self("build", "--pull-never", "--network=none", *volumes, *file, "--tag", IMAGE, context)

    def start(self, container: str, *arguments: str) -> subprocess.Popen[str]:
        """Run the image's program in a container of it, whose volume stays from run to run."""
        program = self.settings["Entrypoint"]
        hosts = ("--env", "ROLLTOP_HTTP_ALLOWED_HOSTS=127.0.0.1")
        return subprocess.Popen(
            [*self._buildah, "run", *hosts, container, "--", *program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What the image says of how it runs."""
        return json.loads(self("inspect", "--type", "image", IMAGE))["OCIv1"]["config"]


def download_wheels(folder: Path, version: str) -> None:
    """Download the pinned packages for the image's Python."""
    pip = Path(tempfile.mkdtemp(dir=folder.parent))
    run([sys.executable, "-m", "venv", pip])
    platforms = [f"--platform={tag}" for tag in platform_tags()]
    chosen = ["--only-binary=:all:", "--no-deps", f"--python-version={version}", *platforms]
    required = ["--require-hashes", "--requirement", ROOT / "requirements" / "postgresql.txt"]
    run([pip / "bin" / "pip", "download", "--quiet", *chosen, "--dest", folder, *required])


def try_image(builder: Builder) -> None:
    """Start the server as the image says; it needs a token, and keeps what it is told."""
    container = builder("from", "--pull-never", IMAGE).strip()
    if builder("run", container, "--", "id", "-u").strip() == "0":
        raise SystemExit("the image's program runs as root")
    *command, address = builder.settings["Cmd"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command += [f"{address.rpartition(':')[0]}:{port}"]

    refused = builder.start(container, *command)
    _out, error = refused.communicate(timeout=START_SECONDS)
    if refused.returncode != _CONFIGURATION or "token" not in error:
        raise SystemExit(f"without a token it should refuse to start: {error}")
    token = ""
    for arguments in (("user", "add", EMAIL), ("token", "create", EMAIL)):
        answered, error = builder.start(container, *arguments).communicate(timeout=START_SECONDS)
        if not answered:
            raise SystemExit(error)
        token = answered.splitlines()[-1]

    for expected in ([], [TITLE]):
        server = builder.start(container, *command)
        try:
            own_id = wait_for_start(server)
            asyncio.run(ask(port, token, expected))
            os.kill(own_id, signal.SIGTERM)  # buildah would kill it
            _out, log = server.communicate(timeout=START_SECONDS)
        finally:
            server.kill()
        if server.returncode or "stopped" not in log:
            raise SystemExit(f"it did not stop in order: {log}")
    print(f"{CONTAINERFILE.relative_to(ROOT)}: built, started, asked over HTTP, and stopped")


def wait_for_start(server: subprocess.Popen[str]) -> int:
    """Return the process id of the server, which says so when it listens."""
    assert server.stderr
    log = ""
    for line in server.stderr:
        log += line
        if found := re.search(r" info started pid=(\d+) ", line):
            return int(found[1])
    raise SystemExit(f"the server did not start: {log}")


async def ask(port: int, token: str, expected: list[str]) -> None:
    """Compare the server's tasks with those expected, and add one."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers) as http_client:
        transport = streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http_client)
        async with Client(transport) as client:
            listed: Any = (await client.call_tool("list_tasks", {})).structured_content
            titles: list[str] = [task["title"] for task in listed["data"]]
            if titles != expected:
                raise SystemExit(f"tasks are {titles}, and not {expected}")
            await client.call_tool("add_task", {"title": TITLE})


def run(command: Sequence[str | Path]) -> str:
    """Run a program and return its output; raises with that if it fails."""
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{(done.stdout + done.stderr).decode()}")
    return done.stdout.decode()


if __name__ == "__main__":
    main()
