"""Several processes on one store, a step at a time in an order that a seed draws.

`python -m tests.torture.test_interleavings SEED [-wal|-shm]` prints the steps of one schedule, in
which the file of that ending is removed.
"""

from __future__ import annotations

import random
import sqlite3
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from tests.campaign import examples
from tests.forks import Forked

PROCESSES: Final = 3
STEPS: Final = 80
SCHEDULES: Final = 6
CHECKPOINTS: Final = ("PASSIVE", "FULL", "RESTART", "TRUNCATE")
MOVES: Final = {
    "absent": {"start": 1},
    "started": {"open": 8, "crash": 1},
    "idle": {"begin": 8, "read": 4, "snapshot": 3, "checkpoint": 4, "close": 1, "crash": 1},
    "writing": {"commit": 8, "roll back": 2, "crash": 2},
    "looking": {"look": 6, "crash": 1},
}
"""What a process may do in each of its states, and how often it does."""


OPEN: Final = {"idle", "writing", "looking"}


class Schedule:
    """The model: which pairs have been acknowledged, and in which state each process is.

    With `removed`, somebody removes the store's file with that ending at a step that is drawn.
    """

    def __init__(self, seed: int, folder: Path, *, removed: str = "", early: bool = False) -> None:
        self._draw: Final = random.Random(seed)  # noqa: S311  # no secret
        self._file: Final = folder / "store" / "desk.db"
        self._program: Final = ["-m", "tests.torture.steps", f"sqlite:///{self._file}"]
        self._program.extend(["early"] * early)
        self._running: Final = ExitStack()
        self._processes: Final[dict[int, Forked]] = {}
        self._states: Final = dict.fromkeys(range(PROCESSES), "absent")
        self._pending: Final[dict[int, str]] = {}
        """The pair that a process is writing."""
        self._seen: Final[dict[int, set[str]]] = {}
        """The pairs that there were when a process began to look."""
        self._made = False
        self._removed: Final = removed
        self._removed_at: Final = self._draw.randrange(STEPS) if removed else STEPS
        self._cut_off: Final[set[int]] = set()
        """The processes that had the file open which was removed."""
        self._at_risk: Final[set[str]] = set()
        """The pairs that may have been in a log that was removed, and nowhere else."""
        self.acknowledged: Final[set[str]] = set()
        self.trace: Final[list[str]] = [f"seed {seed}"]

    def run(self) -> None:
        """Take all steps; then require that what was acknowledged, and no more, is there."""
        with self._running:
            for number in range(STEPS):
                if number == self._removed_at:
                    self._remove()
                who = self._draw.randrange(PROCESSES)
                moves = MOVES[self._states[who]]
                (move,) = self._draw.choices(list(moves), list(moves.values()))
                self._step(number, who, move)
            for who in self._processes:
                self._crash(who)
        if self._made:
            self._require_whole()

    def _step(self, number: int, who: int, move: str) -> None:
        self.trace.append(f"{number}: process {who} ({self._states[who]}): {move}")
        if move == "start":
            self._processes[who] = self._running.enter_context(Forked(self._program))
            self._states[who] = "started"
        elif move == "crash":
            self._crash(who)
        elif who in self._cut_off and move in {"begin", "checkpoint", "read", "snapshot", "commit"}:
            self._require_refused(who, move)
        elif move == "begin":
            self._begin(who, f"p{number}")
        elif move == "checkpoint":
            mode = self._draw.choice(CHECKPOINTS)
            assert self._say(who, f"checkpoint {mode}") in {"checkpointed", "refused"}
        elif move == "read":
            self._require(self._say(who, "read"), self.acknowledged)
        elif move == "look":
            self._require(self._say(who, "go on"), self._seen.pop(who))
            self._states[who] = "idle"
        elif move == "snapshot":
            self._seen[who] = set(self.acknowledged)
            assert self._say(who, "snapshot") == "looking"
            self._states[who] = "looking"
        else:
            self._move_on(who, move)

    def _move_on(self, who: int, move: str) -> None:
        """Open, close, commit or roll back."""
        answer = self._say(who, move)
        if move == "open":
            # To open takes the writer's lock where there is anything to do.
            may_refuse = self._pending or self._cut_off
            assert answer == "opened" or (answer == "refused" and may_refuse), answer
            self._states[who] = "idle" if answer == "opened" else "started"
            if answer == "opened" and self._at_risk:
                self._take_stock(self._say(who, "read"))
            self._made = self._made or answer == "opened"
        elif move == "close":
            assert answer == "closed", answer
            self._states[who] = "started"
            self._cut_off.discard(who)
        else:
            assert answer == ("committed" if move == "commit" else "rolled-back"), answer
            pair = self._pending.pop(who)
            self._states[who] = "idle"
            if move == "commit":
                self.acknowledged.add(pair)

    def _begin(self, who: int, pair: str) -> None:
        """Begin to write, which is refused exactly while another process writes."""
        is_locked = bool(self._pending.keys() - self._cut_off)  # theirs are other locks
        assert self._say(who, f"begin {pair}") == ("refused" if is_locked else "begun")
        if not is_locked:
            self._pending[who] = pair
            self._states[who] = "writing"

    def _remove(self) -> None:
        file = self._file.with_name(self._file.name + self._removed)
        self.trace.append(f"{file.name} is removed")
        if file.exists():
            file.unlink()
            self._cut_off.update(who for who, state in self._states.items() if state in OPEN)
            if self._removed == "-wal":
                self._at_risk.update(self.acknowledged)

    def _require_refused(self, who: int, move: str) -> None:
        """Require that nothing is read or acknowledged with a file that was removed."""
        line = {"begin": "begin lost", "checkpoint": "checkpoint PASSIVE"}.get(move, move)
        assert self._say(who, line) == "refused"
        self._states[who] = "idle"
        self._pending.pop(who, None)

    def _take_stock(self, said: str) -> None:
        """Take it that what is gone was in the log that was removed."""
        seen = set(said.replace("-1@x", "").replace("-2@x", "").split()) - {"-"}
        assert self.acknowledged - self._at_risk <= seen <= self.acknowledged
        self.acknowledged.intersection_update(seen)
        self._at_risk.clear()
        self._require(said, seen)

    def _crash(self, who: int) -> None:
        process = self._processes[who]
        process.kill()
        process.wait()
        self._states[who] = "absent"
        self._cut_off.discard(who)
        self._pending.pop(who, None)
        self._seen.pop(who, None)

    def _say(self, who: int, line: str) -> str:
        process = self._processes[who]
        process.stdin.write(f"{line}\n".encode())
        process.stdin.flush()
        answer = process.stdout.readline().decode().strip()
        self.trace.append(f"    {line} → {answer[:200]}")
        if not answer:
            process.kill()
            raise AssertionError(process.stderr.read().decode())
        return answer

    def _require(self, said: str, pairs: set[str]) -> None:
        """Require that a process sees just these pairs, both halves of each."""
        seen: set[str] = set() if said == "-" else set(said.split())
        assert seen == {f"{pair}-{half}@x" for pair in pairs for half in (1, 2)}

    def _require_whole(self) -> None:
        with closing(sqlite3.connect(self._file)) as connection:
            rows = connection.execute("SELECT email FROM users").fetchall()
            checked = connection.execute("PRAGMA integrity_check").fetchall()
        assert checked == [("ok",)]
        said = " ".join(row[0] for row in rows) or "-"
        self._take_stock(said)
        self._require(said, self.acknowledged)


