"""The server without the job that makes the ranked index: that takes ten times the exact one's."""

from __future__ import annotations

import sys
from types import SimpleNamespace

from rolltop.__main__ import main
from rolltop.toolsets.retrieval import jobs


def _nothing(_desk: object) -> None:
    pass


if __name__ == "__main__":
    jobs.ranking = SimpleNamespace(update=_nothing)
    sys.exit(main())
