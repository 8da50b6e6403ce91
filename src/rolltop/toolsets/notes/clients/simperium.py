"""Simplenote's notes at Simperium: the endpoints and codes that its own clients use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote, urlencode

from rolltop.core.errors import RolltopError
from rolltop.core.settings import Settings
from rolltop.toolsets.notes.clients import backend, note_object
from rolltop.toolsets.notes.clients.backend import (
    BackendError,
    CredentialsRejected,
    Data,
    IndexPage,
    Outcome,
    RemoteNote,
    WriteResult,
)

if TYPE_CHECKING:
    from rolltop.toolsets.notes.clients.http_client import HttpClient, HttpResponse

_BUCKET: Final = "note"
_OUTCOMES: Final[dict[int, Outcome]] = {
    404: "gone",
    405: "stale",
    409: "duplicate",
    412: "unchanged",
    440: "stale",
}
# What a refused login answers, with the message and the hint for it.
_LOGIN_ERRORS: Final = {
    "invalid login": (
        "Simplenote does not accept this e-mail and password.",
        "Check both, or use `rolltop notes login`, which needs no password.",
    ),
    "compromised password": (
        "Simplenote has found this password in a list of stolen ones.",
        "Change it at Simplenote, or use `rolltop notes login`, which needs no password.",
    ),
    "verification required": (
        "Simplenote wants the e-mail address of this account confirmed first.",
        "Follow the link in Simplenote's mail, then try again.",
    ),
    "too many requests": (
        "There were too many attempts to log in.",
        "Wait some minutes, then try again.",
    ),
}
_OK: Final = 200
_CODE_DIGITS: Final = 10
_UNAUTHORIZED: Final = 401
_NOT_FOUND: Final = 404


@dataclass(frozen=True)
class SimplenoteEndpoints:
    """The addresses of Simplenote, without a slash at their end."""

    auth_url: str
    api_url: str
    account_url: str
    app_id: str
    api_key: str
    request_source: str = "electron"

    @classmethod
    def from_settings(cls, settings: Settings) -> SimplenoteEndpoints:
        """Read the endpoints from the settings."""
        return cls(
            auth_url=settings["notes.simperium.auth_url"].rstrip("/"),
            api_url=settings["notes.simperium.api_url"].rstrip("/"),
            account_url=settings["notes.simplenote.account_url"].rstrip("/"),
            app_id=settings["notes.simperium.app_id"],
            api_key=settings["notes.simperium.api_key"],
            request_source=settings["notes.simplenote.request_source"],
        )


@dataclass(frozen=True)
class Credentials:
    """A token, or e-mail and password to get one."""

    username: str
    token: str = ""
    password: str = ""


class SimplenoteBackend:
    """One account's notes at Simplenote; see `backend.Backend`."""

    def __init__(
        self,
        endpoints: SimplenoteEndpoints,
        credentials: Credentials,
        client: HttpClient,
        client_id: str,
        on_token: Callable[[str], None] | None = None,
    ) -> None:
        """Send nothing yet. `client_id` names this installation.

        `on_token(token)` is called with each token that the password got.
        """
        self._endpoints: Final = endpoints
        self._credentials: Final = credentials
        self._client: Final = client
        self._client_id: Final = client_id
        self._on_token: Final = on_token
        self._token = credentials.token

    async def authenticate(self) -> None:
        """Get a token where there is only a password."""
        if self._token:
            if not _is_token(self._token):
                raise backend.invalid_token()
            return
        if not self._credentials.password:
            raise CredentialsRejected(
                "There is no token for this Simplenote account here.",
                code="LOGIN_REQUIRED",
                hint="A person has to run `rolltop notes login`.",
            )
        self._token = await authorize(self._endpoints, self._credentials, self._client)
        if self._on_token is not None:
            self._on_token(self._token)

    async def index(
        self, *, limit: int, mark: str | None, since: str | None, data: bool
    ) -> IndexPage | None:
        """Fetch a page of the list; None if the cursor is not known."""
        query = {"limit": str(limit), "mark": mark, "since": since, "data": "1" if data else None}
        answer = await self._send("GET", "index", query)
        if answer.status == _NOT_FOUND and (since is not None or mark is not None):
            return None
        return await answer.read(lambda page: _parse_page(page, data=data))

    async def get(self, note_id: str, version: int | None = None) -> RemoteNote | None:
        """Fetch a note, now or at a version; None if it is not there."""
        answer = await self._send("GET", _item_path(note_id, version))
        if answer.status == _NOT_FOUND:
            return None
        return await answer.read(lambda item: _parse_note(note_id, item))

    async def put(self, note_id: str, data: Data, base: int | None, change_id: str) -> WriteResult:
        """Write the whole note, made from version `base` (None: new)."""
        query = {"response": "1", "ccid": change_id, "clientid": self._client_id}
        answer = await self._send("POST", _item_path(note_id, base), query, dict(data))
        if answer.status in _OUTCOMES:
            return WriteResult(_OUTCOMES[answer.status])
        return WriteResult("stored", await answer.read(lambda item: _parse_written(note_id, item)))

    async def delete(self, note_id: str, base: int | None, change_id: str) -> WriteResult:
        """Delete the note for good."""
        query = {"ccid": change_id, "clientid": self._client_id}
        answer = await self._send("DELETE", _item_path(note_id, base), query)
        if answer.status in _OUTCOMES:
            return WriteResult(_OUTCOMES[answer.status])
        _require_success(answer)
        return WriteResult("stored")

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | None] | None = None,
        body: object = None,
    ) -> HttpResponse:
        """Send a request; with a password, a token that is refused is replaced once."""
        given = {name: text for name, text in (query or {}).items() if text is not None}
        url = f"{self._endpoints.api_url}/{self._endpoints.app_id}/{_BUCKET}/{path}"
        url += f"?{urlencode(given)}" if given else ""
        for _attempt in range(2):
            await self.authenticate()
            headers = {"X-Simperium-Token": self._token}
            answer = await self._client.send(
                method, url, headers=headers, body=body, writes=method != "GET"
            )
            if answer.status != _UNAUTHORIZED:
                return answer
            if not self._credentials.password:
                break
            self._token = ""
        raise backend.invalid_token()


