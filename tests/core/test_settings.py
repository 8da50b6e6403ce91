"""Settings: rank, trust, forms of values, and errors that name what to mend."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rolltop.core.db.url import parse_url
from rolltop.core.errors import InvalidConfig
from rolltop.core.settings import CORE_SETTINGS, Setting, Settings, load

DECLARED = (
    *CORE_SETTINGS,
    Setting("reader.roots", "paths", (), "Folders.", untrusted="inside"),
    Setting(
        "scratch.age", "duration", 86_400, "An age.", minimum=60, maximum=315_360_000, unit="h"
    ),
    Setting("notes.token", "text", "", "A token.", secret=True),
    Setting("notes.place", "url", "https://example.org/1", "A place."),
)
NO_PLACES = (
    *("", " ", "notaurl", "localhost:8080/1", "//localhost/1", "/1", "https:localhost/1"),
    *("ftp://localhost/1", "file:///1", "https://", "https:///1", "http://:80/1", "http://u@/1"),
    *("http://[::1/1", "http://localhost:x/1", "http://localhost:99999/1"),
    *("http://localhost/1?a=b", "http://localhost/1#a", "http://local host/1", "http://x/1\n"),
)


class Places:
    """A user's configuration directory and a project to start in."""

    def __init__(self, folder: Path) -> None:
        self.user = folder / "user"
        self.project = folder / "project"
        self.user.mkdir()
        self.project.mkdir()

    def load(
        self,
        environment: dict[str, str] | None = None,
        command_line: dict[str, str] | None = None,
        config: Path | None = None,
    ) -> Settings:
        return load(
            DECLARED,
            environment=environment or {},
            command_line=command_line or {},
            working_directory=self.project,
            user_directory=self.user,
            config=config,
        )

    def user_file(self, text: str) -> Path:
        path = self.user / "rolltop.toml"
        path.write_text(text)
        return path

    def project_file(self, text: str, name: str = "rolltop.toml") -> Path:
        path = self.project / name
        path.write_text(text)
        return path


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def test_each_source_outranks_the_ones_below(places: Places, tmp_path: Path) -> None:
    config = tmp_path / "other.toml"
    config.write_text("max_result_tokens = 4000")
    steps: list[tuple[int, str]] = []

    def note(settings: Settings) -> None:
        steps.append((settings["max_result_tokens"], settings.source("max_result_tokens")))

    note(places.load())
    user = places.user_file("max_result_tokens = 9000")
    note(places.load())
    project = places.project_file("max_result_tokens = 5000")
    note(places.load())
    dotenv = places.project_file("ROLLTOP_MAX_RESULT_TOKENS=4500", ".env")
    note(places.load())
    note(places.load(config=config))
    variable = {"ROLLTOP_MAX_RESULT_TOKENS": "3000"}
    note(places.load(variable, config=config))
    note(places.load(variable, {"max_result_tokens": "0"}, config))
    assert steps == [
        (20_000, "default"),
        (9000, str(user)),
        (5000, str(project)),
        (4500, str(dotenv)),
        (4000, str(config)),
        (3000, "environment ROLLTOP_MAX_RESULT_TOKENS"),
        (0, "command line"),
    ]


def test_a_relative_store_lies_where_the_file_does_that_names_it(
    places: Places, tmp_path: Path
) -> None:
    line = 'database_url = "sqlite:///my%20desk.db"'
    config = tmp_path / "another folder" / "other.toml"
    config.parent.mkdir()
    config.write_text(line)
    for settings, folder in (
        (places.load(config=config), config.parent),
        (places.load({"DATABASE_URL": "sqlite+aiosqlite:///my%20desk.db"}), places.project),
        (places.load(command_line={"database_url": "sqlite:///my%20desk.db"}), places.project),
    ):
        assert parse_url(settings["database_url"]).path == folder / "my desk.db"
    user = places.user_file(line)
    assert parse_url(places.load()["database_url"]).path == user.parent / "my desk.db"
    for whole in ("sqlite:////srv/desk.db", "sqlite:///~/desk.db", "postgresql://h/d"):
        assert places.load({"DATABASE_URL": whole})["database_url"] == whole


def test_our_own_variable_outranks_the_seeds_name(places: Places) -> None:
    settings = places.load({"LOG_LEVEL": "Debug", "ROLLTOP_LOG_LEVEL": "FATAL"})
    assert settings["log_level"] == "fatal"
    assert places.load({"LOG_LEVEL": "Debug"})["log_level"] == "debug"


