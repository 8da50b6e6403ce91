"""The server without the job that makes the ranked index: that takes ten times the exact one's."""

from __future__ import annotations

import sys
from types import SimpleNamespace

from rolltop.__main__ import main
from rolltop.toolsets.retrieval import jobs


def _do_nothing(_app: object) -> None:
    pass


def _has_pending(_app: object) -> bool:
    return False


if __name__ == "__main__":
    jobs.ranking = SimpleNamespace(update_index=_do_nothing, has_pending=_has_pending)
    sys.exit(main())