async def authorize(
    endpoints: SimplenoteEndpoints, credentials: Credentials, client: HttpClient
) -> str:
    """Get a token for e-mail and password.

    Raises:
        CredentialsRejected: they are refused, each reason with its own message.
        BackendError: no valid answer came back.

    """
    answer = await client.send(
        "POST",
        f"{endpoints.auth_url}/{quote(endpoints.app_id, safe='')}/authorize/",
        headers={"X-Simperium-API-Key": endpoints.api_key},
        body={"username": credentials.username, "password": credentials.password},
    )
    if answer.status == _OK:
        return _required_token(_parse_object(answer), "access_token")
    said = answer.body[:200].decode("utf-8", "replace").strip().lower()
    raise _login_error(said, answer.status)


async def request_code(endpoints: SimplenoteEndpoints, username: str, client: HttpClient) -> None:
    """Let Simplenote mail a code. Raises CredentialsRejected and BackendError."""
    body = {"username": username, "request_source": endpoints.request_source}
    answer = await client.send(
        "POST", f"{endpoints.account_url}/request-login", headers={}, body=body
    )
    if answer.status != _OK:
        raise backend.login_error(
            "Simplenote does not mail a code to this address.",
            "Check the e-mail address.",
        )


async def exchange_code(
    endpoints: SimplenoteEndpoints, username: str, code: str, client: HttpClient
) -> str:
    """Get a token for a mailed code. Raises CredentialsRejected and BackendError."""
    answer = await client.send(
        "POST",
        f"{endpoints.account_url}/complete-login",
        headers={},
        body={"username": username, "auth_code": code.strip().upper()},
    )
    if answer.status != _OK:
        raise backend.login_error(
            "Simplenote does not accept this code.",
            "Codes hold for a short time: run `rolltop notes login` for another.",
        )
    return _required_token(_parse_object(answer), "sync_token")


