# Made like sqlite3 but not of it: its classes are no subclasses of sqlite3's when the program runs.
import sqlite3

class Connection(sqlite3.Connection):
    def set_key(self, key: str, /) -> None: ...

class Error(sqlite3.Error): ...

def connect(
    database: str,
    *,
    timeout: float = ...,
    isolation_level: None = ...,
    check_same_thread: bool = ...,
    uri: bool = ...,
) -> Connection: ...
