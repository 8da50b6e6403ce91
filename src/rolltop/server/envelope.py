"""JSON-RPC envelopes: bytes of one message become the message, or the refusals they deserve."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

if TYPE_CHECKING:
    from collections.abc import Mapping

_WANTED: Final = {
    "jsonrpc": 'jsonrpc must be "2.0"',
    "id": "id must be a string or a whole number",
    "method": "method must be a string",
    "params": "params must be an object",
    "result": "result must be an object",
    "error": "error must be an object with code and message",
}

_STRING: Final = r'"[^"\\]*(?:\\.[^"\\]*)*'
_TOKEN: Final = re.compile(rf'{_STRING}(?:"|\\?\Z)|[{{}}\[\]]', re.DOTALL)
"""Of JSON that may be broken: a string, to the end where it is not closed, or a bracket."""
_VALUE: Final = re.compile(rf'\s*:\s*(?:({_STRING}"|-?\d{{1,300}}(?=\s*[,}}]))|)', re.DOTALL)
"""What follows a member's name: a string or a whole number, or the begin of something else."""
_LOOKED_AT: Final = 1 << 18
_DIGITS: Final = 300
_TELLING: Final = frozenset({'"id"', '"result"', '"error"'})


@dataclass(frozen=True)
class Refusal:
    """The answer to a message that is none: an error, with the id where one could be read."""

    id: RequestId | None
    code: int
    message: str

    def body(self) -> bytes:
        """Return the JSON-RPC error response as one line of ASCII, without a line end."""
        error = {"code": self.code, "message": self.message}
        return json.dumps({"jsonrpc": "2.0", "id": self.id, "error": error}).encode()


class _NotJson(ValueError):
    """A number JSON does not have: NaN or an infinity."""


def read(data: bytes) -> JSONRPCMessage | list[Refusal]:
    """Return the message, or the refusals to answer with: one, or one for each of a batch."""
    try:
        # A byte order mark, as some consoles send it, is no part of the message.
        value = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except RecursionError:
        return [Refusal(_readable_id(data), PARSE_ERROR, "Parse error: nested too deeply")]
    except ValueError as failure:
        message = f"Parse error: {_reason(failure)}"
        return [Refusal(_readable_id(data), PARSE_ERROR, message)]
    if isinstance(value, list):
        return _refused_batch(cast("list[Any]", value))
    if not isinstance(value, dict):
        return [Refusal(None, INVALID_REQUEST, "Invalid request: a message is a JSON object")]
    return _message(cast("dict[str, Any]", value))


def readable(
    data: bytes, message: JSONRPCMessage, *, modern: bool
) -> tuple[bytes, dict[str, Any] | None]:
    """Return the message's bytes as the SDK reads them, and its params where they are not in there.

    Over HTTP the SDK's reader of the legacy era knows no byte order mark, no lone surrogate and
    little nesting, and answers without the id. What it can't be told otherwise is left as it is.
    The reader of the `modern` era only has less room to nest than ours, and holds headers against
    params: it gets every one of them.
    """
    plain = data.removeprefix(BOM_UTF8)
    if _is_readable(plain) or not isinstance(message, JSONRPCRequest):
        return plain, None
    params = message.params or {}
    if modern:
        kept = {name: value if name == "_meta" else _outer(value) for name, value in params.items()}
    else:
        kept = {name: value for name, value in params.items() if name == "_meta"}
    bare = message.model_dump(by_alias=True, exclude={"params"})
    short = json.dumps({**bare, "params": kept}).encode()
    # What is agreed on at first, the SDK takes from the bytes themselves.
    if message.method == "initialize" or not (modern or _is_readable(short)):
        return plain, None
    return short, params


def _outer(value: object) -> object:
    """Return a JSON value without what an object or a list holds."""
    if isinstance(value, dict):
        return {}
    return [] if isinstance(value, list) else value


def _is_readable(data: bytes) -> bool:
    try:
        from_json(data)
    except ValueError:
        return False
    return True


def _message(value: dict[str, Any]) -> JSONRPCMessage | list[Refusal]:
    """Return the object as the message its members make it."""
    kind = _kind(value)
    if kind is None:
        reason = "method is missing"
        return [Refusal(_id_of(value), INVALID_REQUEST, f"Invalid request: {reason}")]
    try:
        return cast("JSONRPCMessage", kind.model_validate(value, by_name=False))
    except ValidationError as failure:
        member = str(failure.errors(include_url=False, include_input=False)[0]["loc"][0])
        reason = _WANTED.get(member, "the envelope is malformed")
        # A malformed response must not be taken for the answer to a request of the same id.
        answered = _id_of(value) if kind is JSONRPCRequest else None
        return [Refusal(answered, INVALID_REQUEST, f"Invalid request: {reason}")]


def _kind(value: Mapping[str, Any]) -> type[BaseModel] | None:
    """Return what the object claims to be. An id, even a bad one, asks for an answer."""
    if "method" in value:
        return JSONRPCRequest if "id" in value else JSONRPCNotification
    if "result" in value:
        return JSONRPCResponse
    return JSONRPCError if "error" in value else None


def _refused_batch(entries: list[Any]) -> list[Refusal]:
    """Return one refusal for each entry that waits for an answer, or one for the whole."""
    message = "Invalid request: batches are not supported; send one message at a time"
    ids = [identifier for entry in entries if (identifier := _id_of(entry)) is not None]
    return [Refusal(identifier, INVALID_REQUEST, message) for identifier in ids or [None]]


def _id_of(value: object) -> RequestId | None:
    """Return the id of what may be a request, if it is one that can be sent back."""
    if not isinstance(value, dict) or "result" in value or "error" in value:
        return None
    identifier = cast("dict[str, Any]", value).get("id")
    if isinstance(identifier, bool) or not isinstance(identifier, int | str):
        return None
    return identifier


def _readable_id(data: bytes) -> RequestId | None:
    """Return the id of a request that cannot be read as a whole, where one stands in its place.

    Of one that is broken, only the beginning is looked at: nobody waits for the rest.
    """
    text = data.decode("utf-8-sig", errors="replace")
    try:
        return _id_of(json.loads(text, parse_int=_whole_number))
    except (ValueError, RecursionError):
        return _early_id(text[:_LOOKED_AT])


def _early_id(text: str) -> RequestId | None:
    members: dict[str, RequestId | None] = {}
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in {"{", "["}:
            depth += 1
        elif token[0] in {"}", "]"}:
            depth -= 1
        elif depth == 1 and (name := token[0]) in _TELLING:
            value = _VALUE.match(text, token.end())
            if value is not None:
                members[name] = _scalar(value[1])
    is_answer = members.keys() & {'"result"', '"error"'}
    return None if is_answer else members.get('"id"')


def _whole_number(digits: str) -> int | None:
    return int(digits) if len(digits) <= _DIGITS else None


def _scalar(text: str | None) -> RequestId | None:
    """Return the text or whole number that JSON writes so."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:  # an escape that is none
        return None


def _refuse_constant(name: str) -> NoReturn:
    raise _NotJson(name)


def _reason(failure: ValueError) -> str:
    if isinstance(failure, _NotJson):
        return f"{failure} is not a JSON number"
    if isinstance(failure, UnicodeDecodeError):
        return f"byte {failure.start} is not UTF-8"
    if isinstance(failure, json.JSONDecodeError):
        return f"{failure.msg} at character {failure.pos}"
    return "a number is too long"
