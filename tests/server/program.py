"""A server for tests: the product's own, with the test toolsets besides its own.

`python -m tests.server.program stdio|http key=value…`: each value is read as the setting's text.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rolltop.core import logging
from rolltop.core.errors import RolltopError
from rolltop.core.settings import CORE_SETTINGS, load
from rolltop.server.app import build_server_app
from rolltop.toolsets import TOOLSETS
from tests.core.example_toolset import EXAMPLE
from tests.server.probe_toolset import PROBE


def main() -> int:
    """Serve as the command line does; the exit codes are its own."""
    transport, *pairs = sys.argv[1:]
    toolsets = (*TOOLSETS, EXAMPLE, PROBE)
    declared = (*CORE_SETTINGS, *(s for toolset in toolsets for s in toolset.settings))
    try:
        settings = load(
            declared,
            environment={},
            command_line=dict(pair.split("=", 1) for pair in pairs),
            working_directory=Path.cwd(),
            user_directory=Path.cwd() / "nowhere",
        )
        logging.configure(level=settings["log_level"], form="text", file=None)
        app = build_server_app(settings, http=transport == "http", toolsets=toolsets)
        if transport == "http":
            from rolltop.server import http  # noqa: PLC0415  # stdio loads no web server

            return http.serve(app)
        from rolltop.server import stdio  # noqa: PLC0415  # HTTP needs no pipes

        return stdio.serve(app)
    except RolltopError as error:
        sys.stderr.write(f"{error.message} {error.hint}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
