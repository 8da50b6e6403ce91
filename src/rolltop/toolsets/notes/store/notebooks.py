"""Accounts, their notes and versions, read and written inside one transaction.

Every statement names the owner and the account. Every change of a note's content is a new version,
numbered on from the last, and the version before it stays in the history.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Select,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    tuple_,
    update,
)

from rolltop.core import tags
from rolltop.core.accounts import DEFAULT_EMAIL, find_user_by_email
from rolltop.core.db import Tx
from rolltop.core.db.engine import CompiledStatement, batches
from rolltop.core.db.types import CodePointString, Identifier, begins
from rolltop.core.db.upsert import insert as upsert
from rolltop.core.expiry import MAX_PURGED_ROWS
from rolltop.core.fulltext import document_index
from rolltop.core.settings import Settings
from rolltop.toolsets.notes.models import (
    LOCAL_ACCOUNT,
    MAX_PREVIEW_LENGTH,
    MAX_TITLE_LENGTH,
    Account,
    BackendState,
    Content,
    NewNote,
    Note,
    Source,
    Version,
    VersionHead,
)
from rolltop.toolsets.notes.store.tables import (
    note_accounts,
    note_tags,
    note_texts,
    note_versions,
    notes,
)

_BATCH_SIZE: Final = 100
_TITLE_SCAN_CHARACTERS: Final = 10_000
_MAX_VERSIONS_ITERATED: Final = 50
_MAX_INDEXED_TAG: Final = 500
_n: Final = notes.c
_t: Final = note_texts.c
_v: Final = note_versions.c
_OWNER: Final = bindparam("owner", type_=Identifier)
_ACCOUNT: Final = bindparam("in_account", type_=CodePointString())
_NOTE_ID: Final = bindparam("note_id_is", type_=CodePointString())
_SELECT_NOTES: Final[Select[Any]] = select(notes, _t.content, _t.base).select_from(
    notes.join(note_texts, _t.number == _n.number)
)
_COLUMN_NAMES: Final = tuple(column.name for column in _SELECT_NOTES.selected_columns)
_IS_NOTE: Final = (_n.user_id == _OWNER, _n.account == _ACCOUNT, _n.id == _NOTE_ID)
_GET_NOTE: Final = CompiledStatement(_SELECT_NOTES.where(*_IS_NOTE, _t.user_id == _OWNER))
_INSERT_NOTES: Final = CompiledStatement(insert(notes))
_INSERT_TEXTS: Final = CompiledStatement(insert(note_texts))
_INSERT_TAGS: Final = CompiledStatement(insert(note_tags))
_INSERT_VERSIONS: Final = CompiledStatement(insert(note_versions))
_HASH_PREFIX: Final = "rolltop notes account 1\n"
_a: Final = note_accounts.c
_ACCOUNT_COLUMNS: Final = tuple(column.name for column in _a)
_GET_ACTIVE: Final = CompiledStatement(
    select(note_accounts).where(_a.user_id == _OWNER, _a.is_active.is_(True))
)


@dataclass(frozen=True)
class Notebook:
    """The notes of one account of the caller's, which keeps `history` versions of each (0: all)."""

    tx: Tx
    account: str = LOCAL_ACCOUNT
    history: int = 100

    def get(self, note_id: str) -> Note | None:
        """Read a note."""
        key = {"owner": self.tx.scope.user_id, "in_account": self.account, "note_id_is": note_id}
        row = _GET_NOTE.first(self.tx, key)
        return None if row is None else _note_of(dict(zip(_COLUMN_NAMES, row, strict=True)))

    def lock(self, note_id: str) -> Note | None:
        """Read a note and lock its row to the transaction's end."""
        # Two statements: PostgreSQL would read the text as it was before the wait.
        mine = select(_n.number).where(*self._is_mine, _n.id == note_id)
        self.tx.execute(mine.with_for_update(key_share=True))
        return self.get(note_id)

    def get_many(self, note_ids: Sequence[str]) -> dict[str, Note]:
        """Read those of the notes that exist, by id."""
        found: dict[str, Note] = {}
        for batch in batches(note_ids, _BATCH_SIZE):
            found |= {note.id: note for note in self._select(_n.id.in_(batch))}
        return found

    def read_after(self, note_id: str, limit: int) -> list[Note]:
        """Read up to `limit` notes with greater ids, in order: a walk over all of them."""
        return self._select(_n.id > note_id, order=[_n.id], limit=limit)

    def list_in_states(self, states: Sequence[str], limit: int) -> list[Note]:
        """Read up to `limit` notes in these sync states, longest unchanged first."""
        return self._select(_n.sync_state.in_(states), order=[_n.modified, _n.id], limit=limit)

    def count(self, *states: str) -> int:
        """Count the notes, or those in these sync states."""
        in_state = [_n.sync_state.in_(states)] if states else []
        return self._count(*self._is_mine, *in_state)

    def count_elsewhere(self) -> int:
        """Count the owner's notes of other accounts, the local ones among them."""
        return self._count(_n.user_id == self.tx.scope.user_id, _n.account != self.account)

    def count_tagged(self, tag: str) -> int:
        """Count the notes outside the trash with a tag, given in lower case."""
        c = note_tags.c
        tagged = select(c.number).where(c.user_id == self.tx.scope.user_id, c.tag == tag)
        return self._count(*self._is_mine, _n.trash.is_(False), _n.number.in_(tagged))

    def server_versions(self, note_ids: Sequence[str] | None = None) -> dict[str, int]:
        """Map the ids of notes (None: of all) that were at the backend to their versions there."""
        some = [] if note_ids is None else [_n.id.in_(note_ids)]
        known = select(_n.id, _n.server_version).where(*self._is_mine, *some)
        rows = self.tx.execute(known.where(_n.server_version.is_not(None)))
        return {row.id: row.server_version for row in rows}

    def ids_starting(self, given: str, limit: int) -> list[str]:
        """List the id given and those that start with its digits, of notes deleted for good too."""
        found: set[str] = set()
        for column, mine in ((_n.id, self._is_mine), (_v.note_id, self._is_my_version)):
            is_meant = (column == given) | begins(column, given)
            statement = select(column).where(*mine, is_meant).distinct()
            found |= set(self.tx.execute(statement.order_by(column).limit(limit)).scalars())
        return sorted(found)[:limit]

    def newest_titles(self, limit: int) -> list[tuple[str, str]]:
        """List id and title of the notes outside the trash that were modified last."""
        statement = select(_n.id, _n.title).where(*self._is_mine, _n.trash.is_(False))
        rows = self.tx.execute(statement.order_by(_n.modified.desc(), _n.id).limit(limit))
        return [(row.id, row.title) for row in rows]

    def newest_texts(self, limit: int) -> list[str]:
        """Read the beginnings of the notes outside the trash that were modified last."""
        is_text = and_(_t.number == _n.number, _t.user_id == self.tx.scope.user_id)
        head = select(func.substr(_t.content, 1, MAX_PREVIEW_LENGTH))
        statement = head.select_from(notes.join(note_texts, is_text))
        newest = statement.where(*self._is_mine, _n.trash.is_(False))
        ordered = newest.order_by(_n.modified.desc(), _n.id).limit(limit)
        return list(self.tx.execute(ordered).scalars())

    def create(self, new: Sequence[NewNote], *, source: Source) -> list[Note]:
        """Create notes, in order; ids that are given must not be taken.

        A note whose id was here before continues after the last version known of it.
        """
        created: list[Note] = []
        for batch in batches(new, _BATCH_SIZE):
            last = self.latest_versions([one.id for one in batch if one.id is not None])
            for note_id in last:
                self._mark_erased(note_id, None)
                self._trim_versions(note_id)
            numbers = document_index.add(self.tx, [one.content.text for one in batch])
            made = [
                Note(
                    number=number,
                    account=self.account,
                    id=one.id or str(uuid.uuid4()),
                    content=one.content,
                    local_version=max(one.local_version, last.get(one.id or "", 0) + 1),
                    source=source,
                    backend=one.backend,
                )
                for number, one in zip(numbers, batch, strict=True)
            ]
            owner = {"user_id": self.tx.scope.user_id}
            _INSERT_NOTES.run_each(self.tx, [{**_note_values(note), **owner} for note in made])
            texts = [{"number": note.number, **owner, **_text_values(note)} for note in made]
            _INSERT_TEXTS.run_each(self.tx, texts)
            self._add_tags(made)
            created += made
        return created

    def write(
        self, note: Note, content: Content, *, source: Source, backend: BackendState | None = None
    ) -> Note:
        """Give a note its next version; without `backend` its backend state stays.

        `note` must be as the store has it: read by `lock` in the same transaction.
        """
        changed = replace(
            note,
            content=content,
            local_version=note.local_version + 1,
            source=source,
            backend=backend or note.backend,
        )
        self.put_versions([(note.id, Version.of(note))])
        self._trim_versions(note.id)
        self._update(changed, note)
        return changed

    def set_backend_state(self, note: Note, backend: BackendState) -> Note:
        """Record what the backend has of a note; its text and version stay."""
        changed = replace(note, backend=backend)
        self._update(changed, note)
        return changed

    def erase(self, note: Note) -> int:
        """Delete a note for good and return its last version; the history stays for 30 days."""
        self.put_versions([(note.id, Version.of(note))])
        self._mark_erased(note.id, self.tx.now.timestamp())
        self._delete([note])
        return note.local_version

    def drop_copies(self) -> int:
        """Drop the notes that the backend has and return how many; their versions stay."""
        last, dropped = "", 0
        while batch := self.read_after(last, _BATCH_SIZE):
            copies = [note for note in batch if note.server_version is not None]
            self.put_versions((note.id, Version.of(note)) for note in copies)
            self._delete(copies)
            last, dropped = batch[-1].id, dropped + len(copies)
        return dropped

    def adopt_local_notes(self) -> int:
        """Move the local notes with their versions here, to be sent, and return how many.

        A note whose id is known here stays where it is.
        """
        taken = select(_n.id).where(*self._is_mine)
        known = select(_v.note_id).where(*self._is_my_version)
        local = (_n.user_id == self.tx.scope.user_id, _n.account == LOCAL_ACCOUNT)
        old = (_v.user_id == self.tx.scope.user_id, _v.account == LOCAL_ACCOUNT)
        free = select(_n.id).where(*local, _n.id.not_in(taken), _n.id.not_in(known))
        moved = list(self.tx.execute(free).scalars())
        for note_id in moved:
            one = update(notes).where(*local, _n.id == note_id)
            self.tx.execute(one.values(account=self.account, sync_state="pending"))
            versions = update(note_versions).where(*old, _v.note_id == note_id)
            self.tx.execute(versions.values(account=self.account))
        return len(moved)

    def get_version(self, note_id: str, local_version: int) -> Version | None:
        """Read an earlier version of a note."""
        is_one = (_v.note_id == note_id, _v.local_version == local_version)
        statement = select(note_versions).where(*self._is_my_version, *is_one)
        row = self.tx.execute(statement).mappings().first()
        if row is None:
            return None
        return Version(
            local_version=row["local_version"],
            server_version=row["server_version"],
            source=row["source"],
            content=content_of(row),
            erased_at=row["gone_at"],
        )

    def put_versions(self, versions: Iterable[tuple[str, Version]]) -> None:
        """Add earlier versions of notes, each with its note's id."""
        rows = [
            {
                "user_id": self.tx.scope.user_id,
                "account": self.account,
                "note_id": note_id,
                "local_version": version.local_version,
                "server_version": version.server_version,
                "source": version.source,
                "size": len(version.content.text.encode()),
                "gone_at": version.erased_at,
                **content_values(version.content),
            }
            for note_id, version in versions
        ]
        _INSERT_VERSIONS.run_each(self.tx, rows)

    def list_erased(self) -> list[str]:
        """List the ids of the notes that were deleted for good."""
        erased = select(_v.note_id).where(*self._is_my_version, _v.gone_at.is_not(None))
        return sorted(self.tx.execute(erased.distinct()).scalars())

    def list_versions(self, note_id: str) -> list[VersionHead]:
        """List the earlier versions of a note without their texts, newest first."""
        columns = (_v.local_version, _v.server_version, _v.modified, _v.size, _v.source)
        statement = select(*columns).where(*self._is_my_version, _v.note_id == note_id)
        rows = self.tx.execute(statement.order_by(_v.local_version.desc()))
        return [VersionHead(*row) for row in rows]

    def iterate_versions(self, note_id: str) -> Iterator[Version]:
        """Yield the newest earlier versions of a note, up to 50, newest first."""
        for head in self.list_versions(note_id)[:_MAX_VERSIONS_ITERATED]:
            version = self.get_version(note_id, head.local_version)
            if version is not None:
                yield version

    def latest_versions(self, note_ids: Sequence[str]) -> dict[str, int]:
        """Map the ids of notes that have earlier versions to the newest of these."""
        found: dict[str, int] = {}
        for batch in batches(note_ids, _BATCH_SIZE):
            newest = func.max(_v.local_version).label("newest")
            statement = select(_v.note_id, newest).where(
                *self._is_my_version, _v.note_id.in_(batch)
            )
            rows = self.tx.execute(statement.group_by(_v.note_id))
            found |= {row.note_id: row.newest for row in rows}
        return found

    def latest_version(self, note_id: str) -> Version | None:
        """Read the newest earlier version of a note."""
        last = self.latest_versions([note_id]).get(note_id)
        return None if last is None else self.get_version(note_id, last)

    def list_dropped(self) -> list[str]:
        """List the ids of notes that have versions but are neither here nor deleted for good."""
        here = select(_n.id).where(*self._is_mine, _n.id == _v.note_id).exists()
        dropped = select(_v.note_id).where(*self._is_my_version, ~here, _v.gone_at.is_(None))
        return list(self.tx.execute(dropped.distinct()).scalars())

    @property
    def _is_mine(self) -> tuple[ColumnElement[bool], ...]:
        return (_n.user_id == self.tx.scope.user_id, _n.account == self.account)

    @property
    def _is_my_version(self) -> tuple[ColumnElement[bool], ...]:
        return (_v.user_id == self.tx.scope.user_id, _v.account == self.account)

    def _count(self, *conditions: ColumnElement[bool]) -> int:
        counted = select(func.count()).select_from(notes).where(*conditions)
        return int(self.tx.execute(counted).scalar_one())

    def _select(
        self, *conditions: ColumnElement[bool], order: Sequence[Any] = (), limit: int | None = None
    ) -> list[Note]:
        mine = (*self._is_mine, _t.user_id == self.tx.scope.user_id)
        statement = _SELECT_NOTES.where(*mine, *conditions).order_by(*order).limit(limit)
        return [_note_of(row) for row in self.tx.execute(statement).mappings()]

    def _update(self, note: Note, before: Note) -> None:
        owner = self.tx.scope.user_id
        values = _note_values(note)
        for name in ("number", "account", "id"):
            del values[name]
        one = update(notes).where(*self._is_mine, _n.number == note.number)
        self.tx.execute(one.values(**values))
        if (note.content.text, note.backend.base) != (before.content.text, before.backend.base):
            text = update(note_texts).where(_t.user_id == owner, _t.number == note.number)
            self.tx.execute(text.values(**_text_values(note)))
        if note.content.tags != before.content.tags:
            mine = (note_tags.c.user_id == owner, note_tags.c.number == note.number)
            self.tx.execute(delete(note_tags).where(*mine))
            self._add_tags([note])
        if note.content.text != before.content.text:
            document_index.replace(self.tx, note.number, note.content.text)

    def _add_tags(self, tagged: Sequence[Note]) -> None:
        rows = [
            {"number": note.number, "tag": tag, "user_id": self.tx.scope.user_id}
            for note in tagged
            for tag in sorted({fold_tag(tag) for tag in note.content.tags})
        ]
        _INSERT_TAGS.run_each(self.tx, rows)

    def _trim_versions(self, note_id: str) -> None:
        """Drop the earlier versions of a note that has a new one, beyond those that are kept."""
        if not self.history:
            return
        mine = (*self._is_my_version, _v.note_id == note_id)
        newest_first = select(_v.local_version).where(*mine).order_by(_v.local_version.desc())
        newest = newest_first.offset(self.history - 1).limit(1).scalar_subquery()
        self.tx.execute(delete(note_versions).where(*mine, _v.local_version <= newest))

    def _mark_erased(self, note_id: str, moment: float | None) -> None:
        statement = update(note_versions).where(*self._is_my_version, _v.note_id == note_id)
        self.tx.execute(statement.values(gone_at=moment))

    def _delete(self, gone: Sequence[Note]) -> None:
        """Delete notes with their tags and index terms; their versions stay."""
        numbers = [note.number for note in gone]
        document_index.remove(self.tx, numbers)
        self.tx.execute(delete(notes).where(*self._is_mine, _n.number.in_(numbers)))


