"""Core's own settings."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import quote

from rolltop.core.errors import InvalidConfig
from rolltop.core.settings.settings import Setting

STORE_NAME: Final = "desk.db"
_DATABASES_COUNT: Final = 24 * 86400
"""Seconds: databases count milliseconds in 31 bits."""
HOST_RESULT_TOKENS: Final = MappingProxyType(
    {"codex": 2_400, "claude-code": 9_000, "gemini-cli": 7_500}
)
"""The largest answer that a host takes whole, by how its client's name begins.

Codex cuts results in the middle at 10 KiB, or shows both halves of them in 10,000 tokens; Claude
Code warns at 10,000 tokens; Gemini CLI cuts in the middle at 40,000 characters.
"""
UNKNOWN_HOST_RESULT_TOKENS: Final = 9_000
_DEFAULT_RESULT_TOKENS: Final = 20_000
_limit: Final = partial(Setting, minimum=1, untrusted="down")
"""What a project's file may lower."""
LEVELS: Final = ("trace", "debug", "info", "warn", "warning", "error", "fatal")


def user_directory() -> Path:
    """Return the folder that holds the user's own rolltop.toml. Raises InvalidConfig."""
    import platformdirs  # noqa: PLC0415  # often not needed

    with require_home():
        return platformdirs.user_config_path("rolltop", appauthor=False)


def _data_directory(_settings: Mapping[str, object]) -> Path:
    import platformdirs  # noqa: PLC0415  # often not needed

    with require_home():
        return platformdirs.user_data_path("rolltop", appauthor=False)


@contextmanager
def require_home() -> Generator[None]:
    """Raise InvalidConfig where the user has no home directory, as in some containers."""
    try:
        yield
    except RuntimeError as error:
        raise InvalidConfig(
            "The home directory of this user is not known",
            hint="Set HOME, or XDG_CONFIG_HOME and ROLLTOP_DATA_DIR.",
        ) from error


def _store(settings: Mapping[str, Path]) -> str:
    path: str = (settings["data_dir"] / STORE_NAME).as_posix()
    return f"sqlite:///{quote(path, errors='surrogateescape')}"


_STORE: Final = (
    Setting(
        "data_dir",
        "path",
        _data_directory,
        "The folder of everything Rolltop keeps.",
        environment=("SCRATCH_NOTEBOOK_STORAGE_DIR",),
        computed="the user's data directory",
    ),
    Setting(
        "database_url",
        "store",
        _store,
        "The store: sqlite:////path/desk.db or postgresql://user:password@host/name, with"
        " ?pgbouncer=true behind a pooler in transaction mode.",
        secret=True,
        environment=("DATABASE_URL",),
        computed=f"{STORE_NAME} in data_dir",
    ),
    Setting(
        "db_encryption_key",
        "text",
        "",
        "The passphrase that the SQLite store is encrypted with; empty"
        " is none. `rolltop store encrypt` encrypts a store that is there.",
        secret=True,
        environment=("DB_ENCRYPTION_KEY",),
    ),
    Setting(
        "db_encryption_new_key",
        "text",
        "",
        "The passphrase that `rolltop store rekey` changes to.",
        secret=True,
        environment=("DB_ENCRYPTION_NEW_KEY",),
    ),
    Setting(
        "db_encryption_kdf_iterations",
        "integer",
        310_000,
        "How often the passphrase is hashed to make the store's key; a store opens with the"
        " number it was encrypted with.",
        minimum=10_000,
        environment=("DB_ENCRYPTION_KDF_ITERATIONS",),
    ),
    Setting(
        "user",
        "text",
        "",
        "The e-mail of the user who owns what is done here; empty is the default user. Not used"
        " where callers bring tokens.",
    ),
    Setting(
        "project",
        "text",
        "",
        "The project that work is filed under; given as an empty text, none.",
        computed="over stdio the git repository's or folder's name",
    ),
    Setting(
        "workspace",
        "text",
        "",
        "The workspace whose things are worked on; empty is the user's own. Not used where callers"
        " bring tokens.",
    ),
    _limit(
        "statement_timeout",
        "duration",
        30,
        "How long one statement of the database may take.",
        maximum=_DATABASES_COUNT,
    ),
    _limit(
        "lock_timeout",
        "duration",
        10,
        "How long a write waits for another to finish.",
        maximum=_DATABASES_COUNT,
    ),
    _limit(
        "threads",
        "integer",
        16,
        "How many calls work at once; also the number of database connections.",
        maximum=256,
    ),
)

