"""The toolset in real processes: starts that are refused, and everything over stdio."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.dispatch import ToolRegistry, ToolSelection
from rolltop.core.principal import Principal
from rolltop.toolsets.retrieval import TOOLSET
from tests.cli.conftest import Shell, shell
from tests.server.processes import StdioServer

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["shell"]


def over_stdio(folder: Path, *requests: tuple[str, dict[str, Any]]) -> list[Any]:
    """Return what a server process with the folder as `code` answers to each request."""
    (folder / "server").mkdir()
    with StdioServer(folder / "server", retrieval__roots=f"code={folder / 'code'}") as server:
        server.initialize()
        answers = [server.request(method, params) for method, params in requests]
    return [answer.get("result", answer.get("error")) for answer in answers]


def test_a_root_that_cannot_serve_stops_the_start_with_one_line(
    shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("a file")
    (tmp_path / "link").symlink_to("nowhere")
    for variable, name, reason in (
        ("DOCS_ROOT", "missing", "ROOT_NOT_FOUND"),
        ("DOCS_ROOT", "link", "ROOT_NOT_FOUND"),
        ("CODE_ROOT", "file", "ROOT_NOT_DIRECTORY"),
    ):
        shell.set(variable, str(tmp_path / name))
        for command in (["serve"], ["call", "repo_list_dir"]):
            ended = shell(*command)
            assert ended.code == 2
            (line,) = ended.err.splitlines()
            for part in ("CONFIG_INVALID", reason, variable[:4].lower(), str(tmp_path / name)):
                assert part in line
        shell.set(variable, str(tmp_path))


def test_no_root_may_have_the_name_that_stands_for_all(shell: Shell) -> None:
    shell.user_file(f'[retrieval.roots]\nboth = "{shell.home}"\n')
    ended = shell("call", "repo_list_dir")
    assert ended.code == 2
    (line,) = ended.err.splitlines()
    assert "CONFIG_INVALID (ROOT_NAME_RESERVED)" in line
    assert "another name" in line


@pytest.mark.parametrize(
    ("name", "text"),
    [(".env", "DOCS_ROOT=docs/build\n"), ("rolltop.toml", '[retrieval.roots]\nboth = "."\n')],
)
def test_a_root_of_a_projects_file_that_cannot_serve_stops_no_start(
    shell: Shell, name: str, text: str
) -> None:
    (shell.folder / "x.md").write_text("here\n")
    (shell.folder / name).write_text(text)
    ended = shell("call", "repo_open_file", "path=x.md")
    assert ended.code == 0
    assert json.loads(ended.out)["result"]["repo"] == "code"
    assert "is passed over" in ended.err


@pytest.mark.parametrize(
    "given", ["{top}/a/../tree/", "~/tree", "../home/tree", "../home/./tree//"]
)
def test_a_root_may_be_given_in_any_way(shell: Shell, given: str) -> None:
    (shell.home / "tree").mkdir()
    (shell.home / "a").mkdir()
    (shell.home / "tree" / "file.md").write_text("here\n")
    shell.set("DOCS_ROOT", given.format(top=shell.home))
    answer = json.loads(shell("call", "repo_open_file", "path=file.md").out)
    assert answer["result"]["text"] == "here\n"


def test_further_roots_come_from_the_configuration(shell: Shell) -> None:
    (shell.home / "more").mkdir()
    (shell.home / "more" / "x.md").write_text("more\n")
    shell.user_file(f'[retrieval.roots]\nzoo = "{shell.home}/more"\nbar = "{shell.home}"\n')
    shell.set("CODE_ROOT", str(shell.folder))
    listed = json.loads(shell("call", "repo_list_dir").out)["result"]["entries"]
    assert [entry["path"] for entry in listed] == ["code", "bar", "zoo"]
    assert (
        json.loads(shell("call", "repo_open_file", "path=zoo/x.md").out)["result"]["repo"] == "zoo"
    )


def test_a_server_answers_calls_resources_completions_and_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "code" / "src").mkdir(parents=True)
    (tmp_path / "code" / "src" / "a b.py").write_text("one\ntwo needles\nthree\n")
    template = "rolltop://file/{root}/{+path}{#lines}"
    address = "rolltop://file/code/src/a%20b.py"
    found, templates, whole, part, missing, outside, completed, prompt = over_stdio(
        tmp_path,
        ("tools/call", {"name": "repo_search", "arguments": {"query": "needle"}}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": address}),
        ("resources/read", {"uri": f"{address}#L2-L3"}),
        ("resources/read", {"uri": "rolltop://file/code/gone.py"}),
        ("resources/read", {"uri": "rolltop://file/code/../x"}),
        (
            "completion/complete",
            {
                "ref": {"type": "ref/resource", "uri": template},
                "argument": {"name": "path", "value": "src/"},
                "context": {"arguments": {"root": "code"}},
            },
        ),
        ("prompts/get", {"name": "answer_from_files", "arguments": {"question": "why?"}}),
    )
    assert [hit["line"] for hit in found["structuredContent"]["result"]] == [2]
    listed = [each["uriTemplate"] for each in templates["resourceTemplates"]]
    assert template in listed
    assert not any("{repo}" in one for one in listed)  # sections name it root, too
    assert whole["contents"][0]["text"] == "one\ntwo needles\nthree\n"
    assert part["contents"][0]["text"] == "two needles\nthree\n"
    for refused in (missing, outside):
        assert refused["code"] == -32002
        assert str(tmp_path) not in json.dumps(refused)
    assert completed["completion"]["values"] == ["src/a b.py"]
    assert "why?" in prompt["messages"][0]["content"]["text"]


def test_by_seed_names_each_tool_is_listed_once_without_what_the_name_fixes() -> None:
    offers = ToolRegistry([TOOLSET], ToolSelection(use_aliases=True)).list_tools(
        Principal.for_user("")
    )
    listed = {offer.name: offer.parameters.names for offer in offers}
    assert {"search", "open_file", "get_snippet", "list_dir"} <= set(listed)
    assert not any(name.startswith("repo_") for name in listed)
    assert "lines" not in listed["open_file"]
    assert "lines" not in listed["get_snippet"]