def open_notebook(tx: Tx, settings: Settings) -> tuple[Notebook, Account | None]:
    """Open the notes the caller works with; their account is None for the local ones.

    An account named in the settings takes precedence over one that was logged in to.
    """
    account = _settings_account(tx, settings)
    if account is None:
        row = _GET_ACTIVE.first(tx, {"owner": tx.scope.user_id})
        if row is not None:
            account = _account_of(dict(zip(_ACCOUNT_COLUMNS, row, strict=True)))
    key = LOCAL_ACCOUNT if account is None else account.account
    return Notebook(tx, key, settings["notes.history"]), account


def account_key(email: str) -> str:
    """Hash an e-mail to the key of its account."""
    return hashlib.sha256((_HASH_PREFIX + email.strip().lower()).encode()).hexdigest()


def local_user(tx: Tx, settings: Settings) -> str | None:
    """Find the id of the one user whom the settings' credentials serve."""
    found = find_user_by_email(tx, settings["user"] or DEFAULT_EMAIL)
    return None if found is None else found.id


def get_account(tx: Tx, key: str, *, lock: bool = False) -> Account | None:
    """Read one account; `lock` holds its row to the transaction's end."""
    statement = select(note_accounts).where(_a.user_id == tx.scope.user_id, _a.account == key)
    row = tx.execute(statement.with_for_update() if lock else statement).mappings().first()
    return None if row is None else _account_of(row)