def test_an_empty_variable_is_not_set(places: Places) -> None:
    settings = places.load({"DATABASE_URL": "", "ROLLTOP_THREADS": ""})
    assert settings.source("database_url") == "default"
    assert settings["threads"] == 16


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("threads", "4", 4),
        ("read_only", "Yes", True),
        ("read_only", "off", False),
        ("call_timeout", "90s", 90),
        ("call_timeout", "5m", 300),
        ("call_timeout", "2h", 7200),
        ("call_timeout", "1d", 86_400),
        ("call_timeout", "15", 15),
        ("scratch.age", "2", 7200),
        ("scratch.age", "2m", 120),
        ("http.max_body", "2048", 2048),
        ("http.max_body", "64KiB", 65_536),
        ("http.max_body", "1 GiB", 1 << 30),
        ("max_result_tokens", "0", 0),
        ("output", "TEXT", "text"),
        ("toolsets", "tasks, reader,", ("tasks", "reader")),
        ("log_level", "WARN", "warn"),
        ("notes.place", "HTTPS://Example.org:8443/1/", "HTTPS://Example.org:8443/1/"),
        ("notes.place", "http://[::1]:80", "http://[::1]:80"),
        ("notes.place", "http://münchen.example/1", "http://münchen.example/1"),
    ],
)
def test_text_becomes_the_settings_kind(places: Places, key: str, text: str, value: object) -> None:
    assert places.load(command_line={key: text})[key] == value
    variable = "ROLLTOP_" + key.upper().replace(".", "_")
    assert places.load({variable: text})[key] == value


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("threads", "0"),
        ("threads", "1e3"),
        ("threads", "four"),
        ("read_only", "maybe"),
        ("call_timeout", "-5s"),
        ("call_timeout", "1.5s"),
        ("call_timeout", "0"),
        ("http.max_body", "3 parsecs"),
        ("call_timeout", "5 m"),
        ("call_timeout", "5m s"),
        ("http.port", "65536"),
        ("max_result_tokens", "199"),
        ("output", "json"),
        ("names", "original"),
        ("retrieval.roots", "docs"),
        ("retrieval.roots.a b", "x"),
        ("user", "a\0b"),
        *(("notes.place", text) for text in NO_PLACES),
    ],
)
def test_a_bad_value_names_key_source_and_what_is_allowed(
    places: Places, key: str, text: str
) -> None:
    setting = next(s for s in DECLARED if key.startswith(s.key))
    with pytest.raises(InvalidConfig) as raised:
        places.load(command_line={key: text})
    message = raised.value.message
    assert message.startswith(f"{setting.key} (command line) cannot be ")
    assert setting.allowed_values in message
    assert "\n" not in message


def test_bounds_are_said_as_a_person_writes_them(places: Places) -> None:
    for key, said in (
        ("call_timeout", "at least 1s, at most 3650d"),
        ("scratch.age", "at least 1m, at most 3650d"),
        ("http.max_body", "at least 1KiB, at most 1048576GiB"),
        ("http.port", "at least 0, at most 65535"),
    ):
        with pytest.raises(InvalidConfig, match=said):
            places.load(command_line={key: "x"})


@pytest.mark.parametrize(
    "line",
    [
        'threads = "4"',
        "threads = 4.0",
        "threads = true",
        "read_only = 1",
        'read_only = "on"',
        "output = 1",
        'toolsets = "tasks"',
        "toolsets = [1]",
        'retrieval.roots = "docs"',
        "threads = nan",
        "log_file_path = 1979-05-27",
        'notes.place = ""',
        "notes.place = 80",
    ],
)
def test_toml_values_are_not_coerced(places: Places, line: str) -> None:
    path = places.user_file(line)
    with pytest.raises(InvalidConfig, match="must be") as raised:
        places.load()
    assert str(path) in raised.value.message


def test_toml_of_every_kind(places: Places) -> None:
    places.user_file(
        'call_timeout = "2m"\nstatement_timeout = 7\ntoolsets = ["tasks"]\nread_only = true\n'
        '[http]\nmax_body = "1MiB"\nport = 1\n[scratch]\nage = 3\n[reader]\n'
        'roots = ["a", "/b"]\n[retrieval]\nallow_hidden = true\n[retrieval.roots]\ndocs = "d"\n'
    )
    settings = places.load()
    assert (settings["call_timeout"], settings["statement_timeout"]) == (120, 7)
    assert settings["toolsets"] == ("tasks",)
    assert (settings["http.max_body"], settings["http.port"]) == (1 << 20, 1)
    assert settings["scratch.age"] == 10_800
    assert settings["reader.roots"] == (places.user / "a", Path("/b"))
    assert settings["retrieval.roots"] == {"docs": places.user / "d"}
    assert settings["read_only"] is settings["retrieval.allow_hidden"] is True


