"""How long the page for people takes with much on the desk."""

from __future__ import annotations

import tempfile
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.measure import Table, repeated
from rolltop.core.accounts import ensure_default_user
from rolltop.core.db import SYSTEM
from rolltop.core.dispatch import dispatch
from rolltop.core.principal import Principal
from tests.web.visitor import Site, Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator

_TASKS: Final = 10_000
_NOTES: Final = 10_000
_PADS: Final = 1_000
_BATCH: Final = 50
_ROUNDS: Final = 15
_CODE: Final = Path(__file__).read_text(encoding="utf-8").splitlines(keepends=True)
_PAGES: Final = (
    "/",
    "/tasks",
    "/tasks/table",
    "/tasks/table?q=harbour",
    "/tasks/{task}",
    "/notes",
    "/notes?q=harbour",
    "/notes/{note}",
    "/pads",
    "/pads/{pad}",
    "/pads/{code}",
    "/journal",
    "/trash",
    "/search?q=harbour+lamp",
)


def tables() -> Iterator[Table]:
    """Yield the table of times a page."""
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder))
        ids = site.runner.run(_fill(site))
        visitor = Visitor(site)
        visitor.log_in()
        rows = [(path, *_measure(visitor, path.format(**ids))) for path in _PAGES]
        site.close()
    yield Table(
        "The page: 10,000 tasks, 10,000 notes, 1,000 pads",
        "Each page is asked for over ASGI, without a socket, and parsed by the tests' parser, "
        f"which counts too. SQLite, {_ROUNDS} rounds after one that warms up. Every task and note "
        "answers the searches. The pad of code has 20 cells of 20 lines, in colours.",
        ("page", "time", "HTML"),
        rows,
    )


def _measure(visitor: Visitor, path: str) -> tuple[str, str]:
    page = visitor.get(path)
    assert page.status == HTTPStatus.OK, path
    times = repeated(lambda: visitor.get(path), _ROUNDS)
    return times.cell(), f"{len(page.body) / 1000:.0f} KB"


async def _fill(site: Site) -> dict[str, str]:
    user = await site.app.database.write(SYSTEM, ensure_default_user)
    principal = Principal.for_user(user.id, actor="claude")

    async def call(tool: str, /, **arguments: Any) -> Any:
        return (await dispatch(site.app, tool, principal, arguments)).structured

    added = note = pad = {}
    for start in range(0, _TASKS, _BATCH):
        plan = [{"title": f"Task {start + n} of the harbour"} for n in range(_BATCH)]
        added = await call("add_task", tasks=plan)
    for n in range(_NOTES):
        note = await call("note_save", text=f"# Note {n}\n\nThe lamp of harbour {n} is lit.\n")
    for n in range(_PADS):
        cell = {"language": "md", "content": f"# Pad {n}\n\nQuay {n}."}
        pad = await call("scratch_create", metadata={"title": f"Pad {n}"}, cells=[cell])
    cells = [{"language": "py", "content": "".join(_CODE[n : n + 20])} for n in range(20)]
    code = await call("scratch_create", metadata={"title": "Code"}, cells=cells)
    return {
        "code": code["scratchpad"]["scratch_id"],
        "task": added["data"][0]["task_id"],
        "note": note["id"],
        "pad": pad["scratchpad"]["scratch_id"],
    }
