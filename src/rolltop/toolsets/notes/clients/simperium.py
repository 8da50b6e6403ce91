"""Simplenote's notes, kept by Simperium: the endpoints and codes its own clients use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote, urlencode

from rolltop.toolsets.notes.clients import failures, objects
from rolltop.toolsets.notes.clients.backend import IndexPage, RemoteNote, Written

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rolltop.core.settings import Settings
    from rolltop.toolsets.notes.clients.backend import Data, Outcome
    from rolltop.toolsets.notes.clients.http import Answer, Exchange

_BUCKET: Final = "note"
_OUTCOMES: Final[dict[int, Outcome]] = {
    404: "gone",
    405: "stale",
    409: "duplicate",
    412: "unchanged",
    440: "stale",
}
_OK: Final = 200
_DIGITS: Final = 10
_UNAUTHORIZED: Final = 401
_NOT_FOUND: Final = 404


@dataclass(frozen=True)
class Places:
    """Where Simplenote is; every address without a slash at its end."""

    auth_url: str
    api_url: str
    account_url: str
    app_id: str
    api_key: str
    request_source: str = "electron"

    @classmethod
    def of(cls, settings: Settings) -> Places:
        """Return the places the settings name."""
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
    """What proves whose notes are asked for: a token, or e-mail and password to get one."""

    username: str
    token: str = ""
    password: str = ""


class Simplenote:
    """One account's notes at Simplenote; see `backend.Backend`."""

    def __init__(
        self,
        places: Places,
        credentials: Credentials,
        exchange: Exchange,
        client_id: str,
        keep: Callable[[str], None] | None = None,
    ) -> None:
        """Take the account; ask nothing yet. `client_id` names this installation.

        `keep(token)` hears of each token that the password got.
        """
        self._places: Final = places
        self._credentials: Final = credentials
        self._exchange: Final = exchange
        self._client_id: Final = client_id
        self._keep: Final = keep
        self._token = credentials.token

    async def authenticate(self) -> None:
        """Get a token where there is only a password."""
        if self._token:
            if not _is_token(self._token):
                raise failures.token_rejected()
            return
        if not self._credentials.password:
            raise failures.NotAccepted(
                "There is no token for this Simplenote account here.",
                code="LOGIN_REQUIRED",
                hint="A person has to run `rolltop notes login`.",
                data={"http_status": _UNAUTHORIZED},
            )
        self._token = await authorize(self._places, self._credentials, self._exchange)
        if self._keep is not None:
            self._keep(self._token)

    async def index(
        self, *, limit: int, mark: str | None, since: str | None, data: bool
    ) -> IndexPage | None:
        """Return a page of the list; None where the cursor is not known."""
        asked = {"limit": str(limit), "mark": mark, "since": since, "data": "1" if data else None}
        answer = await self._send("GET", "index", asked)
        if answer.status == _NOT_FOUND and (since is not None or mark is not None):
            return None
        return _page(_object(_accepted(answer)), data=data)

    async def get(self, note_id: str, version: int | None = None) -> RemoteNote | None:
        """Return a note, now or at a version; None if it is not there."""
        answer = await self._send("GET", _item(note_id, version))
        return None if answer.status == _NOT_FOUND else _note(note_id, _accepted(answer))

    async def put(self, note_id: str, data: Data, base: int | None, change_id: str) -> Written:
        """Write the whole note, made from version `base` (None: new)."""
        asked = {"response": "1", "ccid": change_id, "clientid": self._client_id}
        answer = await self._send("POST", _item(note_id, base), asked, dict(data))
        if answer.status in _OUTCOMES:
            return Written(_OUTCOMES[answer.status])
        return Written("stored", _note(note_id, _accepted(answer)))

    async def delete(self, note_id: str, base: int | None, change_id: str) -> Written:
        """Delete the note for good."""
        asked = {"ccid": change_id, "clientid": self._client_id}
        answer = await self._send("DELETE", _item(note_id, base), asked)
        if answer.status in _OUTCOMES:
            return Written(_OUTCOMES[answer.status])
        _accepted(answer)
        return Written("stored")

    async def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | None] | None = None,
        body: object = None,
    ) -> Answer:
        """Return the answer; with a password, a token that is refused is replaced once."""
        given = {name: text for name, text in (query or {}).items() if text is not None}
        url = f"{self._places.api_url}/{self._places.app_id}/{_BUCKET}/{path}"
        url += f"?{urlencode(given)}" if given else ""
        for _attempt in range(2):
            await self.authenticate()
            headers = {"X-Simperium-Token": self._token}
            answer = await self._exchange.send(
                method, url, headers=headers, body=body, writes=method != "GET"
            )
            if answer.status != _UNAUTHORIZED:
                return answer
            if not self._credentials.password:
                break
            self._token = ""
        raise failures.token_rejected()