def _login_error(body: str, status: int) -> RolltopError:
    if status < 400:  # noqa: PLR2004  # a redirect: a sign-in page of the network
        return backend.unexpected_response()
    for reason, (message, hint) in _LOGIN_ERRORS.items():
        if reason in body:
            return backend.login_error(message, hint)
    message = f"Simplenote refused the login (HTTP {status})."
    return backend.login_error(message, "Use `rolltop notes login`.")


def _item_path(note_id: str, version: int | None) -> str:
    # A dot is not escaped by quote(), and a path of dots would be resolved on the way.
    name = quote(note_id, safe="").replace(".", "%2E")
    return f"i/{name}" if version is None else f"i/{name}/v/{version}"


def _require_success(answer: HttpResponse) -> HttpResponse:
    if answer.status == _OK:
        return answer
    if answer.status < 400 or answer.status == _NOT_FOUND:  # noqa: PLR2004  # a redirect, or no such place
        raise backend.unexpected_response()
    raise backend.status_error(answer.status)


def _parse_object(answer: HttpResponse) -> dict[str, Any]:
    value = answer.json()
    if not isinstance(value, dict):
        raise backend.unexpected_response()
    return cast("dict[str, Any]", value)


def _required_text(value: Mapping[str, Any], key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not text:
        raise backend.unexpected_response()
    return text


def _required_token(value: Mapping[str, Any], key: str) -> str:
    token = _required_text(value, key)
    if not _is_token(token):
        raise backend.unexpected_response()
    return token


def _is_token(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _parse_note(note_id: str, answer: HttpResponse) -> RemoteNote:
    data = _storable_object(_parse_object(_require_success(answer)))
    text = answer.headers.get("X-Simperium-Version", "")
    version = int(text) if text.isascii() and text.isdigit() and len(text) <= _CODE_DIGITS else -1
    if data is None or not note_object.is_version(version):
        raise backend.unexpected_response()
    return RemoteNote(note_id, version, data)


def _parse_written(note_id: str, answer: HttpResponse) -> RemoteNote:
    """Parse what answers a write: half an object does not say that nothing was written."""
    try:
        return _parse_note(note_id, answer)
    except BackendError:
        if answer.status >= 300:  # noqa: PLR2004  # HTTP's own number
            raise
        raise backend.unexpected_response(may_have_arrived=True) from None


def _parse_page(answer: HttpResponse, *, data: bool) -> IndexPage:
    value = _parse_object(_require_success(answer))
    listed, mark = value.get("index"), value.get("mark")
    if not isinstance(listed, list) or not isinstance(mark, str | None):
        raise backend.unexpected_response()
    parsed = [_parse_index_item(item, data=data) for item in cast("list[Any]", listed)]
    current = note_object.sanitize_json(_required_text(value, "current"))
    mark = None if mark is None else note_object.sanitize_json(mark)
    notes = tuple(one for one in parsed if isinstance(one, RemoteNote))
    return IndexPage(notes, current, mark, tuple(one for one in parsed if isinstance(one, str)))


def _parse_index_item(item: object, *, data: bool) -> RemoteNote | str:
    """Parse a note of the list; of one of a form this program doesn't know its id, or ""."""
    given = cast("dict[str, Any]", item if isinstance(item, dict) else {})
    note_id, version = given.get("id"), given.get("v")
    if not note_object.is_id(note_id):
        return ""
    read = _storable_object(given.get("d")) if data else None
    if not note_object.is_version(version) or (data and read is None):
        return note_id
    return RemoteNote(note_id, version, read)


def _storable_object(data: object) -> dict[str, Any] | None:
    """Make a note's object storable; None for one of an unknown form."""
    try:
        kept = note_object.sanitize_json(data)
    except ValueError:
        return None
    return kept if note_object.is_note(kept) else None
