"""Calls that may be sent twice: what a call with an idempotency key wrote, it writes once.

The key, a hash of the arguments and the answer are kept in the transaction that makes the change. A
second call with the key, at the same time or after the process was killed, finds the answer there.
"""

from __future__ import annotations

import hashlib
import json
import uuid
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy import (
    Column,
    ColumnElement,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    and_,
    delete,
    select,
    tuple_,
    update,
)

from rolltop.core.arguments import MAX_KEY_LENGTH, require_storable, value_preview
from rolltop.core.db import Tx
from rolltop.core.db.schema import metadata, user_column
from rolltop.core.db.types import CodePointString, UTCDateTime
from rolltop.core.db.upsert import insert
from rolltop.core.errors import Conflict
from rolltop.core.expiry import MAX_PURGED_ROWS
from rolltop.core.pagination import compact_json
from rolltop.core.principal import MAX_LABEL_LENGTH
from rolltop.core.tools import JsonObject, ToolFunction

if TYPE_CHECKING:
    from rolltop.core.context import CallContext

T = TypeVar("T")

RETENTION: Final = timedelta(days=7)
_ID_NAMESPACE: Final = uuid.UUID("0d6a7c1e-5d0b-4a53-9a57-2f6a3a1c8b90")

answers: Final = Table(
    "idempotency_keys",
    metadata,
    user_column(),
    Column("tool", String(MAX_LABEL_LENGTH)),
    Column("key", CodePointString(MAX_KEY_LENGTH)),
    Column("arguments", CodePointString(64), nullable=False),  # their sha256
    Column("used_at", UTCDateTime, nullable=False, index=True),
    Column("answer", LargeBinary, nullable=False),  # JSON by zlib; empty until there is one
    PrimaryKeyConstraint("user_id", "tool", "key"),
)
_a: Final = answers.c


class AnsweredBefore(Exception):
    """Another call with the key has written already; `answer` is what it answered."""

    def __init__(self, answer: JsonObject) -> None:
        super().__init__()
        self.answer = answer


@dataclass(frozen=True)
class IdempotencyKey:
    """The key of a call of a tool, and the sha256 of the arguments that it came with."""

    tool: str
    key: str
    arguments: str

    @classmethod
    def of_call(
        cls, tool: str, key: str, arguments: Mapping[str, Any], member: str = ""
    ) -> IdempotencyKey:
        """Return the key of a call with checked arguments. Raises InvalidText.

        Each member of a shared workspace has keys of one's own.
        """
        require_storable(key, "idempotency_key")
        if member:
            key = hashlib.sha256(f"{member} {key}".encode()).hexdigest()
        canonical = json.dumps(arguments, sort_keys=True)
        return cls(tool, key, hashlib.sha256(canonical.encode()).hexdigest())

    def derive_id(self, user_id: str) -> str:
        """Return the id of what a user's call makes at a place that no transaction covers."""
        named = json.dumps([user_id, self.tool, self.key, self.arguments])
        return str(uuid.uuid5(_ID_NAMESPACE, named))

    @property
    def attempt(self) -> IdempotencyKey:
        """The key under which is kept what such a call has begun."""
        named = hashlib.sha256(f"{self.arguments} {self.key}".encode()).hexdigest()
        return IdempotencyKey(f"{self.tool} begun", named, self.arguments)

    def row_of(self, tx: Tx) -> ColumnElement[bool]:
        """The condition of the caller's row."""
        mine = (_a.user_id == tx.scope.user_id, _a.tool == self.tool, _a.key == self.key)
        return and_(*mine)


async def answer_once(
    call: CallContext, key: IdempotencyKey, function: ToolFunction, arguments: Mapping[str, Any]
) -> object:
    """Return what a tool answers, or what it answered to the first call with the key.

    Raises Conflict where that call had other arguments.
    """
    found = await call.read(_find_answer, key)
    if found is not None:
        return found
    try:
        return await function(call, **arguments)
    except AnsweredBefore as first:
        return first.answer


def run_once(
    tx: Tx,
    key: IdempotencyKey,
    function: Callable[[Tx], T],
    answer: Callable[[T], JsonObject | None],
) -> T:
    """Return the function's result, and keep what is answered of it with the key.

    Nothing is kept where `answer` returns None: then nothing was written. Raises AnsweredBefore and
    Conflict where the key was used; a transaction that holds it is waited for.
    """
    _claim(tx, key)
    result = function(tx)
    given = answer(result)
    if given is None:
        tx.execute(delete(answers).where(key.row_of(tx)))
    else:
        tx.execute(update(answers).where(key.row_of(tx)).values(answer=_pack(given)))
    return result


def keep_attempt(tx: Tx, key: IdempotencyKey, attempt: JsonObject) -> None:
    """Keep what a call is about to do at a place that no transaction covers, for the next try."""
    row = {"arguments": key.arguments, "used_at": tx.now, "answer": _pack(attempt)}
    begun = key.attempt
    mine = {"user_id": tx.scope.user_id, "tool": begun.tool, "key": begun.key}
    kept = insert(tx.kind, answers).values(**mine, **row)
    tx.execute(kept.on_conflict_do_update(index_elements=list(mine), set_=row))


def find_attempt(tx: Tx, key: IdempotencyKey) -> JsonObject | None:
    """Find the attempt of an earlier call with the key and the arguments."""
    return _find_answer(tx, key.attempt)


def forget_attempt(tx: Tx, key: IdempotencyKey) -> None:
    """Keep no more what calls with the key were about to do."""
    tx.execute(delete(answers).where(key.attempt.row_of(tx)))


def _claim(tx: Tx, key: IdempotencyKey) -> None:
    row = {"arguments": key.arguments, "used_at": tx.now, "answer": b""}
    given = insert(tx.kind, answers).values(
        user_id=tx.scope.user_id, tool=key.tool, key=key.key, **row
    )
    claim = given.on_conflict_do_update(
        index_elements=["user_id", "tool", "key"],
        set_=row,
        where=_a.used_at <= _expiry(tx),
    )
    if tx.execute(claim.returning(_a.key)).first() is None:
        raise AnsweredBefore(_find_answer(tx, key) or {})


def _find_answer(tx: Tx, key: IdempotencyKey) -> JsonObject | None:
    kept = select(_a.arguments, _a.answer).where(key.row_of(tx), _a.used_at > _expiry(tx))
    row = tx.execute(kept).first()
    if row is None:
        return None
    if row.arguments != key.arguments:
        raise Conflict(
            f"idempotency_key {value_preview(key.key)} was used for {key.tool} with other "
            "arguments",
            hint="Nothing was written. Send the first call's arguments to get its answer again, "
            "or another key.",
        )
    return json.loads(zlib.decompress(row.answer))


def _pack(data: JsonObject) -> bytes:
    return zlib.compress(compact_json(data).encode())


def _expiry(tx: Tx) -> datetime:
    return tx.now - RETENTION


def purge_answers(tx: Tx) -> int:
    """Delete some of the keys of all users that are no longer kept; return how many."""
    key = tuple_(_a.user_id, _a.tool, _a.key)
    expired = select(_a.user_id, _a.tool, _a.key).where(_a.used_at <= _expiry(tx))
    some = expired.limit(MAX_PURGED_ROWS).with_for_update(skip_locked=True)
    return tx.execute(delete(answers).where(key.in_(some))).rowcount
