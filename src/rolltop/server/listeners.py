"""The sockets that a server listens on."""

from __future__ import annotations

import errno
import os
import socket
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from rolltop.core.errors import InvalidConfig, RolltopError, StartupError

BACKLOG: Final = 2048
_SOCKET_MODE: Final = 0o600


def bind_tcp_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        InvalidConfig: this machine has no such address.
        StartupError: the port is taken, or may not be used.

    """
    with ExitStack() as closing:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, kind, protocol, _, address = found[0]
            listener = closing.enter_context(socket.socket(family, kind, protocol))
            if os.name == "posix":
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
        except (OSError, ValueError) as failure:
            raise _listen_error(host, port, failure) from failure
        closing.pop_all()
    return listener


def _listen_error(host: str, port: int, failure: OSError | ValueError) -> RolltopError:
    reason = getattr(failure, "strerror", None) or "it is no address"
    said = f"http.host, http.port: cannot listen on {host!r}, port {port}: {reason}"
    if getattr(failure, "errno", None) in {errno.EADDRINUSE, errno.EACCES}:
        return StartupError(said, hint="Choose another port; 0 takes a free one.")
    return InvalidConfig(said, hint="Choose an address of this machine.")


def bind_unix_socket(path: Path) -> socket.socket:
    """Return a listening Unix socket that only its owner can use; a dead one is replaced.

    Raises StartupError: somebody listens there, or the path holds something else.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.exists() and _is_stale_socket(path):
            path.unlink()
        mask = os.umask(0o777 & ~_SOCKET_MODE)
        try:
            listener.bind(str(path))
        finally:
            os.umask(mask)
        listener.listen(BACKLOG)
    except OSError as failure:
        listener.close()
        raise StartupError(
            f"http.socket: cannot listen on {path}: {failure.strerror or failure}",
            hint="Choose another path, or stop the server that listens there.",
        ) from failure
    return listener


def _is_stale_socket(path: Path) -> bool:
    """Whether the path is a socket that nobody answers at."""
    if not stat.S_ISSOCK(path.stat().st_mode):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        return probe.connect_ex(str(path)) == errno.ECONNREFUSED
