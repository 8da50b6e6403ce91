"""A process that makes one call and is killed once the store has kept it, before it answers.

Started with the store's URL, the caller's id, the tool and its arguments as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any, NoReturn

from rolltop.core.db import Database
from rolltop.core.principal import Principal
from tests.desks import call_tool, make_desk


class KilledOnceKept(Database):
    """A store whose process ends with the commit."""

    async def write(self, *arguments: Any, **named: Any) -> NoReturn:
        """Write, and end."""
        await super().write(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError


if __name__ == "__main__":
    url, user_id, tool, arguments = sys.argv[1:]
    desk = make_desk(KilledOnceKept(url))
    call_tool(desk, Principal.for_user(user_id), tool, **json.loads(arguments))
