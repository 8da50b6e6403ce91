"""A program that writes a pad's cells beside others of its kind and prints what was acknowledged.

    python -m tests.toolsets.scratch.racer URL USER NAME append PAD COUNT
    python -m tests.toolsets.scratch.racer URL USER NAME edit PAD CELL COUNT
    python -m tests.toolsets.scratch.racer URL USER NAME create COUNT

It says "ready", waits for a line on its standard input, and then prints each word that it wrote,
or the id of each pad it made.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rolltop.core.db import Database
from rolltop.core.principal import Principal
from tests.desks import call_tool, make_desk
from tests.forks import LOCK_PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Sent = tuple[str, str, dict[str, Any]]


def calls(name: str, verb: str, rest: Sequence[str]) -> Iterator[Sent]:
    """Yield what to print, the tool and its arguments, of each call."""
    for n in range(int(rest[-1])):
        word = f"{name}-{n}"
        if verb == "append":
            cell = {"language": "txt", "content": word}
            yield word, "scratch_append_cell", {"scratch_id": rest[0], "cell": cell}
        elif verb == "edit":
            edit = {"old": "end\n", "new": f"{word}\nend\n"}
            target = {"scratch_id": rest[0], "cell_id": rest[1]}
            yield word, "scratch_edit_cell", {**target, "edits": [edit]}
        else:
            yield "", "scratch_create", {"metadata": {"title": word}}


def main(url: str, user: str, name: str, verb: str, rest: Sequence[str]) -> None:
    """Do the writes and print the acknowledged ones."""
    database = Database(url, lock_timeout=LOCK_PATIENCE)
    database.open()
    desk = make_desk(database, settings={"scratch.max_scratchpads": 3})
    scope = Principal.for_user(user)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for word, tool, arguments in calls(name, verb, rest):
        answer = call_tool(desk, scope, tool, **arguments)
        if answer.is_error:
            raise SystemExit(answer.text)
        sys.stdout.write(f"{word or answer.structured['scratchpad']['scratch_id']}\n")
        sys.stdout.flush()
    database.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
