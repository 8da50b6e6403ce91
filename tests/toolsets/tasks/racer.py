"""A program that writes tasks beside others of its kind and prints what was acknowledged.

    python -m tests.toolsets.tasks.racer URL USER append COUNT
    python -m tests.toolsets.tasks.racer URL USER claim|delete|complete TASK…

It says "ready", waits for a line on its standard input, and then prints each id that succeeded.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from rolltop.core.db import Database
from rolltop.core.errors import Conflict, NotFound
from rolltop.core.principal import Principal
from rolltop.toolsets.tasks.models import Task, TaskInput
from rolltop.toolsets.tasks.service import TaskService
from tests.forks import LOCK_PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rolltop.core.db import Tx

TASKS = TaskService()
_LEASE: Final = 900
WRITES: dict[str, Callable[[Tx, str], object]] = {
    "append": lambda tx, text: TASKS.add_task(tx, TaskInput(title=text)),
    "claim": lambda tx, task: TASKS.claim_task(tx, task, _LEASE),
    "delete": TASKS.delete_task,
    "complete": TASKS.complete_task,
}


def main(url: str, user: str, verb: str, rest: Sequence[str]) -> None:
    """Do the writes and print the acknowledged ones."""
    database = Database(url, lock_timeout=LOCK_PATIENCE)
    database.open()
    scope = Principal.for_user(user)
    names = [f"task {n}" for n in range(int(rest[0]))] if verb == "append" else rest
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for name in names:
        try:
            done = database.write_sync(scope, WRITES[verb], name)
        except (Conflict, NotFound):
            continue
        sys.stdout.write(f"{done.id if isinstance(done, Task) else name}\n")
        sys.stdout.flush()
    database.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
