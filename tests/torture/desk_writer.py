"""An agent that writes to the desk, and takes some of it back, until it is killed.

Started with the store's URL and a name of its own. It prints what was acknowledged: the address of
what it made, or `undone` and the id of the operation that took something back.
"""

from __future__ import annotations

import random
import sys
from functools import partial
from typing import TYPE_CHECKING

from rolltop.core import accounts
from rolltop.core.db import SYSTEM, Database
from rolltop.core.principal import Principal
from tests.desks import answer_of, make_desk
from tests.forks import LOCK_PATIENCE
from tests.torture.writer import say

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TEXT = "A line that is longer than what the journal keeps beside an entry.\n" * 5


def write_for_ever(url: str, name: str) -> None:
    """Make tasks, notes and pads and undo one in five of them; print each once it is on disk."""
    database = Database(url, lock_timeout=LOCK_PATIENCE)
    say("opening")
    database.open()
    owner = database.write_sync(SYSTEM, accounts.ensure_default_user).id
    desk, me = make_desk(database), Principal.for_user(owner, actor=name)
    chance, made = random.Random(name), 0  # noqa: S311  # no secret

    call = partial(answer_of, desk, me)

    def make() -> str:
        title = f"{name} {made}"
        kind = chance.choice(["task", "note", "pad"])
        if kind == "task":
            return call("add_task", title=title, description=TEXT, tags=["a"])["data"]["uri"]
        if kind == "note":
            return call("note_save", text=f"{title}\n{TEXT}")["uri"]
        cells = [{"language": "md", "content": TEXT + title}]
        return call("scratch_create", cells=cells)["scratchpad"]["uri"]

    def undo() -> str:
        last = call("desk_history", actor=name)["changes"][0]["operation"]
        return f"undone {call('desk_undo', operation=last)['operation']}"

    steps: Mapping[bool, Callable[[], str]] = {True: undo, False: make}
    while True:
        say(steps[made > 0 and chance.random() < 0.2]())
        made += 1


if __name__ == "__main__":
    write_for_ever(*sys.argv[1:])
