"""How a backend fails, as errors that say what to do next.

Each carries the notes' `subcategory` and `http_status` as data; `details` tell more.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from rolltop.core.errors import Invalid, Unavailable

Subcategory = Literal[
    "conflict", "timeout", "rate_limit", "unavailable", "validation_error", "unknown"
]

_BAD_GATEWAY: Final = 502
_ALONE: Final = "The notes here can be read meanwhile; `rolltop notes status` shows the sync."


class BackendFailed(Unavailable):
    """The backend did not do it. `may_have_arrived`: a write was sent and no answer came."""

    default_code = "BACKEND_UNAVAILABLE"

    def __init__(
        self,
        message: str,
        *,
        code: str = "BACKEND_UNAVAILABLE",
        subcategory: Subcategory = "unavailable",
        hint: str = _ALONE,
        status: int = _BAD_GATEWAY,
        may_have_arrived: bool = False,
        **details: Any,  # noqa: ANN401  # any JSON value
    ) -> None:
        """Put the parts where the notes' error shape finds them."""
        told = {**details, **({"may_have_arrived": True} if may_have_arrived else {})}
        data = {"subcategory": subcategory, "http_status": status, "details": told}
        super().__init__(message, hint=hint, code=code, data=data)
        self.may_have_arrived = may_have_arrived


class BodyTooLong(BackendFailed):
    """The answer is larger than this program takes."""


class NotAccepted(Invalid):
    """The credentials are not accepted, or there are none."""

    default_code = "TOKEN_REJECTED"


def too_long(*, may_have_arrived: bool = False) -> BodyTooLong:
    """Return the error of an answer that doesn't end where it should."""
    return BodyTooLong(
        "The answer of Simplenote is larger than this program takes.",
        subcategory="unknown",
        may_have_arrived=may_have_arrived,
        hint=_check_first() if may_have_arrived else _ALONE,
    )


def timed_out(seconds: float, *, may_have_arrived: bool) -> BackendFailed:
    """Return the error of a request that got no answer in time."""
    return BackendFailed(
        f"Simplenote did not answer within {seconds:g} s.",
        code="BACKEND_TIMEOUT",
        subcategory="timeout",
        may_have_arrived=may_have_arrived,
        hint=_check_first() if may_have_arrived else _ALONE,
    )


def unreachable(*, may_have_arrived: bool) -> BackendFailed:
    """Return the error of a connection that could not be made, or broke."""
    if may_have_arrived:
        message = "The connection to Simplenote broke before the answer came."
        return BackendFailed(message, may_have_arrived=True, hint=_check_first())
    return BackendFailed("Simplenote is out of reach.")


def rate_limited(retry_after: float | None) -> BackendFailed:
    """Return the error of too many requests; `retry_after` is in seconds."""
    details: dict[str, Any] = {} if retry_after is None else {"retry_after": retry_after}
    return BackendFailed(
        "Simplenote takes no more requests for now.",
        code="BACKEND_RATE_LIMIT",
        subcategory="rate_limit",
        status=429,
        hint="Wait, then try again.",
        **details,
    )


def broken(status: int) -> BackendFailed:
    """Return the error of a backend that is out of order."""
    return BackendFailed(f"Simplenote is out of order (HTTP {status}).", status=status)


def refused(status: int) -> BackendFailed:
    """Return the error of a request the backend does not take."""
    too_large, invalid = status == 413, status == 400  # noqa: PLR2004  # HTTP's own numbers
    message = (
        "Simplenote takes no note as large as this."
        if too_large
        else (f"Simplenote does not take this request (HTTP {status}).")
    )
    return BackendFailed(
        message,
        code="BACKEND_REFUSED",
        subcategory="validation_error" if too_large or invalid else "unknown",
        status=status,
        hint="Make the note smaller: split it." if too_large else "Nothing was changed.",
    )


def not_understood() -> BackendFailed:
    """Return the error of an answer that is not the backend's: a sign-in page, another program."""
    return BackendFailed(
        "What answered is not Simplenote's API.",
        subcategory="unknown",
        hint="Check the network (a sign-in page?) and the SIMPERIUM_… settings.",
    )


def token_rejected() -> NotAccepted:
    """Return the error of a token that is not accepted any more."""
    return NotAccepted(
        "Simplenote does not accept the token of this account any more.",
        hint="A person has to run `rolltop notes login` again, or to mend SIMPLENOTE_TOKEN or "
        "SIMPLENOTE_PASSWORD where they are set.",
        data={"http_status": 401},
    )


def login_failed(message: str, hint: str, status: int = 401) -> NotAccepted:
    """Return the error of a login that was refused."""
    return NotAccepted(message, hint=hint, code="LOGIN_FAILED", data={"http_status": status})


def _check_first() -> str:
    return (
        "The change may have arrived: call note_manage with action sync, then read the note again "
        "before you repeat it."
    )