def find_account(tx: Tx, note_id: str) -> str | None:
    """Find the account that has a note of the caller, of several the one that was changed last."""
    mine = select(_n.account).where(_n.user_id == tx.scope.user_id, _n.id == note_id)
    return tx.execute(mine.order_by(_n.modified.desc()).limit(1)).scalar()


def exists_elsewhere(tx: Tx, note_id: str) -> bool:
    """Whether a note that is not here is in another account, or waits for a sync after a reset."""
    versions = (_v.user_id == tx.scope.user_id, _v.note_id == note_id, _v.gone_at.is_(None))
    dropped = select(_v.account).where(*versions).limit(1)
    return find_account(tx, note_id) is not None or tx.execute(dropped).first() is not None


def map_accounts(tx: Tx, numbers: Sequence[int]) -> dict[int, str]:
    """Map the numbers of those of the caller's notes that exist to their accounts."""
    found: dict[int, str] = {}
    for batch in batches(numbers):
        mine = (_n.user_id == tx.scope.user_id, _n.number.in_(batch))
        rows = tx.execute(select(_n.number, _n.account).where(*mine))
        found |= {row.number: row.account for row in rows}
    return found


def upsert_account(tx: Tx, account: Account) -> None:
    """Store an account; an active one becomes the only active one."""
    if account.is_active:
        others = update(note_accounts).where(
            _a.user_id == tx.scope.user_id, _a.account != account.account
        )
        tx.execute(others.values(is_active=False))
    key = {"user_id": tx.scope.user_id, "account": account.account}
    values = {name: getattr(account, name) for name in _ACCOUNT_COLUMNS if name not in key}
    statement = upsert(tx.kind, note_accounts).values(**key, **values)
    tx.execute(statement.on_conflict_do_update(index_elements=list(key), set_=values))


