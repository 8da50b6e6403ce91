"""JSON-RPC envelopes: bytes of one message become the message, or the refusals they deserve."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

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

from rolltop.core.json_scanner import InvalidNumber, LimitExceeded, loads

MAX_INLINE_BYTES: Final = 1 << 15
"""Bytes of a message that may be parsed on the event loop."""
_MEMBER_ERRORS: Final = {
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
_MAX_SCANNED_BYTES: Final = 1 << 18
_MAX_ID_DIGITS: Final = 300
_ID_KEYS: Final = frozenset({'"id"', '"result"', '"error"'})


@dataclass(frozen=True)
class JsonRpcRefusal:
    """The answer to a message that is none: an error, with the id where one could be read."""

    id: RequestId | None
    code: int
    message: str

    def body(self) -> bytes:
        """Return the JSON-RPC error response as one line of ASCII, without a line end."""
        error = {"code": self.code, "message": self.message}
        return json.dumps({"jsonrpc": "2.0", "id": self.id, "error": error}).encode()


def parse_message(data: bytes) -> JSONRPCMessage | list[JsonRpcRefusal]:
    """Return the message, or the refusals to answer with: one, or one for each of a batch."""
    try:
        # A byte order mark, as some consoles send it, is no part of the message.
        return message_from_value(loads(data.decode("utf-8-sig")))
    except RecursionError:
        return [JsonRpcRefusal(_recover_id(data), PARSE_ERROR, "Parse error: nested too deeply")]
    except ValueError as failure:
        message = f"Parse error: {_describe_failure(failure)}"
        return [JsonRpcRefusal(_recover_id(data), PARSE_ERROR, message)]


def message_from_value(value: object) -> JSONRPCMessage | list[JsonRpcRefusal]:
    """Return the message that a JSON value is, or the refusals to answer with."""
    if isinstance(value, list):
        return _batch_refusals(cast("list[Any]", value))
    if not isinstance(value, dict):
        return [
            JsonRpcRefusal(None, INVALID_REQUEST, "Invalid request: a message is a JSON object")
        ]
    return _build_message(cast("dict[str, Any]", value))


def body_refusal(head: bytes, failure: ValueError) -> JsonRpcRefusal:
    """Return the refusal of a body that cannot be read; `head` is its beginning, for the id."""
    identifier = _find_id(head.decode("utf-8-sig", errors="replace"))
    return JsonRpcRefusal(identifier, PARSE_ERROR, f"Parse error: {_describe_failure(failure)}")


def rewrite_for_sdk(
    data: bytes, message: JSONRPCMessage, *, modern: bool
) -> tuple[bytes, dict[str, Any] | None]:
    """Return the message's bytes as the SDK reads them, and its params where they are not in there.

    Over HTTP the SDK's reader of the legacy era knows no byte order mark, no lone surrogate and
    little nesting, and answers without the id. What it can't be told otherwise is left as it is.
    The reader of the `modern` era only has less room to nest than ours, and holds headers against
    params: it gets those that headers repeat.
    """
    plain = data.removeprefix(BOM_UTF8)
    if _is_sdk_readable(plain) or not isinstance(message, JSONRPCRequest):
        return plain, None
    short = _minimal_request(message, modern=modern)
    # What is agreed on at first, the SDK takes from the bytes themselves.
    if message.method == "initialize" or not (modern or _is_sdk_readable(short)):
        return plain, None
    return short, message.params or {}


def strip_params(message: JSONRPCMessage, *, modern: bool) -> bytes | JsonRpcRefusal:
    """Return a large request as the SDK needs it: without its params, but for what it looks at.

    It parses bodies on the event loop, and the params are parsed already: see
    `error_middleware.PARAMS_KEY`.
    """
    identifier = getattr(message, "id", None)
    if not isinstance(message, JSONRPCRequest) or message.method == "initialize":
        return _too_large(identifier, "the body")
    if len(str(identifier)) > MAX_INLINE_BYTES or len(message.method) > MAX_INLINE_BYTES:
        return _too_large(None, "id and method")
    if not _is_small((message.params or {}).get("_meta")):
        return _too_large(identifier, "_meta")
    return _minimal_request(message, modern=modern)


def _too_large(identifier: RequestId | None, what: str) -> JsonRpcRefusal:
    text = f"Invalid request: {what} may have at most {MAX_INLINE_BYTES} bytes here"
    return JsonRpcRefusal(identifier, INVALID_REQUEST, text)


def _minimal_request(message: JSONRPCRequest, *, modern: bool) -> bytes:
    """Return a request with no more params than the SDK reads of itself in this era."""
    params = message.params or {}
    kept = {
        name: _outer_value(params[name]) for name in ("name", "uri") if modern and name in params
    }
    if "_meta" in params:
        kept["_meta"] = params["_meta"]
    bare = message.model_dump(by_alias=True, exclude={"params"})
    return json.dumps({**bare, "params": kept}).encode()


def _outer_value(value: object) -> object:
    """Return a JSON value as far as a header could repeat it."""
    if isinstance(value, dict | list):
        return {}
    return value[:MAX_INLINE_BYTES] if isinstance(value, str) else value


def _is_small(value: object) -> bool:
    """Whether the JSON of a value takes few bytes; looks at no more of it than that."""
    size = 0
    waiting = [value]
    while waiting and size <= MAX_INLINE_BYTES:
        value = waiting.pop()
        if isinstance(value, dict):
            members = cast("dict[str, object]", value)
            waiting += [*members, *members.values()]
        elif isinstance(value, list):
            waiting += cast("list[object]", value)
        size += len(value) if isinstance(value, str) else 1
    return size <= MAX_INLINE_BYTES


def _is_sdk_readable(data: bytes) -> bool:
    try:
        from_json(data)
    except ValueError:
        return False
    return True


def _build_message(value: dict[str, Any]) -> JSONRPCMessage | list[JsonRpcRefusal]:
    """Return the object as the message its members make it."""
    kind = _message_type(value)
    if kind is None:
        reason = "method is missing"
        return [JsonRpcRefusal(_request_id(value), INVALID_REQUEST, f"Invalid request: {reason}")]
    try:
        return cast("JSONRPCMessage", kind.model_validate(value, by_name=False))
    except ValidationError as failure:
        member = str(failure.errors(include_url=False, include_input=False)[0]["loc"][0])
        reason = _MEMBER_ERRORS.get(member, "the envelope is malformed")
        # A malformed response must not be taken for the answer to a request of the same id.
        answered = _request_id(value) if kind is JSONRPCRequest else None
        return [JsonRpcRefusal(answered, INVALID_REQUEST, f"Invalid request: {reason}")]


def _message_type(value: Mapping[str, Any]) -> type[BaseModel] | None:
    """Return the type the object claims to be. An id, even a bad one, asks for an answer."""
    if "method" in value:
        return JSONRPCRequest if "id" in value else JSONRPCNotification
    if "result" in value:
        return JSONRPCResponse
    return JSONRPCError if "error" in value else None


def _batch_refusals(entries: list[Any]) -> list[JsonRpcRefusal]:
    """Return one refusal for each entry that waits for an answer, or one for the whole."""
    message = "Invalid request: batches are not supported; send one message at a time"
    ids = [identifier for entry in entries if (identifier := _request_id(entry)) is not None]
    return [JsonRpcRefusal(identifier, INVALID_REQUEST, message) for identifier in ids or [None]]


def _request_id(value: object) -> RequestId | None:
    """Return the id of what may be a request, if it is one that can be sent back."""
    if not isinstance(value, dict) or "result" in value or "error" in value:
        return None
    identifier = cast("dict[str, Any]", value).get("id")
    if isinstance(identifier, bool) or not isinstance(identifier, int | str):
        return None
    return identifier


def _recover_id(data: bytes) -> RequestId | None:
    """Return the id of a request that cannot be read as a whole, where one stands in its place.

    Of one that is broken, only the beginning is looked at: nobody waits for the rest.
    """
    text = data.decode("utf-8-sig", errors="replace")
    try:
        return _request_id(json.loads(text, parse_int=_whole_number))
    except (ValueError, RecursionError):
        return _find_id(text[:_MAX_SCANNED_BYTES])


def _find_id(text: str) -> RequestId | None:
    members: dict[str, RequestId | None] = {}
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] in {"{", "["}:
            depth += 1
        elif token[0] in {"}", "]"}:
            depth -= 1
        elif depth == 1 and (name := token[0]) in _ID_KEYS:
            value = _VALUE.match(text, token.end())
            if value is not None:
                members[name] = _parse_scalar(value[1])
    is_answer = members.keys() & {'"result"', '"error"'}
    return None if is_answer else members.get('"id"')


def _whole_number(digits: str) -> int | None:
    return int(digits) if len(digits) <= _MAX_ID_DIGITS else None


def _parse_scalar(text: str | None) -> RequestId | None:
    """Return the text or whole number that JSON writes so."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:  # an escape that is none
        return None


def _describe_failure(failure: ValueError) -> str:
    if isinstance(failure, InvalidNumber | LimitExceeded):
        return str(failure)
    if isinstance(failure, UnicodeDecodeError):
        return f"byte {failure.start} is not UTF-8"
    if isinstance(failure, json.JSONDecodeError):
        return f"{failure.msg} at character {failure.pos}" if failure.doc else failure.msg
    return "a number is too long"
