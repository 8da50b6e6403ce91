"""Four processes on one store, killed at random: nothing acknowledged is lost or half done."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Final

from sqlcipher3 import dbapi2 as sqlite3

from rolltop.core.accounts import list_users
from rolltop.core.db import SYSTEM
from rolltop.core.db.driver import Driver
from tests.campaign import examples
from tests.core.db.encrypted import KEY, opened, url_of
from tests.forks import Forked

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from rolltop.core.db import Database
    from tests.databases import MakeDatabase

WRITERS: Final = 4
KILLED_WHILE_OPENING: Final = 0.25
MAX_LIFE: Final = 120  # acknowledged writes
MAX_DELAY: Final = 0.004  # seconds: several writes, so that a kill falls into any part of one


class Campaign:
    """What the writers have acknowledged, and how often one was killed."""

    def __init__(
        self,
        url: str,
        wanted: int,
        passphrase: str = "",
        *,
        program: str = "tests.torture.writer",
        max_life: int = MAX_LIFE,
    ) -> None:
        self._url = url
        self._passphrase = passphrase
        self._wanted = wanted
        self._program = program
        self._max_life = max_life
        self._guard = threading.Lock()
        self.acknowledged: set[str] = set()
        self.kills = 0

    def run(self) -> None:
        """Let four writers live and die until enough is acknowledged."""
        with ThreadPoolExecutor(WRITERS) as slots:
            for future in [slots.submit(self._fill_slot, slot) for slot in range(WRITERS)]:
                future.result()

    def _fill_slot(self, slot: int) -> None:
        chance = random.Random(slot)  # noqa: S311  # no secret
        life = 0
        while len(self.acknowledged) < self._wanted:
            life += 1
            opening = chance.random() < KILLED_WHILE_OPENING
            writes = 0 if opening else chance.randint(1, self._max_life)
            self._live(f"w{slot}-{life}", writes, chance.uniform(0, MAX_DELAY))

    def _live(self, name: str, writes: int, delay: float) -> None:
        """Run one writer, kill it after so many writes, and note all it had acknowledged."""
        program = ["-m", self._program, self._url, name]
        with Forked([*program, *filter(None, [self._passphrase])]) as process:
            said: list[str] = []
            for line in process.stdout:
                said.append(line.decode().rstrip("\n"))
                if len(said) == writes + 1:
                    threading.Event().wait(delay)
                    process.kill()  # what it says until it is dead still counts
            code = process.wait()
            assert code < 0, f"writer {name} ended by itself with {code}: {process.stderr.read()}"
        with self._guard:
            self.kills += 1
            self.acknowledged.update(said[1:])


def require_all(database: Database, campaign: Campaign) -> str:
    """Return the figures; fails if anything acknowledged is not there, or half of a pair."""
    rows = {user.email for user in database.read_sync(SYSTEM, list_users)}
    kept = {row.removesuffix("-1@x") for row in rows if row.endswith("-1@x")}
    lost = campaign.acknowledged - kept
    assert lost == set()
    assert rows == {f"{name}-{half}@x" for name in kept for half in (1, 2)}, "no half pair"
    return (
        f"{len(campaign.acknowledged)} acknowledged, {campaign.kills} kills,"
        f" acknowledged - kept = {len(lost)}"
    )


def test_nothing_acknowledged_is_lost(
    empty_url: str, make_database: MakeDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = Campaign(empty_url, wanted=examples(400))
    campaign.run()
    database = make_database(empty_url)
    figures = require_all(database, campaign)
    with capsys.disabled():
        print(f"\n{database.url_kind}: {figures}")  # noqa: T201  # what the campaign is for
    assert len(campaign.acknowledged) >= examples(400)
    if database.path is not None:
        database.close()
        with closing(sqlite3.connect(database.path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_nothing_acknowledged_is_lost_of_an_encrypted_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new" / "desk.db"
    campaign = Campaign(url_of(file), wanted=examples(100), passphrase=KEY.passphrase)
    campaign.run()
    with opened(file, KEY) as database:
        figures = require_all(database, campaign)
    with capsys.disabled():
        print(f"\nencrypted: {figures}")  # noqa: T201  # as above
    with closing(Driver(KEY).connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA cipher_integrity_check").fetchall() == []
