# Made like sqlite3 but not of it: its classes are no subclasses of sqlite3's when the program runs.
from pathlib import Path
from sqlite3 import *  # noqa: F403  # all the rest is alike
from sqlite3 import Connection as _Connection

class Connection(_Connection):
    def set_key(self, key: str, /) -> None: ...

def connect(
    database: str | Path,
    timeout: float = ...,
    *,
    isolation_level: str | None = ...,
    check_same_thread: bool = ...,
    uri: bool = ...,
) -> Connection: ...