def test_roots_of_all_sources_are_joined_by_name(places: Places) -> None:
    places.user_file('[retrieval.roots]\ndocs = "manual"\nwiki = "~/wiki"\n')
    settings = places.load(
        {"DOCS_ROOT": "../elsewhere/", "ROLLTOP_RETRIEVAL_ROOTS_API": "/api"},
        {"retrieval.roots.code": "src"},
    )
    assert settings["retrieval.roots"] == {
        "docs": places.project / "../elsewhere",
        "wiki": Path.home() / "wiki",
        "api": Path("/api"),
        "code": places.project / "src",
    }
    assert "environment DOCS_ROOT" in settings.source("retrieval.roots")
    several = places.load(command_line={"retrieval.roots": "docs=/d, code=/c"})
    assert several["retrieval.roots"] == {
        "docs": Path("/d"),
        "wiki": Path.home() / "wiki",
        "code": Path("/c"),
    }


@pytest.mark.parametrize(
    "text", [".=/d", "..=/d", "docs=/d, ..=/e", "a/b=/d", "=/d", "docs=", "one=/a, one=/b"]
)
def test_a_table_has_names_that_paths_can_begin_with_each_once(places: Places, text: str) -> None:
    with pytest.raises(InvalidConfig, match=r"^retrieval.roots \(command line\).*name = path"):
        places.load(command_line={"retrieval.roots": text})
    assert places.load(command_line={"retrieval.roots": "...=/d, .x=/e, y.=/f"})["retrieval.roots"]


@pytest.mark.parametrize("name", [".", ".."])
def test_nor_does_a_file_name_an_entry_so(places: Places, name: str) -> None:
    places.user_file(f'[retrieval.roots]\n"{name}" = "/d"\n')
    with pytest.raises(InvalidConfig, match="each once"):
        places.load()


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("max_result_token", "max_result_tokens"),
        ("http.prot", "http.port"),
        ("http.compression", ""),
        ("zzz", ""),
    ],
)
def test_an_unknown_key_names_the_nearest(places: Places, key: str, nearest: str) -> None:
    meant = f"; did you mean {nearest}?" if nearest else ""
    with pytest.raises(InvalidConfig) as raised:
        places.load(command_line={key: "1"})
    assert raised.value.message == f"{key} (command line) is no setting of Rolltop{meant}"
    path = places.user_file(f"{key} = 1")
    with pytest.raises(InvalidConfig) as raised:
        places.load()
    assert raised.value.message == f"{key} ({path}) is no setting of Rolltop{meant}"


def test_an_unknown_variable_of_ours_is_a_warning_with_the_nearest_name(places: Places) -> None:
    (notice,) = places.load({"ROLLTOP_HTTP_PROT": "secret value"}).notices
    assert notice.level == "warn"
    assert "ROLLTOP_HTTP_PROT" in notice.text
    assert "did you mean ROLLTOP_HTTP_PORT?" in notice.text
    assert "secret value" not in notice.text
    for other in ("ROLLTOP_HTTP_COMPRESSION", "ROLLTOP_HTTP_FOO", "ROLLTOP_TOKEN", "ROLLTOP_"):
        (notice,) = places.load({other: "1"}).notices
        assert "did you mean" not in notice.text
    settings = places.load({"HTTP_PROT": "somebody else's"})
    assert (settings["http.port"], settings.notices) == (8765, ())


TOO_DEEP = f"[{'.'.join(['a'] * 1100)}]\nx = 1\n"


@pytest.mark.parametrize("text", ["= 1", "a = [", "x = " + "[" * 5000, TOO_DEEP, '"\ud800" = 1'])
def test_a_broken_file_of_the_users_own_stops_the_start(places: Places, text: str) -> None:
    path = places.user / "rolltop.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InvalidConfig) as raised:
        places.load()
    assert str(path) in raised.value.message


def test_a_configuration_file_that_is_asked_for_must_exist(places: Places) -> None:
    with pytest.raises(InvalidConfig, match="does not exist"):
        places.load(config=Path("missing.toml"))