async def authorize(places: Places, credentials: Credentials, exchange: Exchange) -> str:
    """Return a token for e-mail and password.

    Raises:
        NotAccepted: they are refused, each reason with its own message.
        BackendFailed: nothing that can be understood came back.

    """
    answer = await exchange.send(
        "POST",
        f"{places.auth_url}/{quote(places.app_id, safe='')}/authorize/",
        headers={"X-Simperium-API-Key": places.api_key},
        body={"username": credentials.username, "password": credentials.password},
    )
    if answer.status == _OK:
        return _token(_object(answer), "access_token")
    said = answer.body[:200].decode("utf-8", "replace").strip().lower()
    raise _login_refused(said, answer.status)


async def request_code(places: Places, username: str, exchange: Exchange) -> None:
    """Let Simplenote mail a code. Raises NotAccepted and BackendFailed."""
    body = {"username": username, "request_source": places.request_source}
    answer = await exchange.send(
        "POST", f"{places.account_url}/request-login", headers={}, body=body
    )
    if answer.status != _OK:
        raise failures.login_failed(
            "Simplenote does not mail a code to this address.",
            "Check the e-mail address.",
            answer.status,
        )


async def exchange_code(places: Places, username: str, code: str, exchange: Exchange) -> str:
    """Return a token for a mailed code. Raises NotAccepted and BackendFailed."""
    answer = await exchange.send(
        "POST",
        f"{places.account_url}/complete-login",
        headers={},
        body={"username": username, "auth_code": code.strip().upper()},
    )
    if answer.status != _OK:
        raise failures.login_failed(
            "Simplenote does not accept this code.",
            "Codes hold for a short time: run `rolltop notes login` for another.",
            answer.status,
        )
    return _token(_object(answer), "sync_token")


def _login_refused(said: str, status: int) -> failures.NotAccepted:
    reasons = {
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
    for reason, (message, hint) in reasons.items():
        if reason in said:
            return failures.login_failed(message, hint, status)
    return failures.login_failed(
        f"Simplenote refused the login (HTTP {status}).", "Use `rolltop notes login`.", status
    )


def _item(note_id: str, version: int | None) -> str:
    # A dot is not escaped by quote(), and a path of dots would be resolved on the way.
    name = quote(note_id, safe="").replace(".", "%2E")
    return f"i/{name}" if version is None else f"i/{name}/v/{version}"


def _accepted(answer: Answer) -> Answer:
    if answer.status == _OK:
        return answer
    if answer.status < 400 or answer.status == _NOT_FOUND:  # noqa: PLR2004  # a redirect, or no such place
        raise failures.not_understood()
    raise failures.refused(answer.status)


def _object(answer: Answer) -> dict[str, Any]:
    """Return the JSON object of an answer as it came. Raises BackendFailed for anything else."""
    value = answer.json()
    if not isinstance(value, dict):
        raise failures.not_understood()
    return cast("dict[str, Any]", value)


def _text(value: Mapping[str, Any], key: str) -> str:
    text = value.get(key)
    if not isinstance(text, str) or not text:
        raise failures.not_understood()
    return text


def _token(value: Mapping[str, Any], key: str) -> str:
    token = _text(value, key)
    if not _is_token(token):
        raise failures.not_understood()
    return token


def _is_token(text: str) -> bool:
    """Whether a text can be sent in a header."""
    return text.isascii() and text.isprintable()


def _note(note_id: str, answer: Answer) -> RemoteNote:
    data = _readable(_object(answer))
    text = answer.headers.get("X-Simperium-Version", "")
    version = int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else -1
    if data is None or not objects.is_version(version):
        raise failures.not_understood()
    return RemoteNote(note_id, version, data)


def _page(value: Mapping[str, Any], *, data: bool) -> IndexPage:
    listed, mark = value.get("index"), value.get("mark")
    if not isinstance(listed, list) or not isinstance(mark, str | None):
        raise failures.not_understood()
    items = cast("list[Any]", listed)
    read = tuple(note for item in items if (note := _listed(item, data=data)) is not None)
    current = objects.storable(_text(value, "current"))
    mark = None if mark is None else objects.storable(mark)
    return IndexPage(read, current, mark, len(items) - len(read))


def _listed(item: object, *, data: bool) -> RemoteNote | None:
    """Return a note of the list, or None for one of a form this program doesn't know."""
    if not isinstance(item, dict):
        return None
    given = cast("dict[str, Any]", item)
    note_id, version = given.get("id"), given.get("v")
    read = _readable(given.get("d")) if data else None
    if not objects.is_id(note_id) or not objects.is_version(version) or (data and read is None):
        return None
    return RemoteNote(cast("str", note_id), cast("int", version), read)


def _readable(data: object) -> dict[str, Any] | None:
    """Return a note's object as it can be kept; None for one of an unknown form."""
    try:
        kept = objects.storable(data)
    except ValueError:
        return None
    return kept if objects.is_note(kept) else None
