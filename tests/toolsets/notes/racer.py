"""A program that saves one note beside others of its kind and prints what was acknowledged.

    python -m tests.toolsets.notes.racer URL USER NAME patch|whole NOTE COUNT

It says "ready", waits for a line on its standard input, and then adds words to the note: by
patches of a version that is out of date, or by the whole text, read anew after each conflict.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rolltop.core.db import Database
from rolltop.core.principal import Principal
from tests.desks import call_tool, make_desk
from tests.forks import LOCK_PATIENCE

if TYPE_CHECKING:
    from rolltop.core.context import AppContext

ATTEMPTS = 500


def save(desk: AppContext, scope: Principal, note: str, verb: str, word: str) -> bool:
    """Add a word to the note; whether that was acknowledged."""
    for _ in range(ATTEMPTS):
        shown = call_tool(desk, scope, "note_get", id=note).structured
        version: dict[str, Any] = {"id": note, "local_version": shown["local_version"]}
        if verb == "patch":
            patch = [{"op": "add", "ln": shown["txt_tot_ln"] + 1, "val": word}]
            answer = call_tool(desk, scope, "note_save", **version, text_patch=patch)
        else:
            text = f"{shown['text']}{word}\n"
            answer = call_tool(desk, scope, "note_save", **version, text=text)
        if not answer.is_error:
            return True
        assert answer.code == "VERSION_CONFLICT", answer.text
    return False


def main(url: str, user: str, name: str, verb: str, note: str, count: str) -> None:
    """Do the saves and print the acknowledged ones."""
    database = Database(url, lock_timeout=LOCK_PATIENCE)
    database.open()
    desk = make_desk(database)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for n in range(int(count)):
        word = f"{name}-{n}"
        if save(desk, Principal.for_user(user), note, verb, word):
            sys.stdout.write(f"{word}\n")
            sys.stdout.flush()
    database.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