_ANSWERS: Final = (
    _limit(
        "max_result_tokens",
        "integer",
        _DEFAULT_RESULT_TOKENS,
        "The largest answer, in tokens of cl100k_base; longer ones are cut and say how to go on.",
        computed=(
            ", ".join(f"{limit:,} for {host}" for host, limit in HOST_RESULT_TOKENS.items())
            + f" (how the client's name, else the User-Agent, begins), {_DEFAULT_RESULT_TOKENS:,}"
            f" for other clients, {UNKNOWN_HOST_RESULT_TOKENS:,} for those without a name"
        ),
        minimum=200,
        unlimited=0,
    ),
    Setting(
        "output",
        "text",
        "both",
        "Which half of an answer hosts get: structured content, text, or both.",
        choices=("both", "text", "structured"),
    ),
    _limit(
        "call_timeout",
        "duration",
        60,
        "How long one call may take.",
    ),
)

_TOOLS: Final = (
    Setting(
        "toolsets",
        "list",
        (),
        "The toolsets that are offered; empty is all.",
        untrusted="free",
    ),
    Setting("tools", "list", (), "The only tools that are offered; empty is all."),
    Setting("exclude_tools", "list", (), "Tools that are not offered."),
    Setting("read_only", "flag", False, "Offer only what changes nothing."),  # noqa: FBT003  # a value
    Setting(
        "names",
        "text",
        "canonical",
        "The names tools are listed under; both kinds are always accepted.",
        choices=("canonical", "seed"),
    ),
)

_ROOTS: Final = (
    Setting(
        "retrieval.roots",
        "table",
        {},
        "The folders that may be searched and read, by name; docs and code come first.",
        entries=(("DOCS_ROOT", "docs"), ("CODE_ROOT", "code")),
        reserved=("both",),  # stands for all of them
        untrusted="inside",
    ),
    Setting(
        "retrieval.allow_hidden",
        "flag",
        False,  # noqa: FBT003  # a value
        "Let explicit reads reach hidden and ignored files inside the roots.",
    ),
)

_LOGS: Final = (
    Setting(
        "log_level",
        "text",
        "info",
        "The least level that is logged.",
        choices=LEVELS,
        environment=("LOG_LEVEL",),
    ),
    Setting(
        "log_format",
        "text",
        "text",
        "How a line of the log is written.",
        choices=("text", "json"),
        environment=("LOG_FORMAT",),
    ),
    Setting(
        "log_file_path",
        "path",
        None,
        "A file that gets every line of the log besides stderr.",
        environment=("LOG_FILE_PATH",),
    ),
)

