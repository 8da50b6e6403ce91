"""The package `simperium3`: users, change ids, versions, pages and deletions."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any, Final

APP: Final = "chalk-bump-f49"


def code(call: Any, *arguments: Any, **named: Any) -> int:
    """Return the status that a call is refused with."""
    try:
        call(*arguments, **named)
    except OSError as error:  # as the library raises what HTTP refuses
        refused: Any = error
        return refused.response.status_code
    return 200


def main(url: str, email: str, password: str) -> dict[str, Any]:
    """Return what the package saw."""
    core: Any = import_module("simperium.core")
    host = url.removeprefix("http://")
    auth = core.Auth(APP, "key", host=host, scheme="http")
    made = auth.create(f"new-{email}", password)
    wrong = code(auth.authorize, email, "wrong")
    bucket = core.Api(APP, auth.authorize(email, password), host=host, scheme="http").note
    bucket.post("a", {"content": "x\ny\n", "n": 1}, ccid="first")
    duplicate = code(bucket.post, "a", {"content": "x\ny\n", "n": 2}, ccid="first")
    empty = code(bucket.post, "a", {"content": "x\ny\n"})
    bucket.post("a", {"n": 2})
    name, merged = bucket.post("a", {"content": "x\nz\n"}, version=1, include_response=True)
    stale = code(bucket.post, "a", {"n": 3}, version=9)
    replaced = bucket.post("a", {"only": True}, include_response=True, replace=True)[1]
    for number in range(5):
        bucket.new({"number": number})
    page = bucket.index(data=True, limit=4)
    rest = bucket.index(data=True, limit=4, mark=page["mark"])
    bucket.set("a", {"only": False})
    since = bucket.index(since=page["current"])
    bucket.delete("a")
    return {
        "token": bool(made),
        "codes": [wrong, duplicate, empty, stale, code(bucket.delete, "a")],
        "merged": [name, merged],
        "replaced": replaced,
        "versions": [bucket.get("a", version=1), bucket.get("a", default="none")],
        "pages": [[item["d"].get("number") for item in part["index"]] for part in (page, rest)],
        "more": "mark" in rest,
        "since": [item["id"] for item in since["index"]],
    }


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))  # noqa: T201  # the program's answer
