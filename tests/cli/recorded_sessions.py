"""Write anew what the recorded sessions of examples/traces cost: `make traces`.

Their roots are packages that the requirements pin, so the figures hold on every machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

TRACES: Final = Path(__file__).parents[2] / "examples" / "traces"
FIGURES: Final = TRACES / "figures.json"


def find_source(package: str) -> Path:
    """Return the folder of an installed package, which is not imported."""
    spec = find_spec(package)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


ROOTS: Final = {
    "question-route": find_source("starlette"),
    "question-option": find_source("click"),
    "plan": TRACES / "files",
    "configuration": TRACES / "files",
}
"""Each session with its root."""
_PROGRAM: Final = """
from rolltop.cli import main
from tests.limits import raise_limits
raise_limits()
raise SystemExit(main())
"""
"""`rolltop`, as the tests run it: answers depend on no speed."""
SETTINGS: Final = (
    "project=billing",
    *(f"{name}.semantic_search=off" for name in ("scratch", "retrieval")),
)


def arguments(session: str, folder: Path) -> list[str]:
    """Return the command that replays a session, on a copy of its root in the folder.

    What else lies around, such as compiled files and a repository's ignore rules, changes answers.
    """
    root = folder / "root"
    shutil.copytree(ROOTS[session], root, ignore=shutil.ignore_patterns("__pycache__"))
    settings = [option for setting in SETTINGS for option in ("--set", setting)]
    file = str(TRACES / f"{session}.jsonl")
    return ["trace", file, "--root", str(root), "--shell", "--json", *settings]


def figures(trace: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a trace that are the same on every machine."""
    calls = [f"{call['name']}: {call['sent']} + {call['answered']}" for call in trace["calls"]]
    sums = {name: sum_up(trace[name]) for name in trace if name != "calls"}
    return {"calls": calls, **sums}


def sum_up(total: dict[str, Any]) -> dict[str, Any]:
    """Return how many of something there were, and their tokens."""
    return {"count": total["count"], "tokens": total["sent"] + total["answered"]}


def main() -> None:
    """Write the figures."""
    measured = {}
    for session in ROOTS:
        with tempfile.TemporaryDirectory() as home:
            command = [sys.executable, "-c", _PROGRAM, *arguments(session, Path(home))]
            environment = {"HOME": home, "PATH": os.environ["PATH"]}
            done = subprocess.run(command, check=True, capture_output=True, env=environment)
        measured[session] = figures(json.loads(done.stdout))
    FIGURES.write_text(json.dumps(measured, indent=2) + "\n")


if __name__ == "__main__":
    main()
