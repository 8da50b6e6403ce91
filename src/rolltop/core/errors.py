"""The one tree of errors a caller may see.

    RolltopError                 code INTERNAL_ERROR
    ├── Invalid                  the values given are wrong; the caller can mend them
    │   └── InvalidText          text the store cannot keep (NUL, lone surrogates)
    ├── NotFound                 no such thing, or not the caller's
    ├── Conflict                 the thing changed since it was read, or was taken by another
    ├── Unavailable              the store is out of reach, too slow, or the server is stopping,
    │                            or lacks open files, threads or processes
    │   ├── UserGone             the user the call works for was deleted
    │   └── Stopping             the server is stopping
    ├── TimedOut                 the call's own deadline passed
    ├── ConfigInvalid            a setting is wrong; stops the start (exit 2)
    └── StartFailed              anything else that stops the start (exit 1)
        └── StoreRefused         the store is newer than the program, or damaged
            └── StoreKeyRefused  the store's encryption and the settings disagree (exit 2)

A message says what is wrong with the values given; a hint names the call that repairs it.
Every other exception is a fault of ours: it is logged with a reference and shown as
INTERNAL_ERROR.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping


class RolltopError(Exception):
    """An error with a stable upper-case code, a message, a hint and optional extra fields."""

    default_code: ClassVar[str] = "INTERNAL_ERROR"
    exit_code: ClassVar[int] = 1
    """What a process ends with that this stops."""

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        code: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        """Keep the parts apart: each toolset puts them into its own shape."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code or self.default_code
        self.data: dict[str, Any] = dict(data or {})


class Invalid(RolltopError):
    """The values given are wrong."""

    default_code = "INVALID_ARGUMENT"


class InvalidText(Invalid):
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


class UserGone(Unavailable):
    """The user a call works for was deleted, by another process, after the call knew who it is."""

    def __init__(self, *, renewed: bool = False) -> None:
        """Say so, and what becomes of it: the default user is `renewed` by the calls to come."""
        hint = "That user was deleted: call again in a moment, for the default user is made anew."
        if not renewed:
            hint = (
                "That user was deleted, and calling again does not help: whoever runs this server"
                " must add the user again with `rolltop user add`, or name another."
            )
        super().__init__("The user this call works for was deleted", hint=hint)


class Stopping(Unavailable):
    """The server is stopping."""

    def __init__(self, *, begun: bool = False) -> None:
        """Say so; what a call that was `begun` writes may have been kept."""
        if begun:
            super().__init__(
                "The server stopped before the call was done",
                hint="Once the server is back, read what a write may have kept before you call"
                " again.",
            )
        else:
            super().__init__("The server is stopping", hint="Call again once it is back.")


class TimedOut(RolltopError):
    """The call passed `call_timeout`."""

    default_code = "TIMEOUT"


class ConfigInvalid(RolltopError):
    """A setting is wrong; the server does not start."""

    default_code = "CONFIG_INVALID"
    exit_code = 2


class StartFailed(RolltopError):
    """The server cannot start for a reason other than its configuration."""

    default_code = "START_FAILED"


class StoreRefused(StartFailed):
    """The store was written by a newer program, or is damaged; it is left untouched."""

    default_code = "STORE_REFUSED"


class StoreKeyRefused(StoreRefused):
    """The store does not open with the key of the settings, or is not encrypted at all."""

    exit_code = 2