def run_schedule(seed: int, *, removed: str = "", early: bool = False) -> Schedule:
    """Return a schedule that went well; one that did not fails with its seed and steps."""
    with TemporaryDirectory() as folder:
        schedule = Schedule(seed, Path(folder), removed=removed, early=early)
        try:
            schedule.run()
        except AssertionError as failure:
            raise AssertionError("\n".join([*schedule.trace, str(failure)])) from failure
        return schedule


def run_schedules(count: int, *, removed: str = "", early: bool = False) -> list[Schedule]:
    """Return the schedules of the first seeds."""
    return [run_schedule(seed, removed=removed, early=early) for seed in range(count)]


def test_whatever_the_order_nothing_acknowledged_is_lost() -> None:
    schedules = run_schedules(examples(SCHEDULES))
    assert sum(len(schedule.acknowledged) for schedule in schedules) >= len(schedules)
    assert schedules[0].trace == run_schedule(0).trace, "a seed is one order"


@pytest.mark.parametrize("ending", ["-wal", "-shm"])
def test_nothing_acknowledged_after_a_side_file_was_removed_is_lost(ending: str) -> None:
    schedules = run_schedules(examples(SCHEDULES), removed=ending)
    assert sum(len(schedule.acknowledged) for schedule in schedules) >= len(schedules)


def test_a_write_acknowledged_before_its_commit_is_noticed() -> None:
    lost = r"(?s)seed \d.*process \d \(idle\): "
    with pytest.raises(AssertionError, match=lost):
        run_schedules(SCHEDULES, early=True)


if __name__ == "__main__":
    schedule = run_schedule(int(sys.argv[1]), removed="".join(sys.argv[2:]))
    print("\n".join(schedule.trace))  # noqa: T201
