"""The log: one line for each thing that happened, and never anybody's text.

Own lines are fixed messages with named fields. An exception is logged as its types and
places, without its message; a line of a library is logged as its level and place, since what
libraries say may quote what they were given.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import select
import socket
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from io import FileIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO, cast

from rolltop.core.errors import InvalidConfig

if TYPE_CHECKING:
    from rolltop.core.principal import Principal

TRACE: Final = 5

_LOGGER: Final = logging.getLogger("rolltop")
_LEVELS: Final = {
    "trace": TRACE,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "fatal": logging.CRITICAL,
}
_LEVEL_NAMES: Final = {number: name for name, number in reversed(_LEVELS.items())}
_FIELDS_ATTRIBUTE: Final = "rolltop_fields"
_MAX_FRAMES: Final = 12
_MAX_LINE_BYTES: Final = 3000  # a line must fit into the last free page of a pipe
_LINES_DROPPED: Final = "lines were lost here: nobody read stderr"


def configure(
    *, level: str = "info", form: str = "text", file: Path | None = None, quiet: bool = False
) -> None:
    """Send the log to stderr, and to `file` as well; to be called before libraries log.

    `quiet` keeps lines below `warn` from stderr. Raises InvalidConfig: the file cannot be written.
    """
    formatter = _LineFormatter(as_json=form == "json")
    handlers: list[logging.Handler] = [_StderrHandler(sys.stderr)]
    if quiet:
        handlers[0].setLevel(logging.WARNING)
    if file is not None:
        handlers.append(_PrivateFileHandler(file))
    for handler in handlers:
        handler.setFormatter(formatter)
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        old.close()
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(logging.WARNING)
    _LOGGER.setLevel(_LEVELS[level])
    logging.raiseExceptions = False
    logging.captureWarnings(capture=True)
    threading.excepthook = _log_thread_exception


def configure_once() -> None:
    """Send the log to stderr if nothing was set up yet: for failures before that."""
    if not logging.getLogger().handlers:
        configure()


def call(
    *,
    tool: str,
    user: str,
    duration_ms: float,
    outcome: str,
    code: str = "",
    request_id: str = "",
    ids: Mapping[str, str] | None = None,
) -> None:
    """Log a finished call, a failed one too; `ids` has the ids of what it was about, and more."""
    event(
        "call",
        request_id=request_id,
        tool=tool,
        user_id=user,
        duration_ms=round(duration_ms, 1),
        outcome=outcome,
        code=code,
        **(ids or {}),
    )


def caller_ids(caller: Principal) -> dict[str, str]:
    """Return the ids of the caller's token and shared workspace, each empty for none."""
    shared = caller.user_id if caller.member_id else ""
    return {"token_id": caller.token_id, "workspace_id": shared}


def event(message: str, *, level: str = "info", **fields: object) -> None:
    """Log something that happened: a fixed message, and fields that hold no user's text."""
    _LOGGER.log(_LEVELS[level], message, extra={_FIELDS_ATTRIBUTE: fields})


def fault(error: BaseException, *, request_id: str = "", message: str = "fault") -> str:
    """Log an unexpected exception by its types and places, and return the line's reference."""
    reference = secrets.token_hex(4)
    _LOGGER.error(
        message,
        exc_info=error,
        extra={_FIELDS_ATTRIBUTE: {"request_id": request_id, "reference": reference}},
    )
    return reference


def describe_exception(error: BaseException) -> str:
    """Return the types and places of an exception and of its causes, without their messages."""
    return " < ".join(_format_exceptions(error))[:_MAX_LINE_BYTES]


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to stderr, and never waits for a host that does not read it.

    Once the pipe to such a host is full, lines are counted instead; the count is written as
    soon as there is room. A file gets every line.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._dropped_lines = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record's line, or count it."""
        if not self._has_room():
            self._dropped_lines += 1
            return
        if self._dropped_lines:
            lost, self._dropped_lines = self._dropped_lines, 0
            fields = {_FIELDS_ATTRIBUTE: {"lines": lost}}
            super().emit(
                _LOGGER.makeRecord(
                    _LOGGER.name, logging.WARNING, "", 0, _LINES_DROPPED, (), None, extra=fields
                )
            )
        super().emit(record)

    def _has_room(self) -> bool:
        """Whether a line can be written at once; where nobody can tell, it can."""
        try:
            waiting = select.poll()
            waiting.register(self.stream.fileno(), select.POLLOUT)
            return bool(waiting.poll(0))
        except (AttributeError, OSError, ValueError):
            return True


