"""A desk with something of everything, for tests and pictures of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[..., Any]

_DEPLOYMENT: Final = "service: billing\nreplicas: twelve\nport: 80800\n"
_SCHEMA: Final = {
    "required": ["service"],
    "properties": {"replicas": {"type": "integer"}, "port": {"maximum": 65535}},
}
_NOTE: Final = """# Release 2.4

The upload limit moves from **10 MB** to **25 MB**.

| service | owner | state |
|---|---|---|
| billing | Ann | ready |
| search | Tom | waits for the index |

- [x] changelog written
- [ ] customers told
"""


def tell_story(call: Call) -> dict[str, str]:
    """Let an agent plan a release; return the ids of what it wrote."""
    plan = [
        {"title": "Raise the upload limit in billing", "priority": 0, "due_at": "2027-01-15"},
        {"title": "Rebuild the search index", "priority": 1, "tags": ["search"]},
        {"title": "Tell the customers", "blocked_by": [0, 1], "priority": 2},
        {"title": "Write the changelog", "priority": 2, "project": "release"},
    ]
    tasks = [one["task_id"] for one in call("add_task", tasks=plan)["data"]]
    call("claim_task", task_id=tasks[0], lease_seconds=3600)
    call("complete_task", task_id=tasks[3])
    call("update_task", task_id=tasks[1], comment="The index has 1.2 million rows; 40 minutes.")
    note = call("note_save", text=_NOTE, tags=["release", "customers"])
    changed = _NOTE.replace("25 MB", "50 MB").replace("| ready |", "| done |")
    call("note_save", id=note["id"], local_version=1, text=changed)
    schemas = {"deployment": {"schema": _SCHEMA}}
    metadata = {"title": "Deployments", "summary": "What runs where.", "schemas": schemas}
    pad = call("scratch_create", metadata=metadata)["scratchpad"]
    for cell in (
        {"language": "md", "content": "# Billing\n\nTwelve instances behind one balancer."},
        {
            "language": "yaml",
            "content": _DEPLOYMENT,
            "validate": True,
            "json_schema": "scratchpad://schemas/deployment",
        },
        {
            "language": "py",
            "content": "def limit(megabytes: int) -> int:\n    return megabytes << 20\n",
        },
    ):
        call("scratch_append_cell", scratch_id=pad["scratch_id"], cell=cell)
    cells = call("scratch_read", scratch_id=pad["scratch_id"])["scratchpad"]["cells"]
    return {
        "task": tasks[1],
        "note": note["id"],
        "pad": pad["scratch_id"],
        "cell": cells[1]["cell_id"],
    }
