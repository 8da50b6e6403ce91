"""What a fresh clone relies on: pinned requirements, and the commands the pages name."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any, Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.contracts.sources import ROOT

PYPROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT: Final[dict[str, Any]] = PYPROJECT["project"]
GROUPS: Final[dict[str, list[str]]] = PYPROJECT["dependency-groups"]
EXTRAS: Final[dict[str, list[str]]] = PROJECT["optional-dependencies"]
PIN: Final = re.compile(
    r"^([a-z0-9._-]+)==([^ ]+)[^\\]*\\\n((?:    --hash=sha256:[0-9a-f]{64}.*\n)+)", re.MULTILINE
)
FILES: Final = sorted(path.name for path in (ROOT / "requirements").glob("*.txt"))

CORE: Final = list(PROJECT["dependencies"])
WANTED: Final[dict[str, list[str]]] = {
    "core.txt": [*CORE, *GROUPS["build"]],
    "checkers.txt": [*CORE, *EXTRAS["checkers"]],
    "documents.txt": [*CORE, *EXTRAS["documents"]],
    "keyring.txt": [*CORE, *EXTRAS["keyring"]],
    "postgresql.txt": [*CORE, *EXTRAS["postgresql"]],
    "semantic.txt": [*CORE, *EXTRAS["semantic"]],
    "traces.txt": [*CORE, *EXTRAS["traces"]],
    "dev.txt": [*CORE, *(line for lines in EXTRAS.values() for line in lines), *GROUPS["dev"]],
    "conformance.txt": GROUPS["conformance"],
    "sbom.txt": GROUPS["sbom"],
    "browsers.txt": GROUPS["browsers"],
    "uv.txt": ["uv"],
}


def pinned(name: str) -> dict[str, set[str]]:
    """The versions a requirement file pins each package to."""
    text = (ROOT / "requirements" / name).read_text("utf-8")
    assert PIN.sub("", text).strip() == "", "a line that is no pin with its hashes"
    found: dict[str, set[str]] = {}
    for package, version, _ in PIN.findall(text):
        found.setdefault(canonicalize_name(package), set()).add(version)
    return found


def test_there_is_a_requirement_file_for_every_extra_and_group() -> None:
    assert sorted(WANTED) == FILES


@pytest.mark.parametrize("name", FILES)
def test_requirements_hold_what_the_project_declares(name: str) -> None:
    pins = pinned(name)
    for line in WANTED[name]:
        wanted = Requirement(line)
        versions = pins.get(canonicalize_name(wanted.name), set())
        assert versions, f"{wanted.name} is not pinned: run make lock"
        assert all(version in wanted.specifier for version in versions), "run make lock"


@pytest.mark.parametrize("name", FILES)
def test_every_file_pins_the_same_versions(name: str) -> None:
    whole = pinned("dev.txt") | pinned("conformance.txt") | pinned("browsers.txt")
    whole = pinned("sbom.txt") | whole
    assert {package: whole[package] for package in pinned(name)} == pinned(name)


def test_the_build_backend_is_pinned_and_at_hand() -> None:
    (backend,) = PYPROJECT["build-system"]["requires"]
    assert [backend] == GROUPS["build"]
    assert backend in GROUPS["dev"]
    (version,) = pinned("dev.txt")["flit-core"]
    assert version in Requirement(backend).specifier


@pytest.mark.parametrize("folder", ["browsers", "conformance", "hosts"])
def test_node_packages_are_pinned_without_an_address(folder: str) -> None:
    lock = json.loads((ROOT / "tests" / folder / "package-lock.json").read_text("utf-8"))
    packages: dict[str, dict[str, Any]] = lock["packages"]
    assert [name for name, entry in packages.items() if "resolved" in entry] == []
    assert [name for name, entry in packages.items() if name and "integrity" not in entry] == []


def test_the_registry_takes_the_description_of_the_server() -> None:
    server = json.loads((ROOT / "packaging" / "server.json").read_text("utf-8"))
    assert 1 <= len(server["description"]) <= 100
    assert [package["identifier"] for package in server["packages"]] == [PROJECT["name"]]


def test_the_test_command_of_the_readme_is_the_one_that_is_checked() -> None:
    assert re.search(
        r"^ *make test\b|`make test`", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert re.search(r"^step make test$", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_every_make_command_the_pages_name_exists(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)", (ROOT / page).read_text("utf-8")))
    assert named <= targets
