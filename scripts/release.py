"""Builds what a release consists of into dist/, and tries each part; signs and uploads nothing.

`python scripts/release.py [https://github.com/OWNER/NAME]`: the sdist, the wheel, the bundle for
desktop clients (.mcpb), and server.json for the MCP registry. The repository's address goes into
the metadata of all; without it there is no server.json, which is named after the owner.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

import rolltop

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT: Final = Path(__file__).resolve().parents[1]
DIST: Final = ROOT / "dist"
UV: Final = ROOT / ".venv" / "bin" / "uv"
BUNDLED: Final = ("LICENSE", "README.md", "pyproject.toml", "src")
# A build of the same sources is the same file, whenever and wherever it is made.
EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def main(repository: str = "") -> None:
    """Build all parts into an empty dist/ and try them."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    with tempfile.TemporaryDirectory() as folder:
        source = export_source(Path(folder) / "source", repository)
        build_packages(source)
        bundle = build_bundle(source, repository)
    if repository:
        write_server_json(repository)
    (wheel,) = DIST.glob("*.whl")
    try_wheel(wheel)
    try_bundle(bundle)
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size:>10,}  {path.relative_to(ROOT)}")


def export_source(folder: Path, repository: str) -> Path:
    """Copy what is committed, with the repository's address in its metadata."""
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    run(["git", "-C", ROOT, "archive", "--output", archive, "HEAD"])
    shutil.unpack_archive(archive, folder, filter="data")
    if repository:
        urls = {
            "Homepage": repository,
            "Changelog": f"{repository}/blob/main/CHANGELOG.md",
            "Issues": f"{repository}/issues",
        }
        table = "".join(f"{name} = {json.dumps(url)}\n" for name, url in urls.items())
        with (folder / "pyproject.toml").open("a", encoding="utf-8") as file:
            file.write(f"\n[project.urls]\n{table}")
        with (folder / "README.md").open("a", encoding="utf-8") as file:
            file.write(f"\n<!-- mcp-name: {registry_name(repository)} -->\n")
    return folder


def build_packages(source: Path) -> None:
    """Build the sdist, and the wheel from it, with the pinned build backend."""
    build: list[str | Path] = [UV, "build", "--quiet", "--offline", "--no-build-isolation"]
    run([*build, "--python", sys.executable, "--out-dir", DIST, source])
    (DIST / ".gitignore").unlink(missing_ok=True)
    with zipfile.ZipFile(next(DIST.glob("*.whl"))) as wheel:
        strangers = {name.split("/")[0] for name in wheel.namelist()} - {
            "rolltop",
            f"rolltop-{rolltop.__version__}.dist-info",
        }
    if strangers:
        raise SystemExit(f"the wheel holds {', '.join(sorted(strangers))}")


def build_bundle(source: Path, repository: str) -> Path:
    """Zip the sources with their manifest; the client's uv installs the rest."""
    manifest = read_template("manifest.json")
    if repository:
        manifest |= {
            "homepage": repository,
            "repository": {"type": "git", "url": f"{repository}.git"},
        }
    bundle = DIST / f"rolltop-{rolltop.__version__}.mcpb"
    files = sorted(
        path
        for name in BUNDLED
        for path in [source / name, *(source / name).rglob("*")]
        if path.is_file()
    )
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("manifest.json", EPOCH), json.dumps(manifest, indent=2))
        for path in files:
            entry = zipfile.ZipInfo(path.relative_to(source).as_posix(), EPOCH)
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return bundle


def write_server_json(repository: str) -> None:
    """Write the entry for the MCP registry."""
    server = read_template("server.json")
    server["name"] = registry_name(repository)
    server["repository"] = {"url": repository, "source": "github"}
    for package in server["packages"]:
        package["version"] = rolltop.__version__
    (DIST / "server.json").write_text(json.dumps(server, indent=2) + "\n", encoding="utf-8")


def read_template(name: str) -> dict[str, Any]:
    """Read a file of packaging/, with this version in it."""
    template = json.loads((ROOT / "packaging" / name).read_text(encoding="utf-8"))
    return {**template, "version": rolltop.__version__}


def registry_name(repository: str) -> str:
    """Return the server's name in the MCP registry, which only the owner may use."""
    address = urlsplit(repository)
    parts = address.path.strip("/").split("/")
    if (address.scheme, address.netloc, len(parts)) != ("https", "github.com", 2):
        raise SystemExit("the repository's address has the form https://github.com/OWNER/NAME")
    return f"io.github.{parts[0]}/rolltop"


def try_wheel(wheel: Path) -> None:
    """Install the wheel with what it pins into an empty environment, and ask it something."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "venv" / "bin" / "python"
        run([UV, "venv", "--quiet", "--python", sys.executable, Path(folder) / "venv"])
        install: list[str | Path] = [UV, "pip", "install", "--quiet", "--python", python]
        run([*install, "--require-hashes", "-r", ROOT / "requirements" / "core.txt"])
        run([*install, "--no-deps", wheel])
        asyncio.run(ask(str(python.with_name("rolltop")), ["serve"], Path(folder)))


def try_bundle(bundle: Path) -> None:
    """Start the bundle as its manifest says, and ask it something."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(bundle) as archive:
            archive.extractall(folder)
        manifest = json.loads((Path(folder) / "manifest.json").read_text(encoding="utf-8"))
        command = manifest["server"]["mcp_config"]
        arguments = [part.replace("${__dirname}", folder) for part in command["args"]]
        asyncio.run(ask(str(UV), arguments, Path(folder)))


async def ask(command: str, arguments: Sequence[str], folder: Path) -> None:
    """Start a server and let it find a line in `folder`."""
    kept = {name: os.environ[name] for name in os.environ if name.startswith(("UV_", "PIP_"))}
    environment = {
        **kept,
        "PATH": os.defpath,
        "HOME": os.environ.get("HOME", folder.as_posix()),
        "LOG_LEVEL": "warn",
        "ROLLTOP_DATA_DIR": str(folder / "data"),
        "CODE_ROOT": str(ROOT / "packaging"),
    }
    server = StdioServerParameters(
        command=command, args=list(arguments), env=environment, cwd=folder
    )
    async with Client(stdio_client(server)) as client:
        answer = await client.call_tool("repo_search", {"query": '"display_name": "Rolltop"'})
    if answer.is_error or not answer.structured_content["result"]:
        raise SystemExit(f"{command} {' '.join(arguments)}: {answer.structured_content}")


def run(command: Sequence[str | Path]) -> None:
    """Run a program; raises if it fails."""
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    main(*sys.argv[1:])
