"""Where the store is: DATABASE_URL taken apart, without any I/O."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from rolltop.core.errors import InvalidConfig

DatabaseKind = Literal["sqlite", "postgresql"]

# Which driver speaks to a database is ours to choose, whatever the URL names.
_SQLITE_SCHEME: Final = re.compile(r"sqlite(\+\w+)?")
_POSTGRESQL_SCHEME: Final = re.compile(r"postgres(ql)?(\+\w+)?")
# asyncpg's name, in SQLAlchemy's URLs, of what libpq calls sslmode
_SSL_PARAMETER: Final = re.compile(r"(?<=[?&])ssl=")
# What others call a pooler between, which gives each transaction any connection it has.
_POOLER_PARAMETER: Final = re.compile(r"(?<=[?&])pgbouncer=(?:(true|1)|false|0)(?:&|$)")
_HINT: Final = "Allowed are sqlite:////absolute/path.db and postgresql://user@host/name."
# Drivers take a raw "/" or "@" inside a password, so it ends at the last "@" there is.
_PASSWORD_IN_AUTHORITY: Final = re.compile(r"(?<=://)([^/?#@:]*):.*(?=@)", re.DOTALL)
# User and password, then host and port, as SQLAlchemy takes a URL apart, which fails at others.
_USERINFO: Final = re.compile(r"[^:/]*(?::[^@]*)?@")
_HOST_PORT: Final = re.compile(r"(?:\[[^/?]+\]|[^/:?@\[\]]*)(?::[0-9]{1,5})?(?:[/?].*)?", re.DOTALL)
_SCHEME: Final = re.compile(r"\s*[A-Za-z][\w+.-]*://")
_MAY_HOLD_PASSWORD: Final = re.compile(r"@|password", re.IGNORECASE)
_PASSWORD_IN_QUERY: Final = re.compile(r"(?i)((?:[?&]|^)(?:ssl)?password=)[^&#]*")


@dataclass(frozen=True)
class DatabaseUrl:
    """A store's place: `path` is absolute and set for SQLite only; `url` is what drivers take.

    `is_pooled` where a pooler in transaction mode stands between: no statement stays prepared.
    """

    kind: DatabaseKind
    url: str
    path: Path | None
    is_pooled: bool = False

    @property
    def display_name(self) -> str:
        """The store's name for messages and logs: its file, or its URL without the password."""
        return redact_passwords(self.url) if self.path is None else str(self.path)


def parse_url(url: str) -> DatabaseUrl:
    """Return the address that a DATABASE_URL names. Raises InvalidConfig for any other text."""
    scheme = url.partition("://")[0].lower()
    if _SQLITE_SCHEME.fullmatch(scheme):
        path = _sqlite_path(url)
        return DatabaseUrl("sqlite", f"sqlite:///{path}", path)
    if _POSTGRESQL_SCHEME.fullmatch(scheme) and "://" in url:
        before, mark, parameters = url.partition("://")[2].rpartition("?")
        parameters = mark + parameters
        pooler = _POOLER_PARAMETER.search(parameters)
        if pooler:
            parameters = _POOLER_PARAMETER.sub("", parameters).rstrip("?&")
        rest = before + _SSL_PARAMETER.sub("sslmode=", parameters)
        login = _USERINFO.match(rest)
        if not _HOST_PORT.fullmatch(rest, login.end() if login else 0):
            raise InvalidConfig(
                f"DATABASE_URL {redact_passwords(url)!r} names no server: a port is a number, "
                "an IPv6 address stands in brackets, and an @ of a password is written %40.",
                hint=_HINT,
            )
        if find_spec("psycopg") is None:
            raise InvalidConfig(
                f"DATABASE_URL {redact_passwords(url)!r} names a PostgreSQL server, and no driver "
                "for it is installed.",
                hint="Install the extra: pip install 'rolltop[postgresql]'.",
            )
        return DatabaseUrl(
            "postgresql", f"postgresql+psycopg://{rest}", None, bool(pooler and pooler[1])
        )
    raise InvalidConfig(
        f"DATABASE_URL {redact_passwords(url)!r} names no known database.", hint=_HINT
    )


def redact_passwords(url: str) -> str:
    """Return the URL with every password in it replaced by `***`.

    So is the whole of what is no URL and may hold one.
    """
    if not _SCHEME.match(url) and _MAY_HOLD_PASSWORD.search(url):
        return "***"
    hidden = _PASSWORD_IN_AUTHORITY.sub(r"\1:***", url)
    return _PASSWORD_IN_QUERY.sub(r"\1***", hidden)


def _sqlite_path(url: str) -> Path:
    shown = redact_passwords(url)
    refused = InvalidConfig(f"DATABASE_URL {shown!r} names no SQLite file.", hint=_HINT)
    try:
        parts = urlsplit(url)
        name = unquote(parts.path[1:], errors="strict")
        name.encode()
        path = Path(os.path.abspath(Path(name).expanduser()))  # noqa: PTH100  # resolve() reads the disk
    except UnicodeError:
        raise InvalidConfig(
            f"The store's name {shown!r} is no UTF-8.",
            hint="Set ROLLTOP_DATA_DIR to a folder whose name is.",
        ) from None
    except (ValueError, RuntimeError):  # a bracket alone; ~ of nobody
        raise refused from None
    if parts.netloc or not parts.path.startswith("/") or parts.query or parts.fragment:
        raise refused
    if name in {"", ":memory:"} or not path.name or "\0" in name:
        raise InvalidConfig(
            f"DATABASE_URL {shown!r} names no file: a store outlives its process.", hint=_HINT
        )
    return path
