"""Pads and cells as they were, from the journal."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from rolltop.core.addresses import Address, record_address, short_id
from rolltop.core.context import AppContext
from rolltop.core.db import Tx
from rolltop.core.journal import history
from rolltop.core.journal.snapshot import EarlierThing, JournalSnapshot, Row
from rolltop.core.pagination import JsonObject
from rolltop.toolsets.scratch.models import LABEL_KEYS
from rolltop.toolsets.scratch.models.records import PadLimits
from rolltop.toolsets.scratch.service.cell_input import measure_text
from rolltop.toolsets.scratch.service.scratch_service import ScratchService
from rolltop.toolsets.scratch.store import pad_rows
from rolltop.toolsets.scratch.store.tables import cells, contents, pads


def read_earlier(
    app: AppContext, tx: Tx, snapshot: JournalSnapshot, kind: str, ref: str | None = None
) -> dict[str, EarlierThing | None]:
    """Map pads or cells to what they were; None is what was not there (`Toolset.earlier`).

    With a pad that was changed all of its cells are: they were found, or in the trash, with it.
    """
    reader = _PadReader(tx, snapshot, app.service(ScratchService).limits)
    if kind == "cell":
        return reader.read_cells(ref)
    return reader.read_pads(snapshot.changed_ids("pad") if ref is None else {ref}, whole=bool(ref))


class _PadReader:
    """Reads what pads and cells were."""

    def __init__(self, tx: Tx, snapshot: JournalSnapshot, limits: PadLimits) -> None:
        self._tx = tx
        self._snapshot = snapshot
        self._limits = replace(limits, cell_bytes=0)
        self._shared = {limits.namespace, *pad_rows.namespaces_in_view(tx)[0]}

    def read_pads(self, refs: Collection[str], *, whole: bool) -> dict[str, EarlierThing | None]:
        """Read pads; a whole one with its cells."""
        found: dict[str, EarlierThing | None] = dict.fromkeys(refs)
        for row in self._snapshot.rows(pads.c.scratch_id, refs):
            labels = [str(row["metadata"][key]) for key in LABEL_KEYS[1:] if key in row["metadata"]]
            found[row["scratch_id"]] = EarlierThing(
                self._snapshot.version("pad", row["scratch_id"], row["version"]),
                _title(row),
                "\n".join([*labels, *row["tags"]]),
                min(row["updated_at"], self._snapshot.moment.at),
                tuple(row["tags"]),
                row["deleted_at"] is not None,
                row["namespace"],
                row["namespace"] in self._shared,
                fields={"tags": row["tags"]},
                parts=self._list_cells(row["scratch_id"]) if whole else (),
            )
        return found

    def read_cells(self, ref: str | None) -> dict[str, EarlierThing | None]:
        """Read one cell, or all that were changed since or whose pads were."""
        refs = {ref} if ref else self._snapshot.changed_ids("cell")
        rows = {row["cell_id"]: row for row in self._snapshot.rows(cells.c.cell_id, refs)}
        if ref is None:
            changed = self._snapshot.changed_ids("pad")
            rows |= {
                row["cell_id"]: row for row in self._snapshot.rows(cells.c.scratch_id, changed)
            }
        pad_ids = {row["scratch_id"] for row in rows.values()}
        found_pads = {
            row["scratch_id"]: row for row in self._snapshot.rows(pads.c.scratch_id, pad_ids)
        }
        texts = self._read_texts(rows)
        moment = self._snapshot.moment
        changed = history.latest_times(self._tx, "cell", rows, moment.sequence)
        found: dict[str, EarlierThing | None] = dict.fromkeys({*refs, *rows})
        for cell_id, row in rows.items():
            if pad := found_pads.get(row["scratch_id"]):
                at: datetime = min(pad["updated_at"], moment.at)
                at = min(at, changed.get(cell_id, at))
                found[cell_id] = self._describe_cell(row, pad, texts[cell_id], at)
        return found

    def _describe_cell(self, row: Row, pad: Row, text: str, at: datetime) -> EarlierThing:
        shown = {"uri": record_address("pad", pad["scratch_id"])}
        return EarlierThing(
            self._snapshot.version("cell", row["cell_id"], row["version"]),
            _title(pad),
            text,
            at,
            tuple(dict.fromkeys((*pad["tags"], *row["tags"]))),
            pad["deleted_at"] is not None,
            pad["namespace"],
            pad["namespace"] in self._shared,
            fields={
                "pad": {**shown, "title": _title(pad)} if _title(pad) else shown,
                "language": row["language"],
                "tags": row["tags"],
            },
        )

    def _read_texts(self, refs: Collection[str]) -> dict[str, str]:
        rows = self._snapshot.rows(contents.c.cell_id, refs)
        return {row["cell_id"]: row["content"] for row in rows}

    def _list_cells(self, scratch_id: str) -> list[JsonObject]:
        """List the cells of a pad as `scratch_list_cells` does, each by its version of then."""
        rows = self._snapshot.rows(cells.c.scratch_id, [scratch_id])
        changed = {row["cell_id"] for row in rows} & self._snapshot.changed_ids("cell")
        texts = self._read_texts(changed)  # of the others the figures are as they were
        listed: list[JsonObject] = []
        for row in sorted(rows, key=lambda row: row["position"]):
            cell_id = row["cell_id"]
            figures = vars(measure_text(texts[cell_id], self._limits)) if cell_id in texts else row
            version = self._snapshot.version("cell", cell_id, row["version"])
            listed.append(
                {
                    "uri": Address("cell", short_id(cell_id), version=str(version)).text,
                    "index": row["position"],
                    "language": row["language"],
                    **({"tags": row["tags"]} if row["tags"] else {}),
                    "version": version,
                    **{name: figures[name] for name in ("bytes", "lines", "tokens", "first_line")},
                }
            )
        return listed


def _title(pad: Row) -> str:
    return str(pad["metadata"].get("title") or "")
