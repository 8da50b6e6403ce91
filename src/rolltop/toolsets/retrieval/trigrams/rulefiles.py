"""The state of whatever decides which names are chosen, outside the names themselves."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from rolltop.core.roots.choice import GIT_DIRECTORY, GIT_IGNORE_FILE, OWN_IGNORE_FILE
from rolltop.core.roots.repository import (
    repository_around,
    repository_at,
    rules_without_repository,
)
from rolltop.core.roots.settling import is_settled

State = tuple[int, int, int, int, int]
_ABSENT: Final = "absent"


def state_of(status: os.stat_result) -> State:
    """Return what tells one state of a file or directory from another."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev


def settled(state: State) -> bool:
    """Return whether the last change is so long ago that the next one would show."""
    return is_settled(state[1], state[2])


def file_state(path: str) -> object:
    """Return a value equal to another only where the file has not changed between the two."""
    try:
        state = state_of(os.lstat(path))
    except (OSError, ValueError):
        return _ABSENT
    return state if settled(state) else object()


def root_state(root: str) -> tuple[object, ...]:
    """Return the state of the rules that reach into a root from above it."""
    above = [str(parent) for parent in Path(root).parents]
    ignoring = [file_state(f"{folder.rstrip('/')}/{GIT_IGNORE_FILE}") for folder in above]
    around = repository_around(root)
    if around is None:
        return (*ignoring, *rules_without_repository(root))
    return (*ignoring, *repository_state(around.top))


def repository_state(top: str) -> tuple[object, ...]:
    """Return the state of a repository's own rules and of the list of what it tracks.

    Lists of rules read from the same content are the same object.
    """
    found = repository_at(top)
    if found is None:
        return (file_state(f"{top}/{GIT_DIRECTORY}"),)
    pointer = f"{top}/{GIT_DIRECTORY}"
    place = top if Path(pointer).is_dir() else file_state(pointer)
    return place, file_state(f"{found.git_dir}/index"), found.ignore_case, *found.rules


def folder_state(path: str, present: tuple[str, ...]) -> tuple[object, ...]:
    """Return the state of the rules that begin in a directory; `present` names their files."""
    if not present:
        return ()
    states: list[object] = [present]
    states += [
        file_state(f"{path}/{name}")
        for name in (GIT_IGNORE_FILE, OWN_IGNORE_FILE)
        if name in present
    ]
    if GIT_DIRECTORY in present:
        states += repository_state(path)
    return tuple(states)
