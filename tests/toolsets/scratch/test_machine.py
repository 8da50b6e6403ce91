"""Random histories of two tenants' pads, compared step by step with the model."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.principal import Principal
from rolltop.toolsets.scratch.models.records import (
    CellSelection,
    PadChange,
    PadLimits,
    PadWrite,
    Replacement,
)
from rolltop.toolsets.scratch.service import cell_input, namespaces, pad_lists, pad_search, pads
from rolltop.toolsets.scratch.store import cell_rows, pad_rows
from tests.campaign import examples
from tests.toolsets.histories import outcome, run_histories
from tests.toolsets.scratch.model import Cell, Model, Pad

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from rolltop.core.db import Database, Tx
    from rolltop.toolsets.scratch.models.records import Draft
    from tests.databases import Clock

LIMITS: Final = PadLimits(pads=3, cells=4, cell_bytes=0, policy="discard", namespace="default")
USERS = st.sampled_from(["me", "me", "me", "me", "them"])
PAD_IDS: Final = [str(uuid.UUID(int=n)) for n in range(1, 6)]
CELL_IDS: Final = [str(uuid.UUID(int=n)) for n in range(11, 22)]
PADS = st.sampled_from(PAD_IDS)
CELLS = st.sampled_from(CELL_IDS)
PICKS = st.integers(0, 999)
TEXTS = st.sampled_from(["walrus", "gull gull", "", "😀\r\n", "walrus gull"])
TAGS = st.lists(st.sampled_from(["x", "y"]), unique=True, max_size=2)
SPACES = st.sampled_from(["one", "two", "three"])
VERSIONS = st.sampled_from(["none", "none", "right", "stale"])


def draft(cell: Cell) -> Draft:
    """Return a cell as the product takes it."""
    return cell_input.parse_cell(
        {"language": "txt", "content": cell.content, "tags": cell.tags, "cell_id": cell.id}, LIMITS
    )


def seen(tx: Tx) -> dict[str, tuple[Any, ...]]:
    """Return all that a tenant sees of its pads."""
    _ids, found = pad_lists.list_pads(tx, (), (), "recent", None, 50)
    shown: dict[str, tuple[Any, ...]] = {}
    in_use = set[str]()
    for pad in found:
        cells = cell_rows.get_all_cells(tx, pad.scratch_id)
        assert [cell.index for cell in cells] == list(range(pad.cell_count))
        listed = [(c.cell_id, c.content, list(c.tags), c.version) for c in cells]
        own = (pad.namespace, list(pad.tags), pad.created_at, pad.updated_at, pad.version)
        tags = {tag for cell in cells for tag in cell.tags}
        shown[pad.scratch_id], in_use = (*own, listed, sorted(tags)), in_use | tags
    assert pad_rows.tags_in_use(tx, ())[1] == sorted(in_use)
    return shown


def expected(pad: Pad) -> tuple[Any, ...]:
    """Return what a tenant sees of a pad of the model."""
    listed = [(c.id, c.content, c.tags, c.version) for c in pad.cells]
    own = (pad.namespace, pad.tags, pad.created, pad.updated, pad.version)
    return (*own, listed, sorted({tag for cell in pad.cells for tag in cell.tags}))


class Histories(RuleBasedStateMachine):
    """Two tenants that use the same ids."""

    database: Database
    clock: Clock

    def __init__(self) -> None:
        super().__init__()
        self.models = {
            name: Model(self.clock, LIMITS.pads, LIMITS.cells) for name in ("me", "them")
        }
        self.reads: dict[str, dict[str, datetime]] = {"me": {}, "them": {}}
        self.scopes = {name: self._new_user() for name in self.models}

    def _new_user(self) -> Principal:
        address = f"{uuid.uuid4()}@example.org"
        return Principal.for_user(self.database.write_sync(SYSTEM, add_user, address).id)

    def write(self, user: str, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Return what the product answers, or its code."""
        return outcome(self.database.write_sync, self.scopes[user], function, *given, **named)

    def same(self, real: Any, wanted: Any) -> None:
        """Compare codes, or what was evicted."""
        if isinstance(real, PadWrite):
            real = list(real.evicted)
        assert real == (wanted if wanted is not None else [])

    def pad_version(self, user: str, pad: str, choice: str) -> int | None:
        """Return the if_version that a choice stands for."""
        there = self.models[user].pads.get(pad)
        right = there.version if there else 1
        return {"none": None, "right": right, "stale": right - 1}[choice]

    @initialize()
    def begin_with_a_full_desk(self) -> None:
        for n, pad in enumerate(PAD_IDS[: LIMITS.pads]):
            ids = CELL_IDS[3 * n : 3 * n + 3]
            self.create("me", pad, "one", [], [Cell(one, "walrus gull", ["x"]) for one in ids])

    def pad(self, user: str, pick: int, *, deleted: bool = False) -> str:
        """Return a pad: mostly one outside the trash, or in it, now and then any."""
        there = [p.id for p in self.models[user].pads.values() if bool(p.deleted) == deleted]
        if there and pick % 5:
            return there[pick // 5 % len(there)]
        return PAD_IDS[pick % len(PAD_IDS)]

    def target(self, user: str, pick: int) -> tuple[str, str]:
        """Return a pad and a cell: mostly one of the other, now and then any."""
        living = [(pad.id, cell.id) for pad in self.models[user].living() for cell in pad.cells]
        if living and pick % 5:
            return living[pick // 5 % len(living)]
        return PAD_IDS[pick % len(PAD_IDS)], CELL_IDS[pick % len(CELL_IDS)]

    def cell_version(self, user: str, cell: str, choice: str) -> int | None:
        """Return the if_version of a cell that a choice stands for."""
        versions = [
            there.version
            for pad in self.models[user].pads.values()
            for there in pad.cells
            if there.id == cell
        ]
        right = versions[0] if versions else 1
        return {"none": None, "right": right, "stale": right - 1}[choice]

    @rule(
        user=USERS,
        pad=PADS,
        space=SPACES,
        tags=TAGS,
        sent=st.lists(
            st.builds(Cell, CELLS, TEXTS, TAGS), max_size=5, unique_by=lambda one: one.id
        ),
    )
    def create(self, user: str, pad: str, space: str, tags: list[str], sent: list[Cell]) -> None:
        wanted = outcome(
            self.models[user].create, pad, space, tags, [replace(cell) for cell in sent]
        )
        given = PadChange(namespace=space, tags=tuple(tags))
        made = outcome(
            cell_input.parse_cells,
            [
                {"language": "txt", "content": c.content, "tags": c.tags, "cell_id": c.id}
                for c in sent
            ],
            LIMITS,
        )
        if isinstance(made, str):
            assert made == wanted
            return
        reads = self.reads[user]
        self.same(self.write(user, pads.create_pad, pad, given, (), made, LIMITS, reads), wanted)

    @rule(user=USERS, pick=PICKS, cell=CELLS, text=TEXTS, tags=TAGS, version=VERSIONS)
    def append(
        self, user: str, pick: int, cell: str, text: str, tags: list[str], version: str
    ) -> None:
        pad = self.pad(user, pick)
        at = self.pad_version(user, pad, version)
        sent = draft(Cell(cell, text, tags))
        wanted = outcome(self.models[user].append, pad, Cell(cell, text, tags), at)
        self.same(self.write(user, pads.append_cell, pad, sent, at, LIMITS), wanted)

    @rule(
        user=USERS,
        pick=PICKS,
        text=TEXTS,
        place=st.none() | st.integers(0, 4),
        version=VERSIONS,
    )
    def replace(self, user: str, pick: int, text: str, place: int | None, version: str) -> None:
        pad, cell = self.target(user, pick)
        at = self.cell_version(user, cell, version)
        sent = cell_input.parse_cell({"language": "txt", "content": text}, LIMITS)
        wanted = outcome(self.models[user].replace, pad, cell, text, place, at)
        real = self.write(user, pads.replace_cell, pad, cell, None, sent, place, at)
        self.same(real, wanted)

    @rule(user=USERS, pick=PICKS, version=VERSIONS)
    def edit(self, user: str, pick: int, version: str) -> None:
        pad, cell = self.target(user, pick)
        at = self.cell_version(user, cell, version)
        edits = (Replacement("gull", "yak", everywhere=False),)
        wanted = outcome(self.models[user].edit, pad, cell, "gull", "yak", at)
        self.same(self.write(user, pads.edit_cell, pad, cell, edits, at, LIMITS), wanted)

    @rule(user=USERS, pick=PICKS, version=VERSIONS)
    def delete_cell(self, user: str, pick: int, version: str) -> None:
        pad, cell = self.target(user, pick)
        at = self.cell_version(user, cell, version)
        wanted = outcome(self.models[user].delete_cell, pad, cell, at)
        self.same(self.write(user, pads.delete_cell, pad, cell, at), wanted)

    @rule(user=USERS, pick=PICKS, space=st.none() | SPACES, tags=TAGS, version=VERSIONS)
    def update(
        self, user: str, pick: int, space: str | None, tags: list[str], version: str
    ) -> None:
        pad = self.pad(user, pick)
        at = self.pad_version(user, pad, version)
        wanted = outcome(self.models[user].update, pad, space, tags, at)
        given = PadChange(namespace=space, tags=tuple(tags))
        self.same(self.write(user, pads.update_pad, pad, given, at), wanted)

    @rule(user=USERS, pick=PICKS)
    def delete(self, user: str, pick: int) -> None:
        pad = self.pad(user, pick)
        assert self.write(user, pads.delete_pad, pad) == self.models[user].delete(pad)

    @rule(user=USERS, pick=PICKS)
    def restore(self, user: str, pick: int) -> None:
        pad = self.pad(user, pick, deleted=True)
        wanted = outcome(self.models[user].restore, pad)
        reads = self.reads[user]
        self.same(self.write(user, pads.restore_pad, pad, LIMITS, reads), wanted)

    @rule(user=USERS, pick=PICKS)
    def read(self, user: str, pick: int) -> None:
        pad = self.pad(user, pick)
        there = self.models[user].pads.get(pad)
        if there is not None and there.deleted is None:
            there.accessed = self.reads[user][pad] = self.clock()

    @rule(user=USERS, old=SPACES, new=SPACES)
    def rename(self, user: str, old: str, new: str) -> None:
        wanted = outcome(self.models[user].rename, old, new)
        assert self.write(user, namespaces.rename_namespace, old, new, migrate=True) == wanted

    @rule(user=USERS, space=SPACES, with_pads=st.booleans())
    def delete_namespace(self, user: str, space: str, *, with_pads: bool) -> None:
        wanted = outcome(self.models[user].delete_namespace, space, with_pads=with_pads)
        assert self.write(user, namespaces.delete_namespace, space, with_pads=with_pads) == wanted

    @rule(seconds=st.sampled_from([0, 1, 60, 3600, 20 * 86_400]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds=seconds)

    @rule()
    def purge(self) -> None:
        self.database.write_sync(SYSTEM, pad_rows.purge_trash)
        for model in self.models.values():
            model.purge()

    @invariant()
    def both_tenants_see_what_the_model_says(self) -> None:
        for user, scope in self.scopes.items():
            wanted = {pad.id: expected(pad) for pad in self.models[user].living()}
            assert self.database.read_sync(scope, seen) == wanted
            listed = self.database.read_sync(scope, pad_rows.list_namespaces)
            assert {one["namespace"] for one in listed} == set(self.models[user].namespaces)

    @invariant()
    def words_are_found_where_they_are(self) -> None:
        page = pad_search.HitPage(50, 51)
        for user, scope in self.scopes.items():
            found = self.database.read_sync(
                scope, pad_search.find_hits, "walrus", CellSelection(), page, "words", None
            ).hits
            wanted = {
                cell.id
                for pad in self.models[user].living()
                for cell in pad.cells
                if "walrus" in cell.content
            }
            assert {hit["cell_id"] for hit in found} == wanted


def test_any_history_of_pads_is_the_model_s(database: Database, clock: Clock) -> None:
    run_histories(Histories, examples(4), database=database, clock=clock)
