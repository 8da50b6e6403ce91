"""`rolltop config`: every setting, its value, its source; nothing secret."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rolltop.cli.options import declared_settings
from rolltop.cli.serve import parse_address
from rolltop.core.errors import InvalidConfig
from rolltop.core.settings import Setting, Settings

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


def test_every_setting_is_listed_with_help_value_and_source(shell: Shell) -> None:
    path = shell.user_file('call_timeout = "2m"\n')
    shell.set("DOCS_ROOT", str(shell.folder))
    outcome = shell("config", "--json", "--set", "http.port=0", "--read-only")
    listed = {setting["key"]: setting for setting in json.loads(outcome.out)}
    assert list(listed) == [setting.key for setting in declared_settings()]
    assert all(setting["help"] and setting["allowed"] for setting in listed.values())
    found = {key: (listed[key]["value"], listed[key]["source"]) for key in listed}
    assert found["call_timeout"] == ("2m", str(path))
    assert found["http.port"] == ("0", "command line")
    assert found["read_only"] == ("on", "command line")
    assert found["retrieval.roots"] == (f"docs={shell.folder}", "environment DOCS_ROOT")
    assert found["data_dir"] == (str(shell.data), "environment ROLLTOP_DATA_DIR")
    assert found["threads"] == ("16", "default")


def test_the_project_is_the_one_a_server_started_here_has(shell: Shell) -> None:
    def shown(*options: str) -> tuple[str, str]:
        [setting] = json.loads(shell("config", "project", "--json", *options).out)
        return setting["value"], setting["source"]

    name = shell.folder.name
    assert shown() == (name, "default")
    assert shell("config", "project").out.startswith(f"project = {name}\n")
    assert shown("--project", "zoo") == ("zoo", "command line")
    assert shown("--project", "") == ("", "command line")


def test_settings_come_in_sections_under_the_path_of_their_file(shell: Shell) -> None:
    path = shell.home / ".config" / "rolltop" / "rolltop.toml"
    first, *rest = shell("config").out.splitlines()
    assert first == f"# {path} (not there yet)"
    shell.user_file('call_timeout = "2m"\n')
    assert shell("config").out.splitlines()[0] == f"# {path}"
    sections = [line.removeprefix("# ") for line in rest if line.startswith("# ")]
    assert sections[0] == "general"
    assert len(sections) == len(set(sections))
    keys = [line.split()[0] for line in rest if line[:1].isalpha()]
    assert sorted(keys) == sorted(setting.key for setting in declared_settings())
    assert all(key.rpartition(".")[0] in {"", *sections} for key in keys)


NUMBERS = [s for s in declared_settings() if s.kind in {"integer", "number", "duration", "size"}]


@pytest.mark.parametrize("setting", NUMBERS, ids=lambda setting: setting.key)
def test_a_number_that_is_too_large_is_told_the_largest(shell: Shell, setting: Setting) -> None:
    for number in (setting.max_value + 1, 2**63 - 1, 10**26):
        refused = shell("config", "--set", f"{setting.key}={number:.0f}")
        assert refused.code == 2
        assert "at most" in refused.err
        config = shell.user_file(f"{setting.key} = {number:.0f}\n")
        refused = shell("config")
        assert refused.code == 2
        assert "at most" in refused.err
        config.unlink()


def test_tools_work_with_every_number_at_its_largest(shell: Shell) -> None:
    (shell.folder / "page.md").write_text("# A page\n\nWith words.\n")
    shell.set("DOCS_ROOT", str(shell.folder))
    for setting in NUMBERS:
        largest = f"{setting.max_value:.0f}" + ("s" if setting.kind == "duration" else "")
        shell.set(setting.variable, largest)
    for call in (
        ["smart_read", "file_path=page.md"],
        ["repo_search", "query=words"],
        ["add_task", "title=x"],
        ["scratch_create"],
        ["note_save", "text=x"],
    ):
        outcome = shell("call", *call)
        assert outcome.code == 0, (outcome.out, outcome.err)


def test_the_plain_listing_says_the_same(shell: Shell) -> None:
    shell.set("LOG_LEVEL", "Debug")
    out = shell("config").out
    for setting in declared_settings():
        assert f"\n{setting.key} =" in f"\n{out}"
        assert setting.variable in out
    (about,) = shell("config", "log_level").out.split("log_level = debug\n")[1:]
    assert "From: environment LOG_LEVEL." in " ".join(about.split())


def test_every_default_is_a_value_that_may_be_set(shell: Shell) -> None:
    settings = Settings.defaults(declared_settings())
    for setting in declared_settings():
        shown = settings.masked_text(setting.key)
        if shown:
            again = shell("config", "--json", setting.key, "--set", f"{setting.key}={shown}")
            assert again.code == 0, setting.key
            assert json.loads(again.out)[0]["value"] == shown


def test_passwords_are_masked(shell: Shell) -> None:
    shell.set("DATABASE_URL", "postgresql://me:s3cret@localhost/desk")
    for arguments in (["config"], ["config", "--json"], ["config", "database_url"]):
        outcome = shell(*arguments)
        assert "postgresql://me:********@localhost/desk" in outcome.out
        assert "s3cret" not in outcome.out + outcome.err


def test_a_projects_files_are_not_trusted(shell: Shell) -> None:
    (shell.folder / "docs").mkdir()
    (shell.folder / ".env").write_text("DOCS_ROOT=docs\nDATABASE_URL=sqlite:////evil\nAWS_KEY=x\n")
    (shell.folder / "rolltop.toml").write_text('http.host = "0.0.0.0"\ntoolsets = ["tasks"]\n')
    shell.set("LOG_LEVEL", "info")
    outcome = shell("config", "--json")
    found = {setting["key"]: setting["value"] for setting in json.loads(outcome.out)}
    assert found["retrieval.roots"] == f"docs={shell.folder / 'docs'}"
    assert found["toolsets"] == "tasks"
    assert found["http.host"] == "127.0.0.1"
    assert "evil" not in outcome.out + outcome.err
    lines = [line for line in outcome.err.splitlines() if "is passed over" in line]
    assert len(lines) == 3
    for name in ("DATABASE_URL", "AWS_KEY", "http.host"):
        assert sum(f" {name} is" in line for line in lines) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".env", "SCRATCH_NOTEBOOK_MAX_SCRATCHPADS=1\n"),
        ("rolltop.toml", "scratch.max_scratchpads = 1\n"),
    ],
)
def test_a_projects_limit_of_pads_refuses_more_and_removes_none(
    shell: Shell, name: str, text: str
) -> None:
    made = [shell("call", "scratch_create", f"title={title}") for title in ("one", "two", "gone")]
    gone = json.loads(made[-1].out)["scratchpad"]["scratch_id"]
    shell("call", "scratch_delete", f"scratch_id={gone}")
    (shell.folder / name).write_text(text)
    for call in (("scratch_create", "title=four"), ("scratch_restore", f"scratch_id={gone}")):
        refused = shell("call", *call)
        error = json.loads(refused.out or refused.err)["error"]
        assert (refused.code, error["code"]) == (1, "CAPACITY_LIMIT_REACHED")
        assert "There are 2 scratchpads, and the limit is 1" in error["message"]
    left = json.loads(shell("call", "scratch_list").out)["scratchpads"]
    assert sorted(pad["title"] for pad in left) == ["one", "two"]
    shell.set("ROLLTOP_SCRATCH_MAX_SCRATCHPADS", "2")  # the user's own limit evicts as before
    assert "evicted_scratchpads" in shell("call", "scratch_create", "title=five").out


def test_a_projects_file_that_repeats_the_users_limit_of_pads_changes_nothing(shell: Shell) -> None:
    shell.user_file("scratch.max_scratchpads = 2\n")
    (shell.folder / "rolltop.toml").write_text("scratch.max_scratchpads = 2\n")
    made = [shell("call", "scratch_create", f"title={title}") for title in ("one", "two", "three")]
    assert ["evicted_scratchpads" in one.out for one in made] == [False, False, True]


def test_a_name_of_ours_that_is_no_setting_is_told_of_wherever_it_stands(shell: Shell) -> None:
    (shell.folder / ".env").write_text("ROLLTOP_BOGUS=1\nSCRATCH_NOTEBOOK_BOGUS=2\nAWS_KEY=x\n")
    said = shell("tools").err
    for name in ("ROLLTOP_BOGUS", "SCRATCH_NOTEBOOK_BOGUS"):
        assert f"{name} is no setting" in said
    assert "AWS_KEY" not in said


def test_the_users_file_and_the_one_asked_for(shell: Shell) -> None:
    shell.user_file("threads = 3\n")
    (shell.folder / "mine.toml").write_text("threads = 4\n")
    assert shell("config", "threads").out.startswith("threads = 3\n")
    assert shell("config", "threads", "--config", "mine.toml").out.startswith("threads = 4\n")


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("", {}),
        ("0.0.0.0:80", {"http.host": "0.0.0.0", "http.port": "80"}),  # noqa: S104  # only read
        ("localhost", {"http.host": "localhost"}),
        ("9000", {"http.port": "9000"}),
        (":9000", {"http.port": "9000"}),
        ("[::1]:9000", {"http.host": "::1", "http.port": "9000"}),
        ("[::1]", {"http.host": "::1"}),
    ],
)
def test_forms_of_an_address(text: str, settings: dict[str, str]) -> None:
    assert parse_address(text) == settings


@pytest.mark.parametrize("text", ["a:b", "::1", "[::1", "host:1:2"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(InvalidConfig):
        parse_address(text)


def test_a_users_file_that_is_a_link_to_nothing_is_not_taken_for_none(shell: Shell) -> None:
    path = shell.user_file(f"data_dir = '{shell.folder / 'other'}'\n")
    path.rename(shell.folder / "kept.toml")
    path.symlink_to(shell.folder / "kept.toml")
    assert shell("config").out.startswith(f"# {path}\n")
    (shell.folder / "kept.toml").unlink()
    outcome = shell("call", "add_task", "title=walrus")
    assert (outcome.code, "is a link to a file that is not there" in outcome.err) == (2, True)
    assert not shell.data.exists()
