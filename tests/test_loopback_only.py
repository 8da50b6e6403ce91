"""No test can reach another machine, so what passes here needs no network."""

from __future__ import annotations

import socket

import pytest

from tests.loopback_only import OutsideConnection


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1", "example.org"])
def test_a_connection_to_another_machine_is_refused(host: str) -> None:
    with pytest.raises(OutsideConnection):
        socket.create_connection((host, 80))


def test_a_name_is_not_looked_up() -> None:
    with pytest.raises(OutsideConnection):
        socket.getaddrinfo("example.org", 443)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_loopback_is_reached(host: str) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection((host, server.getsockname()[1])) as made,
    ):
        assert made.getpeername() == server.getsockname()
