"""A Simperium server for tests and the demo: Simplenote's endpoints, their semantics and faults.

`Simperium` is the server without a network, `http.Served` puts it on a loopback port, and
`transport.InProcess` lets an httpx2 client talk to it without one. Nothing here imports pytest
or the product: the semantics are the protocol's public ones.
"""

from __future__ import annotations

from tests.simperium.faults import Fault, FaultPlan
from tests.simperium.server import API_KEY, APP_ID, Reply, Request, Simperium

__all__ = ["API_KEY", "APP_ID", "Fault", "FaultPlan", "Reply", "Request", "Simperium"]
