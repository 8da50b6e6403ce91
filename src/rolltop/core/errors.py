"""The one tree of errors a caller may see.

    RolltopError                  code INTERNAL_ERROR
    ├── InvalidArgument           the values given are wrong; the caller can fix them
    │   └── InvalidText           text the store cannot keep (NUL, lone surrogates)
    ├── NotFound                  no such thing, or not the caller's
    ├── Conflict                  the thing changed since it was read, or was taken by another
    ├── Unavailable               the store is out of reach, too slow, or the server is stopping,
    │   │                         or lacks open files, threads or processes
    │   ├── DiskError             a write failed: nothing is written until a restart
    │   ├── UserDeleted           the user the call works for was deleted
    │   └── ShuttingDown          the server is stopping
    ├── DeadlineExceeded          the call's own deadline passed
    ├── RateLimited               the caller asks too often; over HTTP status 429
    ├── InvalidConfig             a setting is wrong; stops the start (exit 2)
    └── StartupError              anything else that stops the start (exit 1)
        └── IncompatibleStore     the store is newer than the program, or damaged
            └── StoreKeyMismatch  the store's encryption and the settings disagree (exit 2)

A message says what is wrong with the values given; a hint names the call that repairs it.
Every other exception is a fault of ours: it is logged with a reference and shown as
INTERNAL_ERROR.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class RolltopError(Exception):
    """An error with a stable upper-case code, a message, a hint and optional extra fields."""

    default_code: ClassVar[str] = "INTERNAL_ERROR"
    exit_code: ClassVar[int] = 1
    """What a process ends with that this stops."""
    is_loggable: ClassVar[bool] = False
    """Whether the message tells of the machine and the store alone, and quotes no caller."""

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        code: str | None = None,
        data: Mapping[str, Any] | None = None,
        detail: str = "",
    ) -> None:
        """Keep the parts apart: each toolset puts them into its own shape.

        `detail` tells more of this machine than a caller may know; the log and commands show it.
        """
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or self.default_code
        self.data: dict[str, Any] = dict(data or {})
        self.detail = detail

    @property
    def full_message(self) -> str:
        """The message with its detail, for whoever runs the server."""
        return f"{self.message} ({self.detail})" if self.detail else self.message

    @property
    def log_reason(self) -> str:
        """Why, for the log; empty where the message may quote a caller."""
        return self.full_message if self.is_loggable else ""


class InvalidArgument(RolltopError):
    """The values given are wrong."""

    default_code = "INVALID_ARGUMENT"


class InvalidText(InvalidArgument):
    """Text the store cannot keep."""

    default_code = "INVALID_TEXT"


class NotFound(RolltopError):
    """No such thing, or it belongs to someone else: the two are never told apart."""

    default_code = "NOT_FOUND"


class Conflict(RolltopError):
    """The thing is not in the state the caller believes it to be in."""

    default_code = "CONFLICT"


class Unavailable(RolltopError):
    """The store cannot be reached, a statement passed its limit, or the server is stopping.

    Or it has no open file, thread or process left for the call.
    """

    default_code = "UNAVAILABLE"
    is_loggable = True


class DiskError(Unavailable):
    """The disk failed to keep a write to the store, so this process writes to it no more.

    A system may report once that it dropped what was written, and let the next sync succeed.
    """


class UserDeleted(Unavailable):
    """The user a call works for was deleted, by another process, after the call knew who it is."""

    def __init__(self) -> None:
        """Say so, and how there will be a user again."""
        super().__init__(
            "The user this call works for was deleted",
            hint="The next call makes the default user anew; any other must be added again with"
            " `rolltop user add` by whoever runs this server, or another be named.",
        )


class ShuttingDown(Unavailable):
    """The server is stopping."""

    def __init__(self, *, has_started: bool = False) -> None:
        """Say so; what a call that was `begun` writes may have been kept."""
        if has_started:
            super().__init__(
                "The server stopped before the call was done",
                hint="Once the server is back, read what a write may have kept before you call"
                " again.",
            )
        else:
            super().__init__("The server is stopping", hint="Call again once it is back.")


class DeadlineExceeded(RolltopError):
    """The call passed `call_timeout`."""

    default_code = "TIMEOUT"
    is_loggable = True


class RateLimited(RolltopError):
    """The caller asks too often, or for too much at once."""

    default_code = "RATE_LIMITED"

    def __init__(self, message: str, *, retry_after: int) -> None:
        """Say so; `retry_after` are the seconds after which there is room."""
        super().__init__(message, hint=f"Try again in {retry_after} s.")
        self.retry_after = retry_after


class InvalidConfig(RolltopError):
    """A setting is wrong; the server does not start."""

    default_code = "CONFIG_INVALID"
    exit_code = 2


class StartupError(RolltopError):
    """The server cannot start for a reason other than its configuration."""

    default_code = "START_FAILED"


class IncompatibleStore(StartupError):
    """The store was written by a newer program, or is damaged; it is left untouched."""

    default_code = "STORE_REFUSED"
    is_loggable = True


class StoreKeyMismatch(IncompatibleStore):
    """The store does not open with the key of the settings, or is not encrypted at all."""

    exit_code = 2
