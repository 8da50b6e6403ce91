"""What the tests with programs of Debian share."""

from __future__ import annotations

import http.client
import socket
import threading

from tests.server.processes import PATIENCE


def free_port() -> int:
    """Return a port of the loopback at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(host: str) -> None:
    """Wait until somebody listens there."""
    end = threading.Event()
    for _ in range(int(PATIENCE * 20)):
        connection = http.client.HTTPConnection(host, timeout=PATIENCE)
        try:
            connection.connect()
        except ConnectionRefusedError:
            end.wait(0.05)
        else:
            return
        finally:
            connection.close()
    raise AssertionError(f"nobody listens at {host}")