def test_a_projects_file_sets_only_what_cannot_harm(places: Places) -> None:
    (places.project / "docs").mkdir()
    (places.project / "way-out").symlink_to(places.user)
    places.project_file(
        'max_result_tokens = 1000\ncall_timeout = "5m"\ntoolsets = ["reader"]\n'
        'database_url = "postgresql://evil"\nlog_file_path = "x"\nsurprise = 1\nthreads = "x"\n'
        '[http]\nhost = "0.0.0.0"\n[reader]\nroots = ["docs", "way-out"]\n'
        '[retrieval.roots]\ndocs = "docs"\n'
    )
    settings = places.load()
    assert settings["max_result_tokens"] == 1000
    assert settings["call_timeout"] == 60
    assert settings["toolsets"] == ("reader",)
    assert settings["retrieval.roots"] == {"docs": (places.project / "docs").resolve()}
    for key in ("database_url", "log_file_path", "http.host", "reader.roots", "threads"):
        assert settings.source(key) == "default", key
        assert sum(f": {key} is passed over" in line.text for line in settings.notices) == 1, key
    assert any("surprise is no setting" in line.text for line in settings.notices)
    assert "evil" not in str(settings.notices)
    assert "0.0.0.0" not in str(settings.notices)  # noqa: S104  # what must not be shown


@pytest.mark.parametrize("root", ["..", "/", "docs/../..", "way-out", "way-out/deeper", "loop"])
def test_a_projects_roots_stay_inside_it(places: Places, root: str) -> None:
    (places.project / "way-out").symlink_to(places.user)
    (places.project / "loop").symlink_to("loop")
    places.project_file(f"DOCS_ROOT='{root}'\n", ".env")
    settings = places.load()
    assert settings["retrieval.roots"] == {}
    assert len(settings.notices) == 1


@pytest.mark.parametrize("line", ['docs = "missing"', 'docs = "a file"', 'both = "."'])
def test_a_projects_root_that_can_be_none_is_passed_over(places: Places, line: str) -> None:
    (places.project / "a file").touch()
    places.project_file(f"[retrieval.roots]\n{line}\n")
    settings = places.load()
    assert settings["retrieval.roots"] == {}
    (notice,) = settings.notices
    assert "retrieval.roots is passed over" in notice.text


def test_no_limit_counts_as_the_highest(places: Places) -> None:
    places.project_file("max_result_tokens = 0")
    assert places.load()["max_result_tokens"] == 20_000
    places.user_file("max_result_tokens = 0")
    places.project_file("max_result_tokens = 90000")
    assert places.load()["max_result_tokens"] == 90_000


def test_what_the_user_has_set_is_no_default_that_a_project_lowers(places: Places) -> None:
    places.project_file("max_result_tokens = 5000\nthreads = 2")
    assert places.load().lowered == {"max_result_tokens", "threads"}
    assert places.load({"ROLLTOP_THREADS": "4"}).lowered == {"max_result_tokens"}
    places.user_file("max_result_tokens = 30000")
    assert places.load().lowered == {"threads"}


@pytest.mark.parametrize("text", ["[http]\n# port = 9000\n", "[reader]\n[scratch]\n", "http = {}"])
def test_a_table_without_keys_sets_nothing(places: Places, text: str) -> None:
    places.user_file(text)
    places.project_file(text)
    settings = places.load()
    assert (settings["http.port"], settings.notices) == (8765, ())


def test_the_environment_file_of_a_project(places: Places) -> None:
    (places.project / "a b").mkdir()
    places.project_file(
        '# a comment\nexport DOCS_ROOT="a b" # here\n'
        "AWS_SECRET='hush'\nROLLTOP_TOOLSETS=tasks # x\n"
        "DATABASE_URL=postgresql://evil\nnot an assignment\nROLLTOP_NONSENSE=1\nLOG_LEVEL=trace\n",
        ".env",
    )
    settings = places.load({"ROLLTOP_TOOLSETS": "reader"})
    assert settings["retrieval.roots"] == {"docs": (places.project / "a b").resolve()}
    assert settings["toolsets"] == ("reader",)
    assert settings.source("database_url") == "default"
    assert settings["log_level"] == "info"
    said = "\n".join(notice.text for notice in settings.notices)
    for name in ("AWS_SECRET", "ROLLTOP_NONSENSE", "DATABASE_URL", "LOG_LEVEL"):
        assert f": {name} is" in said
    assert "hush" not in said
    assert "evil" not in said


def test_our_own_names_outrank_the_seeds_in_a_projects_file_too(places: Places) -> None:
    for name in ("ours", "seeds"):
        (places.project / name).mkdir()
    places.project_file("ROLLTOP_RETRIEVAL_ROOTS_DOCS=ours\nDOCS_ROOT=seeds\n", ".env")
    assert places.load()["retrieval.roots"] == {"docs": (places.project / "ours").resolve()}


