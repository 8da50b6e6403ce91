"""The package `simplenote-mcp-server`: its cache of all notes, and the sync that keeps it fresh."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from typing import Any

from tests.simperium.witnesses.by_simplenote import client


async def main(url: str, email: str, password: str) -> dict[str, Any]:
    """Return what the package saw."""
    module: Any = import_module("simplenote_mcp.server.cache")
    here, elsewhere = client(url, email, password), client(url, email, password)
    for number in range(3):
        elsewhere.add_note({"content": f"note {number}", "tags": ["t"]})
    cache = module.NoteCache(here)
    first = await cache.initialize()
    made, _status = elsewhere.add_note({"content": "a fresh one", "tags": ["new"]})
    changed = await cache.sync()
    texts = sorted(note["content"] for note in cache.get_all_notes())
    found = [note["content"] for note in await cache.search_notes("fresh")]
    elsewhere.trash_note(made["key"])
    trashed = await cache.sync()
    left = sorted(note["content"] for note in cache.get_all_notes())
    return {
        "first": first,
        "changed": changed,
        "texts": texts,
        "found": found,
        "trashed": trashed,
        "left": left,
        "tags": sorted(cache.all_tags),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(*sys.argv[1:]))))  # noqa: T201  # the program's answer
