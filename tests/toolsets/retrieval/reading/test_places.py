"""Which file a path means, and what is refused: outside, hidden, ignored, special, unreadable."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from rolltop.core.dispatch import ToolSelection
from rolltop.workspace import Roots
from tests.desks import make_desk
from tests.toolsets.retrieval.forest import Forest, make_forest
from tests.workspace.test_sandbox import unprivileged

READS: list[tuple[str, dict[str, int]]] = [
    ("repo_open_file", {}),
    ("repo_get_snippet", {"start_line": 1, "end_line": 1}),
    ("open_file", {}),
    ("get_snippet", {"start_line": 1, "end_line": 1}),
]
reads = pytest.mark.parametrize(("tool", "asked"), READS, ids=[tool for tool, _ in READS])


class TestRepoLeftOut:
    """The root is chosen by the path."""

    @reads
    def test_a_leading_root_name_selects_the_root(
        self, forest: Forest, tool: str, asked: dict[str, int]
    ) -> None:
        forest.put("docs/a", "in docs\n")
        forest.put("code/a", "in code\n")
        for repo in ("docs", "code"):
            for path in (f"{repo}/a", f"./{repo}//a", f"{repo}/x/../a"):
                answer = forest.ok(tool, path=path, **asked)
                assert answer["result"]["repo"] == answer["meta"]["repo"] == repo
                assert answer["result"]["path"] == "a"

    @reads
    def test_else_the_only_root_that_has_it(
        self, forest: Forest, tool: str, asked: dict[str, int]
    ) -> None:
        forest.put("code/b/c", "x\n")
        assert forest.ok(tool, path="b/c", **asked)["result"]["repo"] == "code"

    @reads
    def test_several_are_ambiguous_and_listed(
        self, forest: Forest, tool: str, asked: dict[str, int]
    ) -> None:
        forest.put("docs/b/c", "x\n")
        forest.put("code/b/c", "x\n")
        error = forest.fails(tool, path="b/c", **asked)
        assert error["code"] == "PATH_AMBIGUOUS"
        assert error["details"]["candidates"] == ["docs/b/c", "code/b/c"]
        for candidate in error["details"]["candidates"]:
            forest.ok(tool, path=candidate, **asked)

    @reads
    def test_the_address_of_a_file_names_root_and_path(
        self, forest: Forest, tool: str, asked: dict[str, int]
    ) -> None:
        forest.put("docs/a b/ä#.md", "in docs\n")
        forest.put("code/a b/ä#.md", "in code\n")
        for repo in ("docs", "code"):
            found = forest.ok("repo_search", query=f"in {repo}")["result"][0]
            for given in ({}, {"repo": repo}):
                result = forest.ok(tool, path=found["uri"], **asked, **given)["result"]
                assert (result["repo"], result["path"]) == (repo, "a b/ä#.md")

    @reads
    def test_an_address_means_a_file_in_the_root_it_names_alone(
        self, forest: Forest, tool: str, asked: dict[str, int]
    ) -> None:
        forest.put("docs/code/a.py", "in docs\n")
        forest.put("docs/none/a.py", "in docs\n")
        forest.put("code/b.py", "in code\n")
        path = "rolltop://file/code/a.py"
        assert forest.code(tool, repo="docs", path=path, **asked) == "PATH_OUT_OF_ROOT"
        assert forest.code(tool, path=path, **asked) == "FILE_NOT_FOUND"
        path = "rolltop://file/none/a.py"
        for given in ({}, {"repo": "docs"}):
            assert forest.code(tool, path=path, **asked, **given) == "FILE_NOT_FOUND"

    def test_the_lines_of_an_address_are_read_however_many_answers_they_take(
        self, forest: Forest
    ) -> None:
        lines = [f"line {number} {'x' * 40}\n" for number in range(1, 200)]
        forest.put("code/a", "".join(lines))
        path = "rolltop://file/code/a#L21-120"
        pages = forest.pages("repo_open_file", path=path, max_tokens=400)
        assert len(pages) > 2
        assert "".join(page["result"]["text"] for page in pages) == "".join(lines[20:120])
        assert pages[0]["result"]["start_line"] == 21
        snippet = forest.ok("repo_get_snippet", path=path, start_line=3, end_line=3)
        assert snippet["result"]["text"] == lines[2]
        assert forest.code("repo_open_file", path="rolltop://file/code/a#L300") == "RANGE_INVALID"

    @reads
    @pytest.mark.parametrize(
        ("path", "code"),
        [
            ("rolltop://file/code/..%2F..%2Fetc/passwd", "PATH_OUT_OF_ROOT"),
            ("rolltop://file/code/../../etc/passwd", "PATH_OUT_OF_ROOT"),
            ("rolltop://file/code/.env", "FILE_NOT_FOUND"),
            ("rolltop://file/code/a%00", "FILE_NOT_FOUND"),
            ("rolltop://file/none/a", "FILE_NOT_FOUND"),
            ("rolltop://note/1a2b3c4d", "FILE_NOT_FOUND"),
            ("rolltop://", "FILE_NOT_FOUND"),
        ],
    )
    def test_an_address_leads_no_further_than_a_path(
        self, forest: Forest, tool: str, asked: dict[str, int], path: str, code: str
    ) -> None:
        forest.put("code/a", "x\n")
        forest.put("code/.env", "SECRET=1\n")
        for given in ({}, {"repo": "code"}):
            assert forest.code(tool, path=path, **asked, **given) == code

    def test_a_repo_given_is_the_only_one(self, forest: Forest) -> None:
        forest.put("code/docs/a", "x\n")
        found = forest.ok("repo_open_file", path="docs/a", repo="code")
        assert found["result"]["path"] == "docs/a"
        assert forest.code("repo_open_file", path="docs/a", repo="docs") == "FILE_NOT_FOUND"


@reads
@pytest.mark.parametrize("repo", ["both", "nowhere", " ", "Docs", 5, ["docs"]])
def test_a_repo_that_is_none_is_refused(
    forest: Forest, tool: str, asked: dict[str, int], repo: object
) -> None:
    forest.put("docs/a", "x\n")
    assert forest.code(tool, path="a", repo=repo, **asked) == "REPO_INVALID"


@reads
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("", "PATH_EMPTY"),
        (" \t\n", "PATH_EMPTY"),
        ("/etc/passwd", "PATH_OUT_OF_ROOT"),
        ("/", "PATH_OUT_OF_ROOT"),
        ("../secret", "PATH_OUT_OF_ROOT"),
        ("docs/../../secret", "PATH_OUT_OF_ROOT"),
        ("a/../../docs/a", "PATH_OUT_OF_ROOT"),
        ("out", "PATH_OUT_OF_ROOT"),
        ("out-file", "PATH_OUT_OF_ROOT"),
        ("out/missing", "PATH_OUT_OF_ROOT"),
        ("a\0b", "FILE_NOT_FOUND"),
        ("/etc/pass\0wd", "FILE_NOT_FOUND"),
        ("missing", "FILE_NOT_FOUND"),
        ("a/b", "FILE_NOT_FOUND"),
        ("x" * 5_000, "FILE_NOT_FOUND"),
        ("~/a", "FILE_NOT_FOUND"),
        ("dangling", "FILE_NOT_FOUND"),
        ("itself", "FILE_NOT_FOUND"),
        ("folder", "FILE_UNREADABLE"),
        (".", "FILE_UNREADABLE"),
        ("docs", "FILE_UNREADABLE"),
        ("pipe", "FILE_UNREADABLE"),
        ("socket", "FILE_UNREADABLE"),
        ("binary", "FILE_BINARY"),
        ("wide", "FILE_BINARY"),
        ("large", "FILE_TOO_LARGE"),
        (".hidden", "FILE_NOT_FOUND"),
        (".git/config", "FILE_NOT_FOUND"),
        ("ignored.log", "FILE_NOT_FOUND"),
        ("to-hidden", "FILE_NOT_FOUND"),
    ],
)
def test_what_may_not_be_read_is_refused_with_its_code(
    tmp_path: Path, tool: str, asked: dict[str, int], path: str, code: str
) -> None:
    forest = make_forest(tmp_path, "docs", settings={"retrieval.max_file_bytes": 100_000})
    (tmp_path / "secret").write_text("secret")
    forest.put("docs/a", "text\n")
    forest.put("docs/.hidden", "text\n")
    forest.put("docs/.git/config", "text\n")
    forest.put("docs/.gitignore", "*.log\n")
    forest.put("docs/ignored.log", "text\n")
    forest.put("docs/binary", b"text\0\n")
    forest.put("docs/wide", "text without a mark\n".encode("utf-16-le"))
    forest.put("docs/large", b"x" * 100_001)
    forest.put("docs/folder/b", "text\n")
    for link, target in {
        "out": tmp_path, "out-file": tmp_path / "secret", "dangling": "nowhere",
        "itself": "itself", "to-hidden": ".hidden",
    }.items():  # fmt: skip
        (tmp_path / "docs" / link).symlink_to(target)
    os.mkfifo(tmp_path / "docs" / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "docs" / "socket"))
    error = forest.fails(tool, path=path, **asked)
    assert error["code"] == code
    assert "secret\n" not in str(error)


def test_links_inside_a_root_are_followed_by_explicit_reads(forest: Forest) -> None:
    forest.put("docs/real/a", "text\n")
    (forest.top / "docs" / "link").symlink_to("real")
    result = forest.ok("repo_open_file", path="docs/link/a")["result"]
    assert (result["path"], result["text"]) == ("real/a", "text\n")


def test_allow_hidden_opens_hidden_and_ignored_files(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "docs", allow_hidden=True)
    forest.put("docs/.gitignore", "*.log\n")
    forest.put("docs/ignored.log", "text\n")
    forest.put("docs/.env", "text\n")
    for path in (".gitignore", "ignored.log", ".env"):
        forest.ok("repo_open_file", path=path)


def test_what_may_not_be_read_is_unreadable(open_forest: Forest) -> None:
    open_forest.put("docs/shut", "text\n").chmod(0o000)
    open_forest.put("docs/folder/a", "text\n").parent.chmod(0o000)
    with unprivileged():
        assert open_forest.code("repo_open_file", path="shut") == "FILE_UNREADABLE"
        assert open_forest.code("repo_open_file", path="folder/a") == "FILE_UNREADABLE"
    (open_forest.top / "docs" / "folder").chmod(0o755)


def test_a_missing_file_is_answered_with_those_that_may_be_meant(forest: Forest) -> None:
    forest.put("code/src/deep/Settings.py", "x\n")
    error = forest.fails("repo_open_file", path="deep/settings.py")
    assert error["details"]["nearest"] == ["code/src/deep/Settings.py"]
    assert "code/src/deep/Settings.py" in error["hint"]
    forest.ok("repo_open_file", path=error["details"]["nearest"][0])


def test_with_a_repo_what_may_be_meant_is_told_as_it_is_to_be_sent(forest: Forest) -> None:
    for name in ("README.md", "sub/README.md", "readme.md"):
        forest.put(f"docs/{name}", "x\n")
    for wrong in ("REDME.md", "docs/README.md", "other/README.md"):
        error = forest.fails("repo_open_file", repo="docs", path=wrong)
        meant = error["details"]["nearest"][0]
        assert meant in error["hint"]
        assert forest.ok("repo_open_file", repo="docs", path=meant)["result"]["path"] == meant
    error = forest.fails("repo_open_file", repo="docs", path="docs/README.md")
    assert error["details"]["nearest"][0] == "README.md"
    error = forest.fails("repo_open_file", path="elsewhere/README.md")
    assert error["details"]["nearest"][0] == "docs/README.md"
    error = forest.fails("repo_open_file", path="elsewhere/readme.md")
    assert error["details"]["nearest"][0] == "docs/readme.md"


@pytest.mark.parametrize("name", ["manual.pdf", "sub/Report.DOCX", "a.pptx", "a.epub"])
def test_a_document_that_is_no_text_is_left_to_the_tool_that_reads_it(
    forest: Forest, name: str
) -> None:
    forest.put(f"docs/{name}", b"%PDF-1.7\n\0")
    call = f'Call smart_read with file_path "docs/{name}"'
    for tool, asked in READS:
        error = forest.fails(tool, path=name, **asked)
        assert error["code"] == "FILE_BINARY"
        assert call in error["hint"]
    for repo in ({}, {"repo": "docs"}):
        hint = forest.fails("repo_list_dir", path=name, **repo)["hint"]
        assert call in hint
        assert "repo_open_file" not in hint
    forest.put("docs/other.bin", b"\0")
    assert "smart_read" not in forest.fails("repo_open_file", path="other.bin")["hint"]
    alone = make_desk(
        forest.desk.database,
        roots=forest.desk.roots,
        selection=ToolSelection(toolsets=["retrieval"]),
    )
    for tool in ("repo_open_file", "repo_list_dir"):
        assert "smart_read" not in Forest(forest.top, alone).fails(tool, path=name)["hint"]


def test_of_files_of_that_name_those_in_that_directory_are_meant(forest: Forest) -> None:
    for folder in ("aa", "mcp/server/prompts", "mcp/shared", "sqlalchemy/pool", "sqlalchemy/sql"):
        forest.put(f"code/{folder}/base.py", "x\n")
    forest.put("docs/bse.py", "x\n")
    meant = "code/sqlalchemy/pool/base.py"
    for path in (
        *("pool/base.py", "sqlalchemy/pool/bse.py", "code/sqlalchemy/pool/bsae.py"),
        *("lib/sqlalchemy/pool/base.py", "code/sqlalchemi/pool/base.py", "sqlalchemy/pol/base.py"),
    ):
        error = forest.fails("repo_open_file", path=path)
        assert error["details"]["nearest"][0] == meant, path
        assert f"Did you mean {meant}?" in error["hint"]
    forest.put(f"code/a/{'b' * 30}/c.py", "x\n")
    for path in ("unlike.py", "pool", "/etc/base.py", "../base.py"):
        assert "nearest" not in forest.fails("repo_open_file", path=path)["details"]


def test_of_many_files_of_that_name_the_one_with_most_of_the_path_is_meant(
    forest: Forest,
) -> None:
    for team in range(20):
        for service in range(10):
            forest.put(f"code/teams/team-{team:02}/service-{service}/src/main/index.md", "x\n")
    meant = "code/teams/team-17/service-7/src/main/index.md"
    for path in (
        *("teams/team-17/service-7/src/main/java/index.md", "team-17/service-7/main/index.md"),
        *("teams/Team-17/service-7/src/main/index.md", "team-17/service-7/src/main/indx.md"),
        "teams/team-17/servce-7/src/main/index.md",
    ):
        error = forest.fails("repo_open_file", path=path)
        assert error["details"]["nearest"][0] == meant, path
    error = forest.fails("repo_list_dir", path="teams/team-17/service-7/src/man")
    assert error["details"]["nearest"][0] == meant.removesuffix("/index.md")


def test_of_many_names_alike_the_one_with_a_slip_is_meant(forest: Forest) -> None:
    for number in range(0, 20_000, 7):
        forest.put(f"code/a/test_module_{number:05}_of_the_service.py")
    error = forest.fails("repo_open_file", path="a/test_modul_19957_of_the_service.py")
    assert error["details"]["nearest"][0] == "code/a/test_module_19957_of_the_service.py"


def test_a_missing_directory_is_answered_with_those_that_may_be_meant(forest: Forest) -> None:
    forest.put("code/sqlalchemy/pool/base.py", "x\n")
    forest.put("code/other/pool/base.py", "x\n")
    error = forest.fails("repo_list_dir", path="sqlalchemy/pol")
    assert error["details"]["nearest"] == ["code/sqlalchemy/pool", "code/other/pool"]
    assert "Did you mean code/sqlalchemy/pool?" in error["hint"]
    for meant in error["details"]["nearest"]:
        forest.ok("repo_list_dir", path=meant)
    error = forest.fails("repo_list_dir", repo="code", path="pool")
    assert error["details"]["nearest"][0] in {"other/pool", "sqlalchemy/pool"}
    forest.ok("repo_list_dir", repo="code", path=error["details"]["nearest"][0])
    assert "nearest" not in forest.fails("repo_list_dir", path="unlike")["details"]


@reads
def test_without_roots_everything_says_which_settings_to_set(
    tmp_path: Path, tool: str, asked: dict[str, int]
) -> None:
    error = make_forest(tmp_path).fails(tool, path="a", **asked)
    assert error["code"] == "CONFIG_INVALID"
    assert error["details"] == {"reason": "MISSING_ROOT"}
    assert "DOCS_ROOT" in error["hint"]


def test_the_roots_own_folder_is_never_shown(forest: Forest) -> None:
    inside = forest.put("docs/a", "x\n")
    error = forest.fails("repo_open_file", path=str(inside))
    assert error["code"] == "PATH_OUT_OF_ROOT"
    assert error["details"] == {}


@reads
def test_an_absolute_path_in_a_root_is_answered_with_the_one_to_send(
    forest: Forest, tool: str, asked: dict[str, int]
) -> None:
    inside = forest.put("docs/a[1]/b c", "x\n")
    error = forest.fails(tool, path=str(inside), **asked)
    assert error["message"] == "path is absolute"
    assert error["hint"].startswith("Did you mean docs/a[1]/b c? ")
    forest.ok(tool, path="docs/a[1]/b c", **asked)
    assert "Did you mean" not in forest.fails(tool, path="/etc/passwd", **asked)["hint"]


def test_the_folder_of_a_root_is_answered_with_its_name(forest: Forest) -> None:
    folder = forest.put("docs/a", "x\n").parent
    hint = forest.fails("repo_list_dir", path=str(folder))["hint"]
    assert hint.startswith("Did you mean docs? ")
    forest.ok("repo_list_dir", path="docs")


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("a.py:2", 'Call repo_get_snippet with path "a.py", start_line 2 and end_line 2.'),
        ("a.py:2-3", 'Call repo_get_snippet with path "a.py", start_line 2 and end_line 3.'),
        ("a.py:2:7", 'Call repo_get_snippet with path "a.py", start_line 2 and end_line 2.'),
        ("docs/a.py#L2-L3", 'path "docs/a.py", start_line 2 and end_line 3.'),
    ],
)
def test_lines_in_a_path_are_answered_with_the_call_that_reads_them(
    forest: Forest, path: str, hint: str
) -> None:
    forest.put("docs/a.py", "1\n2\n3\n")
    error = forest.fails("repo_open_file", path=path)
    assert error["code"] == "FILE_NOT_FOUND"
    assert error["hint"].endswith(hint)


@pytest.mark.parametrize("path", ["b.py:2", "a.py:x", ":2"])
def test_no_lines_are_read_from_what_names_no_file(forest: Forest, path: str) -> None:
    forest.put("docs/a.py", "1\n")
    assert "repo_get_snippet" not in forest.fails("repo_open_file", path=path)["hint"]


def test_what_the_kernel_refuses_to_read_is_unreadable(tmp_path: Path) -> None:
    store = make_forest(tmp_path)
    roots = Roots.open({"docs": Path("/proc/self")}, base=tmp_path)
    forest = Forest(tmp_path, make_desk(store.desk.database, roots=roots))
    assert forest.code("repo_open_file", path="mem") == "FILE_UNREADABLE"


def test_a_hidden_file_is_told_the_setting(open_forest: Forest) -> None:
    open_forest.put("docs/.github/build.yml", "on: push\n")
    error = open_forest.fails("repo_open_file", path="docs/.github/build.yml")
    assert error["code"] == "FILE_NOT_FOUND"
    assert "retrieval.allow_hidden" in error["hint"]
