"""A progress bar on a terminal; nothing anywhere else."""

from __future__ import annotations

from typing import Final, Self, TextIO

_WIDTH: Final = 30
_ERASE_LINE: Final = "\r\x1b[K"


class ProgressBar:
    """Shows what is reported on one line of a terminal, and erases it at the end."""

    def __init__(self, stream: TextIO | None) -> None:
        """Draw on `stream` if it is a terminal; a closed standard stream is None."""
        self._stream = stream if stream is not None and stream.isatty() else None
        self._last_line = ""

    def __enter__(self) -> Self:
        """Return the bar."""
        return self

    def __exit__(self, *_: object) -> None:
        """Erase the bar."""
        if self._stream is not None and self._last_line:
            self._stream.write(_ERASE_LINE)
            self._stream.flush()

    def report(self, done: float, total: float | None, message: str) -> None:
        """Show how much is done; without a total, only what is being done."""
        if self._stream is None:
            return
        line = message[:_WIDTH]
        if total:
            part = min(1.0, done / total)
            filled = int(part * _WIDTH)
            line = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {part:4.0%} {line}"
        if line != self._last_line:
            self._last_line = line
            self._stream.write(_ERASE_LINE + line)
            self._stream.flush()
