"""Lets no test reach another machine: connections go to loopback and to Unix sockets only."""

from __future__ import annotations

import ipaddress
import sys
from typing import Any, Final

ADDRESS_EVENTS: Final = {"socket.connect", "socket.sendto", "socket.sendmsg"}
LOOKUP_EVENTS: Final = {"socket.getaddrinfo", "socket.gethostbyname"}
HERE: Final = {"", "localhost", "testserver"}


class OutsideConnection(RuntimeError):
    """A test, or the product in it, tried to reach another machine."""


def is_here(host: object) -> bool:
    """Whether a host is this machine, by name or address; None is every address of it."""
    if host is None:
        return True
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    if name in HERE:
        return True
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def refuse_outside(event: str, arguments: tuple[Any, ...]) -> None:
    """Raise OutsideConnection where an audit event is about another machine."""
    host: object = None
    if event in ADDRESS_EVENTS:
        # A Unix socket's address is a path; a connected socket sends to None.
        match arguments[1]:
            case (str() | bytes() as name, *_):
                host = name
            case _:
                return
    elif event in LOOKUP_EVENTS:
        host = arguments[0]
    else:
        return
    if not is_here(host):
        raise OutsideConnection(f"{event} to {host!r}: tests reach this machine only")


def pytest_configure() -> None:
    """Watch every connection of this process from now on."""
    sys.addaudithook(refuse_outside)
