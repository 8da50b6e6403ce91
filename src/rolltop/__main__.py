"""`python -m rolltop`, and the `rolltop` command."""

from __future__ import annotations

import sys

from rolltop.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