_HTTP: Final = (
    Setting("http.host", "text", "127.0.0.1", "The address that `serve --http` listens on."),
    Setting(
        "http.port",
        "integer",
        8765,
        "The port that `serve --http` listens on; 0 takes a free one.",
        minimum=0,
        maximum=65_535,
    ),
    Setting("http.socket", "path", None, "A Unix socket that `serve --http` listens on as well."),
    Setting(
        "http.auth",
        "text",
        "auto",
        "Whether callers need a token; auto is as soon as the store holds one, jwt needs"
        " http.oauth_issuer.",
        choices=("auto", "off", "token", "jwt"),
    ),
    Setting(
        "http.require_token",
        "flag",
        False,  # noqa: FBT003  # a value
        "Let nobody in without a token, as http.auth = token does.",
        environment=("SCRATCH_NOTEBOOK_ENABLE_AUTH",),
    ),
    Setting(
        "http.bearer_token",
        "text",
        "",
        "A token that callers may bring besides those of the store. It is the default user's, or"
        " that of the setting user, and makes a token a must.",
        secret=True,
        environment=("SCRATCH_NOTEBOOK_AUTH_BEARER_TOKEN",),
    ),
    Setting(
        "http.oauth_issuer",
        "text",
        "",
        "The OpenID Connect issuer whose access tokens are taken besides those of the store, such"
        " as https://login.example.org; empty is none. It makes a token a must.",
    ),
    Setting(
        "http.oauth_audience",
        "text",
        "",
        "Whom tokens of the issuer must be for.",
        computed="http.public_url with /mcp",
    ),
    Setting(
        "http.jwt_create_users",
        "flag",
        False,  # noqa: FBT003  # a value
        "Make a user at the first call with a token of somebody whom the store does not know.",
    ),
    Setting(
        "http.public_url",
        "text",
        "",
        "The address under which clients reach the server, such as https://desk.example.org.",
    ),
    Setting(
        "http.allowed_hosts",
        "list",
        (),
        "Names under which clients reach the server, besides the loopback's.",
    ),
    Setting(
        "http.allowed_origins",
        "list",
        (),
        "Web origins that may call, besides the loopback's.",
    ),
    Setting(
        "http.probe_addresses",
        "list",
        (),
        "Addresses or networks at which, or from which, /health and /ready are asked under any"
        " Host, besides the loopback's.",
    ),
    Setting(
        "http.metrics_token",
        "text",
        "",
        "The token that /metrics asks for; without one only this machine may read it, and not"
        " through a proxy.",
        secret=True,
    ),
    Setting(
        "http.traces_endpoint",
        "text",
        "",
        "Where spans of requests are sent: an OTLP collector, as http://127.0.0.1:4318. Needs the"
        " extra `traces`.",
    ),
    _limit(
        "http.max_body",
        "size",
        32 << 20,
        "The largest request.",
        minimum=1024,
    ),
    _limit(
        "http.max_bodies",
        "size",
        256 << 20,
        "The largest that all requests on their way or being served may be together.",
        minimum=1024,
    ),
    _limit(
        "http.max_connections",
        "integer",
        2000,
        "How many connections there may be; never more than half of the process's descriptors.",
    ),
    _limit(
        "http.max_client_connections",
        "integer",
        200,
        "How many connections one address may have; behind a proxy all come from its address.",
    ),
    _limit(
        "http.rate_limit",
        "integer",
        600,
        "How many requests a minute one token may send to each process.",
        unlimited=0,
    ),
    _limit(
        "http.max_concurrent_calls",
        "integer",
        20,
        "How many requests of one token each process serves at once; streams of changes count for"
        " themselves.",
        unlimited=0,
    ),
    _limit(
        "http.wrong_token_limit",
        "integer",
        30,
        "How many wrong tokens a minute one address may bring; behind a proxy all come from its"
        " address.",
        unlimited=0,
    ),
    _limit(
        "http.header_timeout",
        "duration",
        10,
        "How long the headers of a request may take.",
    ),
    _limit(
        "http.body_timeout",
        "duration",
        30,
        "How long a body may stall or lag behind 500 bytes/s, or an answer that nobody takes.",
    ),
    _limit(
        "http.idle_timeout",
        "duration",
        75,
        "How long a connection is kept for the next request.",
    ),
    _limit(
        "http.drain_seconds",
        "duration",
        0,
        "How long after SIGTERM calls are still served while /ready answers 503: as long as what"
        " stands before the server takes to notice.",
        minimum=0,
    ),
    _limit(
        "http.shutdown_timeout",
        "duration",
        5,
        "How long calls in flight may go on once the server stops.",
    ),
)

CORE_SETTINGS: Final = (*_STORE, *_ANSWERS, *_TOOLS, *_ROOTS, *_LOGS, *_HTTP)
