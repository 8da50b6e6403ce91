"""The package `simplenote`: notes made, read, listed, changed from an old base and deleted."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any, Final

NOTES: Final = 1005  # more than a page of its list


def client(url: str, email: str, password: str) -> Any:
    """Return the package's client, its addresses turned to `url`."""
    module: Any = import_module("simplenote.simplenote")
    module.AUTH_URL = f"{url}/1/{module.APP_ID}/authorize/"
    module.DATA_URL = f"{url}/1/{module.APP_ID}/{module.BUCKET}"
    return module.Simplenote(email, password)


def main(url: str, email: str, password: str) -> dict[str, Any]:
    """Return what the package saw."""
    api = client(url, email, password)
    made, status = api.add_note({"content": "one\ntwo\nthree\n", "tags": ["b", "a"]})
    assert status == 0
    old = dict(made)
    changed, status = api.update_note({**made, "content": "ONE\ntwo\nthree\n"})
    assert (status, changed["version"]) == (0, 2)
    merged, status = api.update_note({**old, "content": "one\ntwo\nTHREE\n"})
    assert status == 0
    first, status = api.get_note(made["key"], 1)
    assert (status, first["content"]) == (0, "one\ntwo\nthree\n")
    for number in range(NOTES):
        assert api.add_note(f"note {number}")[1] == 0
    listed, status = api.get_note_list()
    assert status == 0
    cursor = api.current
    again, status = api.update_note({**merged, "content": "again"})
    assert status == 0
    since, status = api.get_note_list(since=cursor)
    assert status == 0
    trashed, status = api.trash_note({**again, "deleted": False}["key"])
    empty, refused = api.update_note(dict(trashed))
    gone, status = api.delete_note(trashed["key"])
    missing, unknown = api.get_note(trashed["key"])
    return {
        "merged": merged["content"],
        "version": merged["version"],
        "listed": len({note["key"] for note in listed}),
        "since": [note["content"] for note in since],
        "trashed": trashed["deleted"],
        "empty change": (empty.code, refused),
        "deleted": (gone, status),
        "missing": (missing.code, unknown),
    }


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))  # noqa: T201  # the program's answer
