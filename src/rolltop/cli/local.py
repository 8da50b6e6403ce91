"""A desk for one command: the server's own, used without a transport."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rolltop.core.lazy import lazy

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Generator

    from rolltop.core import invoke
    from rolltop.core.call import Report
    from rolltop.core.desk import Desk
    from rolltop.core.invoke import Answer
    from rolltop.core.registry import Offer
    from rolltop.core.settings import Settings
    from rolltop.server import assembly, identity
else:
    asyncio = lazy("asyncio")
    assembly = lazy("rolltop.server.assembly")
    identity = lazy("rolltop.server.identity")
    invoke = lazy("rolltop.core.invoke")

ACTOR = "command line"


@contextmanager
def opened(settings: Settings) -> Generator[Desk]:
    """Return the desk the settings describe for as long as the command needs it.

    Raises:
        ConfigInvalid: a setting names something that cannot be.

    """
    desk = assembly.build_desk(settings)
    try:
        yield desk
    finally:
        desk.close()


def answer(desk: Desk, offer: Offer, arguments: object, report: Report) -> Answer:
    """Return the answer of one call by the local user.

    Raises:
        ConfigInvalid: the settings name a user the store does not know.
        StartFailed: the store is refused.
        Unavailable: the store is out of reach.

    """
    user = identity.LocalUser(desk)
    user.check()

    async def call() -> Answer:
        scope = await user.scope(ACTOR, needed=offer.toolset.needs_store)
        return await invoke.invoke(desk, offer.name, scope, arguments, report=report)

    return asyncio.run(call())
