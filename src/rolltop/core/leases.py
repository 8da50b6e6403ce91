"""Leases of background jobs: rows that let one process at a time run a job, whichever it is.

A lease holds until it is released or runs out, by the database's clock. Each acquisition gets a
higher fencing number, and every write of the job checks it in its own transaction: a process that
stood still while another took over writes nothing. No session keeps anything, so that each
transaction may have another connection.
"""

from __future__ import annotations

import functools
import os
import socket
import sys
import uuid
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, and_, delete, extract, func, select, update

from rolltop.core.db import Tx
from rolltop.core.db.schema import job_leases
from rolltop.core.db.upsert import insert
from rolltop.core.errors import RolltopError

# A job under way keeps others away for so many seconds after its last sign of life.
LEASE_SECONDS: Final = 120
_NOBODY: Final = str(uuid.UUID(int=0))  # whose the leases of jobs for all users are
_NOW: Final = extract("epoch", func.now())  # of both databases
_l: Final = job_leases.c


class LeaseLost(RolltopError):
    """Another process has taken the job over."""

    default_code = "LEASE_LOST"


@dataclass(frozen=True)
class JobLease:
    """A job that this process runs, as the `fence`-th holder of its lease."""

    name: str
    fence: int


@functools.cache
def process_holder() -> str:
    """Name this process as a holder of leases, unlike any other."""
    return f"{uuid.uuid4()} {os.getpid()} {socket.gethostname()}"


def acquire(tx: Tx, name: str, holder: str = "") -> JobLease | None:
    """Take the lease of the principal's job, or of a job for all users.

    None if another process holds it: `holder` names this one. A process takes over from itself,
    from one of this machine that has ended, and from a clock that ran ahead.
    """
    holder = holder or process_holder()
    # Twice as long: the other transaction may have begun later than this one.
    is_current = and_(_l.expires_at > _NOW, _l.expires_at <= _NOW + 2 * LEASE_SECONDS)
    columns = (_l.fence, _l.holder, is_current.label("is_current"))
    row = tx.execute(select(*columns).where(_row(tx, name))).first()
    if row is not None and row.is_current and row.holder != holder and not _has_exited(row.holder):
        return None
    seen = 0 if row is None else row.fence
    key = {"user_id": _owner(tx), "name": name}
    values = {"fence": seen + 1, "holder": holder, "expires_at": _NOW + LEASE_SECONDS}
    taken = insert(tx.kind, job_leases).values(**key, **values)
    taken = taken.on_conflict_do_update(
        index_elements=list(key), set_=values, where=_l.fence == seen
    )
    is_taken = tx.execute(taken.returning(_l.fence)).first() is not None
    return JobLease(name, seen + 1) if is_taken else None


def renew(tx: Tx, lease: JobLease) -> None:
    """Prolong the lease and keep it locked to the transaction's end. Raises LeaseLost."""
    if not _set_expiry(tx, lease, _NOW + LEASE_SECONDS):
        raise LeaseLost(f"Another process runs {lease.name} now.", hint="Nothing to do.")


def release(tx: Tx, lease: JobLease) -> bool:
    """Give the lease back; False if another process holds it by now."""
    return _set_expiry(tx, lease, 0)


def revoke(tx: Tx, name: str) -> None:
    """Take the lease from whoever has it, whose next write then fails."""
    tx.execute(update(job_leases).where(_row(tx, name)).values(fence=_l.fence + 1, expires_at=0))


def delete_leases(tx: Tx, user_id: str) -> None:
    """Delete the leases of a user's jobs, before the user is deleted."""
    tx.execute(delete(job_leases).where(_l.user_id == user_id))


def _set_expiry(tx: Tx, lease: JobLease, moment: ColumnElement[int] | int) -> bool:
    held = and_(_row(tx, lease.name), _l.fence == lease.fence)
    return tx.execute(update(job_leases).where(held).values(expires_at=moment)).rowcount > 0


def _row(tx: Tx, name: str) -> ColumnElement[bool]:
    return and_(_l.user_id == _owner(tx), _l.name == name)


def _owner(tx: Tx) -> str:
    return tx.scope.user_id or _NOBODY


def _has_exited(holder: str) -> bool:
    """Whether a holder was a process of this machine that has ended; False if nobody knows.

    If two machines share a name this may be wrong: then one takes over from the other.
    """
    _name, _, rest = holder.partition(" ")
    number, _, host = rest.partition(" ")
    if not number or host != socket.gethostname():
        return False
    if sys.platform == "win32":  # where os.kill(…, 0) kills
        return False
    if int(number) == os.getpid():  # another had our number before us, as in a container
        return holder != process_holder()
    try:
        os.kill(int(number), 0)
    except OSError as failure:
        return isinstance(failure, ProcessLookupError)
    return False
