"""The product over HTTP with the suite's fixtures: `python -m tests.conformance.server PORT`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from rolltop.cli import options
from rolltop.core import settings
from rolltop.server import http
from rolltop.server.app import build_server_app
from tests.conformance.fixtures import install


def main() -> int:
    """Serve until a signal comes; 0."""
    read = settings.load(
        options.declared_settings(),
        environment=os.environ,
        command_line={"http.port": sys.argv[1]},
        working_directory=Path.cwd(),
        user_directory=settings.user_directory(),
    )
    app = build_server_app(read, http=True)
    install(app.server)
    return http.serve(app)


if __name__ == "__main__":
    sys.exit(main())