def ensure_account(tx: Tx, account: Account) -> None:
    """Store an account unless there is a row for it."""
    if get_account(tx, account.account) is None:
        upsert_account(tx, account)


def activate_account(tx: Tx, email: str, *, with_local: bool) -> int:
    """Make an account the one the caller works with; return how many local notes it adopted."""
    key = account_key(email)
    account = get_account(tx, key) or Account(key)
    upsert_account(tx, replace(account, is_active=True, username=email.strip()))
    return Notebook(tx, key).adopt_local_notes() if with_local else 0


def list_accounts(tx: Tx, owner_id: str) -> list[str]:
    """List the accounts of a backend that a user or a workspace has had."""
    return [*tx.execute(select(_a.account).where(_a.user_id == owner_id)).scalars()]


def list_users(tx: Tx, settings: Settings) -> list[str]:
    """List the ids of all users who work with an account of a backend."""
    found = set(tx.execute(select(_a.user_id).where(_a.is_active.is_(True))).scalars())
    local = local_user(tx, settings)
    if settings["notes.simplenote.username"] and local is not None:
        found.add(local)
    return sorted(found)


def purge_history(tx: Tx, retention: float) -> int:
    """Delete some versions, of all users, erased over `retention` seconds ago; return how many."""
    key = (_v.user_id, _v.account, _v.note_id, _v.local_version)
    expired = select(*key).where(_v.gone_at < tx.now.timestamp() - retention)
    some = expired.limit(MAX_PURGED_ROWS).with_for_update(skip_locked=True)
    statement: Any = delete(note_versions).where(tuple_(*key).in_(some))
    return tx.execute(statement).rowcount