@pytest.mark.parametrize("name", [".env", "rolltop.toml"])
def test_a_projects_file_that_cannot_be_used_is_passed_over(places: Places, name: str) -> None:
    path = places.project / name
    for content in (b"\xff\xfe\x00", b"#" * 70_000, b"x = " * 300_000):
        path.write_bytes(content)
        assert len(places.load().notices) == 1
    path.unlink()
    path.mkdir()
    assert len(places.load().notices) == 1
    path.rmdir()
    os.mkfifo(path)
    assert "is not a regular file" in places.load().notices[0].text


@pytest.mark.parametrize("text", [TOO_DEEP, ".".join(["a"] * 3000) + "=1"], ids=["header", "key"])
def test_a_projects_file_of_keys_within_keys_is_passed_over(places: Places, text: str) -> None:
    places.project_file(text)
    (notice,) = places.load().notices
    assert "passed over" in notice.text


@pytest.mark.parametrize("name", [".env", "rolltop.toml"])
def test_a_long_name_in_a_projects_file_is_not_told_whole(places: Places, name: str) -> None:
    places.project_file(f"{'k' * 50_000} = 1\n", name)
    (notice,) = places.load().notices
    assert f"{'k' * 80} is no setting" in notice.text
    assert "k" * 81 not in notice.text


def test_a_file_that_is_asked_for_is_trusted_in_the_working_directory_too(places: Places) -> None:
    path = places.project_file('http.host = "::1"')
    settings = places.load(config=Path("rolltop.toml"))
    assert (settings["http.host"], settings.source("http.host")) == ("::1", str(path))
    assert settings.notices == ()


def test_secrets_are_masked_everywhere(places: Places) -> None:
    url = "postgresql://me:s3cr3t/@x@host/db?sslpassword=hidden&a=1"
    settings = places.load({"DATABASE_URL": url, "ROLLTOP_NOTES_TOKEN": "s3cr3t"})
    assert settings["database_url"] == url
    shown = settings.masked_text("database_url")
    assert shown == "postgresql://me:********@host/db?sslpassword=********&a=1"
    assert settings.masked_text("notes.token") == "********"
    with pytest.raises(InvalidConfig) as raised:
        places.load(command_line={"notes.token": "s3cr3t\0"})
    assert "s3cr3t" not in raised.value.message


def test_values_are_shown_as_a_person_writes_them(places: Places) -> None:
    settings = places.load(
        command_line={"toolsets": "a,b", "retrieval.roots": "docs=/d", "call_timeout": "120s"}
    )
    shown = {key: settings.masked_text(key) for key in settings}
    assert shown["toolsets"] == "a, b"
    assert shown["retrieval.roots"] == "docs=/d"
    assert (shown["call_timeout"], shown["http.max_body"]) == ("2m", "32MiB")
    assert (shown["read_only"], shown["log_file_path"]) == ("off", "")


def test_the_store_lies_in_the_data_directory(places: Places) -> None:
    settings = places.load({"ROLLTOP_DATA_DIR": "/var/my data?"})
    assert settings["database_url"] == "sqlite:////var/my%20data%3F/desk.db"
    assert settings.replace({"data_dir": Path("/x")})["database_url"] == "sqlite:////x/desk.db"


def test_settings_with_changes_leave_the_original_alone() -> None:
    settings = Settings.defaults(DECLARED)
    assert settings.replace({"threads": 2})["threads"] == 2
    assert settings["threads"] == 16
    with pytest.raises(KeyError):
        settings.replace({"thread": 2})


def test_core_settings_are_declared_well() -> None:
    keys = [setting.key for setting in CORE_SETTINGS]
    variables = [setting.variable for setting in CORE_SETTINGS]
    assert len(set(keys)) == len(keys)
    assert len(set(variables)) == len(variables)
    defaults = Settings.defaults(CORE_SETTINGS)
    for setting in CORE_SETTINGS:
        assert setting.help.endswith("."), setting.key
        assert not callable(setting.default) or setting.computed, setting.key
        shown = defaults.masked_text(setting.key)
        if shown:
            again = load(
                CORE_SETTINGS,
                environment={},
                command_line={setting.key: shown},
                working_directory=Path("/"),
                user_directory=Path("/nowhere"),
            )
            assert again[setting.key] == defaults[setting.key], setting.key
