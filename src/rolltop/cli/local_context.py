"""The context of one command: the server's own, used without a transport."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rolltop.cli.lazy_modules import app, asyncio, dispatch, identity
from rolltop.core.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Generator

    from rolltop.core.context import AppContext, ProgressCallback
    from rolltop.core.dispatch import Answer, RegisteredTool
    from rolltop.core.principal import Principal
    from rolltop.core.settings import Settings

ACTOR = "command line"


@contextmanager
def open_context(settings: Settings) -> Generator[AppContext]:
    """Open the context that the settings describe for as long as the command needs it.

    Raises InvalidConfig: a setting names something that cannot be.
    """
    context = app.build_context(settings)
    try:
        yield context
    finally:
        context.close()


def local_principal(app: AppContext) -> Principal:
    """Return the local user. Raises InvalidConfig, StartupError and Unavailable as `call_tool`."""
    user = identity.LocalUser(app)
    user.check()
    return asyncio.run(user.principal(ACTOR))


def require_write(principal: Principal) -> None:
    """Make sure that the local user may write. Raises InvalidArgument for a viewer."""
    if reason := principal.viewer_reason:
        raise InvalidArgument(
            reason,
            hint="`rolltop workspace invite NAME EMAIL --role editor` lets a member write.",
        )


def call_tool(
    app: AppContext,
    registered: RegisteredTool,
    arguments: object,
    report: ProgressCallback,
    actor: str = ACTOR,
) -> Answer:
    """Return the answer of one call by the local user, with the client that `actor` names.

    Raises:
        InvalidConfig: the settings name a user the store does not know.
        StartupError: the store is refused.
        Unavailable: the store is out of reach.

    """
    user = identity.LocalUser(app)
    user.check()

    async def call() -> Answer:
        scope = await user.principal(actor, needed=registered.toolset.needs_store)
        return await dispatch.dispatch(app, registered.name, scope, arguments, report=report)

    return asyncio.run(call())