def fold_tag(tag: str) -> str:
    """Normalize a tag for comparison.

    Of one that is too long for PostgreSQL's index, as a backend or a file may have it, the hash.
    """
    folded = tags.fold_tag(tag)
    is_short = len(folded) <= _MAX_INDEXED_TAG
    return folded if is_short else hashlib.sha256(folded.encode()).hexdigest()


def _title(text: str) -> str:
    """Cut the first line that is not blank to 80 characters; "" if there is none."""
    start = text[:_TITLE_SCAN_CHARACTERS].removeprefix("\ufeff").lstrip()
    line = start.splitlines()[0].rstrip() if start else ""
    return line if len(line) <= MAX_TITLE_LENGTH else line[: MAX_TITLE_LENGTH - 1] + "…"


def _note_values(note: Note) -> dict[str, Any]:
    values = content_values(note.content)
    del values["content"]  # of another table
    return {
        "number": note.number,
        "account": note.account,
        "id": note.id,
        "local_version": note.local_version,
        "server_version": note.backend.server_version,
        "sync_state": note.backend.sync_state,
        "source": note.source,
        "title": _title(note.content.text),
        **values,
    }


def content_values(content: Content) -> dict[str, Any]:
    """Return a content by the names of its columns."""
    return {
        "content": content.text,
        "trash": content.trash,
        "modified": content.modified,
        "created": content.created,
        "tags": list(content.tags),
        "system_tags": list(content.system_tags),
        "extra": dict(content.extra),
    }


def _text_values(note: Note) -> dict[str, Any]:
    return {
        "content": note.content.text,
        "base": None if note.backend.base is None else dict(note.backend.base),
    }


def _note_of(row: Mapping[Any, Any]) -> Note:
    return Note(
        number=row["number"],
        account=row["account"],
        id=row["id"],
        content=content_of(row),
        local_version=row["local_version"],
        source=row["source"],
        backend=BackendState(row["sync_state"], row["server_version"], row["base"]),
    )


def content_of(row: Mapping[Any, Any]) -> Content:
    """Build a content from its columns and its text."""
    return Content(
        text=row["content"],
        tags=tuple(row["tags"]),
        trash=row["trash"],
        modified=row["modified"],
        created=row["created"],
        system_tags=tuple(row["system_tags"]),
        extra=row["extra"],
    )


def _settings_account(tx: Tx, settings: Settings) -> Account | None:
    username: str = settings["notes.simplenote.username"]
    if not username or local_user(tx, settings) != tx.scope.user_id:
        return None
    key = account_key(username)
    return get_account(tx, key) or Account(key, is_active=False, username=username)


def _account_of(row: Mapping[Any, Any]) -> Account:
    return Account(**{name: value for name, value in row.items() if name != "user_id"})
