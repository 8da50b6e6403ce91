"""The interface of a backend that notes are synced with, and the errors it raises."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from rolltop.core.errors import InvalidArgument, Unavailable
from rolltop.toolsets.notes.clients.note_object import parse_content
from rolltop.toolsets.notes.models import Content

# A note in the backend's own form.
Data = Mapping[str, Any]
# What became of a write: stored (with the object as it is now); nothing to change; this very change
# was there already; the note, or its base, is gone; it must be made anew from the present version.
Outcome = Literal["stored", "unchanged", "duplicate", "gone", "stale"]
Subcategory = Literal[
    "conflict", "timeout", "rate_limit", "unavailable", "validation_error", "unknown"
]

_BAD_GATEWAY: Final = 502
_OFFLINE_HINT: Final = (
    "The notes here can be read meanwhile; `rolltop notes status` shows the sync."
)
_MAY_HAVE_ARRIVED_HINT: Final = (
    "The change may have arrived: call note_manage with action sync, then read the note again "
    "before you repeat it."
)


@dataclass(frozen=True)
class RemoteNote:
    """A note at a version of the backend; `data` is None if only the version was asked for."""

    id: str
    version: int
    data: Data | None = None

    @property
    def content(self) -> Content:
        """The content of `data`."""
        return parse_content(self.data or {})


@dataclass(frozen=True)
class IndexPage:
    """A page of the list of notes, newest changes first.

    `current` is the cursor of the whole list when the page was made; `mark` continues the list.
    `unreadable` are the ids (or "") of notes of a form that this program doesn't know.
    """

    notes: tuple[RemoteNote, ...]
    current: str
    mark: str | None = None
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True)
class WriteResult:
    """The backend's answer to a write; `note` comes with the outcome "stored"."""

    outcome: Outcome
    note: RemoteNote | None = None


class Backend(Protocol):
    """A place that stores notes. All methods raise BackendError and CredentialsRejected."""

    async def authenticate(self) -> None:
        """Make sure that the account's credentials are accepted."""
        ...

    async def index(
        self, *, limit: int, mark: str | None, since: str | None, data: bool
    ) -> IndexPage | None:
        """Fetch a page of the list; None for a cursor that the backend does not know."""
        ...

    async def get(self, note_id: str, version: int | None = None) -> RemoteNote | None:
        """Fetch a note, now or at a version; None if it is not there."""
        ...

    async def put(self, note_id: str, data: Data, base: int | None, change_id: str) -> WriteResult:
        """Write the whole note, made from version `base` (None: new)."""
        ...

    async def delete(self, note_id: str, base: int | None, change_id: str) -> WriteResult:
        """Delete the note for good."""
        ...


class BackendError(Unavailable):
    """The backend did not do it. `may_have_arrived`: a write was sent and no answer came.

    Its data is `subcategory`, `http_status` and `details`.
    """

    default_code = "BACKEND_UNAVAILABLE"
    is_loggable = False

    def __init__(
        self,
        message: str,
        *,
        code: str = "BACKEND_UNAVAILABLE",
        subcategory: Subcategory = "unavailable",
        hint: str = "",
        status: int = _BAD_GATEWAY,
        may_have_arrived: bool = False,
        **details: Any,  # noqa: ANN401  # any JSON value
    ) -> None:
        """Put the parts where the notes' error shape finds them."""
        if may_have_arrived:
            details["may_have_arrived"] = True
        data = {"subcategory": subcategory, "http_status": status, "details": details}
        default = _MAY_HAVE_ARRIVED_HINT if may_have_arrived else _OFFLINE_HINT
        super().__init__(message, hint=hint or default, code=code, data=data)
        self.may_have_arrived = may_have_arrived

    @property
    def is_overall(self) -> bool:
        """Whether it does not lie in one note: the backend is silent, or takes no more for now."""
        return self.code in {"BACKEND_TIMEOUT", "BACKEND_RATE_LIMIT"}


class BodyTooLong(BackendError):
    """The answer is larger than this program takes."""


class CredentialsRejected(InvalidArgument):
    """The credentials are not accepted, or there are none."""

    default_code = "TOKEN_REJECTED"


def body_too_long(*, may_have_arrived: bool = False) -> BodyTooLong:
    """Create the error of an answer that doesn't end where it should."""
    message = "The answer of Simplenote is larger than this program takes."
    return BodyTooLong(message, subcategory="unknown", may_have_arrived=may_have_arrived)


def request_timeout(seconds: float, *, may_have_arrived: bool) -> BackendError:
    """Create the error of a request that got no answer in time."""
    return BackendError(
        f"Simplenote did not answer within {seconds:g} s.",
        code="BACKEND_TIMEOUT",
        subcategory="timeout",
        may_have_arrived=may_have_arrived,
    )


def connection_failure(*, may_have_arrived: bool) -> BackendError:
    """Create the error of a connection that could not be made, or broke."""
    if may_have_arrived:
        message = "The connection to Simplenote broke before the answer came."
        return BackendError(message, may_have_arrived=True)
    return BackendError("Simplenote is out of reach.")


def status_error(status: int, retry_after: float | None = None) -> BackendError:
    """Create the error of an HTTP status; `retry_after` is in seconds."""
    details: dict[str, Any] = {} if retry_after is None else {"retry_after": retry_after}
    if status == 429:  # noqa: PLR2004  # HTTP's own numbers, here and below
        return BackendError(
            "Simplenote takes no more requests for now.",
            code="BACKEND_RATE_LIMIT",
            subcategory="rate_limit",
            status=status,
            hint="Wait, then try again.",
            **details,
        )
    if status >= 500:  # noqa: PLR2004
        message = f"Simplenote is out of order (HTTP {status})."
        return BackendError(message, status=status, **details)
    too_large = status == 413  # noqa: PLR2004
    refused = f"Simplenote does not take this request (HTTP {status})."
    return BackendError(
        "Simplenote takes no note as large as this." if too_large else refused,
        code="BACKEND_REFUSED",
        subcategory="validation_error" if status in {400, 413} else "unknown",
        status=status,
        hint="Make the note smaller: split it." if too_large else "Nothing was changed.",
    )


def unexpected_response(*, may_have_arrived: bool = False) -> BackendError:
    """Create the error of an answer that is not the backend's: a sign-in page, half an object."""
    network = "Check the network (a sign-in page?) and the SIMPERIUM_… settings."
    return BackendError(
        "What answered is not Simplenote's API.",
        subcategory="unknown",
        hint="" if may_have_arrived else network,
        may_have_arrived=may_have_arrived,
    )


def invalid_token() -> CredentialsRejected:
    """Create the error of a token that is not accepted any more."""
    return CredentialsRejected(
        "Simplenote does not accept the token of this account any more.",
        hint="A person has to run `rolltop notes login` again, or to mend SIMPLENOTE_TOKEN or "
        "SIMPLENOTE_PASSWORD where they are set.",
    )


def login_error(message: str, hint: str) -> CredentialsRejected:
    """Create the error of a login that was refused."""
    return CredentialsRejected(message, hint=hint, code="LOGIN_FAILED")
