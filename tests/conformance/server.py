"""The product over HTTP with the suite's fixtures: `python -m tests.conformance.server PORT`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rolltop.cli import options
from rolltop.core import settings
from rolltop.server import assembly, http
from tests.conformance.fixtures import install


def main() -> int:
    """Serve until a signal comes; 0."""
    read = settings.load(
        options.declared(),
        environment=os.environ,
        command_line={"http.port": sys.argv[1]},
        working_directory=Path.cwd(),
        user_directory=settings.user_directory(),
    )
    app = assembly.build(read, http=True)
    install(app.server)
    return http.serve(app)


if __name__ == "__main__":
    sys.exit(main())