class _PrivateFileHandler(logging.FileHandler):
    """Appends to a file; if it is made here, only its owner may read it."""

    def __init__(self, path: Path) -> None:
        try:
            super().__init__(path, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise InvalidConfig(
                f"log_file_path: {path} cannot be written ({error.strerror})",
                hint="Name a file in a folder that exists and that you may write to.",
            ) from None

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return TextIOWrapper(
            FileIO(descriptor, "ab"), encoding=self.encoding, errors=self.errors, write_through=True
        )


class _LineFormatter(logging.Formatter):
    """Puts a record into one line of text or JSON."""

    def __init__(self, *, as_json: bool) -> None:
        super().__init__()
        self._as_json = as_json
        self._host = socket.gethostname()

    def format(self, record: logging.LogRecord) -> str:
        """Return the record's line, without a final newline."""
        fields = self._parts(record)
        if self._as_json:
            return json.dumps(fields, default=str)
        head = f"{fields.pop('time')} {fields.pop('level')} {_format_field(fields.pop('message'))}"
        return " ".join(
            [head, *(f"{name}={_format_field(value)}" for name, value in fields.items())]
        )

    def _parts(self, record: logging.LogRecord) -> dict[str, object]:
        """Return the line's fields in their order, empty ones left out."""
        own = record.name.split(".")[0] == _LOGGER.name
        place = f"{record.name} {record.module}:{record.lineno}"
        given: Mapping[str, object] = getattr(record, _FIELDS_ATTRIBUTE, {})
        moment = datetime.fromtimestamp(record.created, UTC)
        parts: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": _LEVEL_NAMES.get(record.levelno, "info"),
            "message": record.getMessage() if own else f"a library reports something ({place})",
            "pid": record.process,
            "host": self._host,
            **{name: value for name, value in given.items() if value not in ("", None)},
        }
        if record.exc_info and record.exc_info[1] is not None:
            parts["exception"] = describe_exception(record.exc_info[1])
        return parts


def _format_field(value: object) -> str:
    """Return a field's text, quoted where it would break the line or run into the next."""
    text = str(value)
    if text.isprintable() and not any(mark in text for mark in '"='):
        return text if " " not in text else f'"{text}"'
    return json.dumps(text)


def _format_exceptions(error: BaseException) -> Iterator[str]:
    """Yield each exception of a chain or group as its type and its last frames, latest first."""
    waiting, seen = [error], set[int]()
    while waiting:
        current = waiting.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        frames = [
            frame
            for frame in traceback.extract_tb(current.__traceback__)
            if not frame.filename.startswith("<")  # the import machinery
        ]
        places = [
            f"{'/'.join(Path(frame.filename).parts[-2:])}:{frame.lineno} {frame.name}"
            for frame in frames[: -_MAX_FRAMES - 1 : -1]
        ]
        yield f"{type(current).__name__} at {', '.join(places) or 'an unknown place'}"
        if isinstance(current, BaseExceptionGroup):
            waiting.extend(cast("BaseExceptionGroup[BaseException]", current).exceptions)
        earlier = current.__cause__ or current.__context__
        if earlier is not None:
            waiting.append(earlier)


def _log_thread_exception(arguments: threading.ExceptHookArgs) -> None:
    """Log an exception that ended a thread, in place of Python's own traceback."""
    if arguments.exc_value is not None:
        fault(arguments.exc_value, message="a thread failed")
