"""Cells as HTML in the colours of their languages: the program of a worker process.

Pygments matches by backtracking, which takes for ever on some texts: a timer ends it.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, Final

from markupsafe import escape

Spans = list[tuple[int, int, str]]
"""Parts of a text in order: start, end, class."""

_NAMES: Final = {"h": "c", "hpp": "cpp", "htm": "html"}
"""What Pygments calls a language, where cells call it otherwise."""
_CLASSES: Final = {
    "Token": "",
    "Token.Comment": "c",
    "Token.Comment.Preproc": "k",
    "Token.Generic.Heading": "k",
    "Token.Generic.Subheading": "k",
    "Token.Keyword": "k",
    "Token.Keyword.Constant": "n",
    "Token.Literal.Number": "n",
    "Token.Literal.String": "s",
    "Token.Name.Attribute": "d",
    "Token.Name.Class": "d",
    "Token.Name.Decorator": "d",
    "Token.Name.Function": "d",
    "Token.Name.Tag": "d",
    "Token.Operator.Word": "k",
}
"""Of page.css, by Pygments' types of tokens; other types have that of the type above them."""
# HTML loads the languages that it holds when it meets them.
_WARM_UP: Final = "<script>1</script><style>a{}</style>"


class _TimeIsUp(BaseException):
    """No Exception, so that no lexer takes it for one of its own."""


class Colourer:
    """Called with cells, each a language and a text; returns the lines of each, as HTML.

    What `seconds` of processor time do not suffice for is plain; loading a language at its first
    use does not count.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds: Final = seconds
        self._is_counting = False
        if sys.platform != "win32":  # where the pool ends the process, later
            signal.signal(signal.SIGPROF, self._stop)

    def __call__(self, cells: Sequence[tuple[str, str]]) -> list[list[str]]:
        """Colour cells, the first ones first."""
        lexers = [_load_lexer(language) for language, _ in cells]
        found: list[Spans] = [[] for _ in cells]
        try:
            self._is_counting = True
            self._set_timer(self._seconds)
            for lexer, (_, text), spans in zip(lexers, cells, found, strict=True):
                _read(lexer, text, spans)
            self._is_counting = False
        except _TimeIsUp:
            pass
        finally:
            self._set_timer(0)
        return [_write(text, spans) for (_, text), spans in zip(cells, found, strict=True)]

    def _set_timer(self, seconds: float) -> None:
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_PROF, seconds)

    def _stop(self, *_: object) -> None:
        if self._is_counting:  # a signal may be handled after the timer was stopped
            self._is_counting = False
            raise _TimeIsUp


@cache
def _load_lexer(language: str) -> Any:  # noqa: ANN401  # Pygments declares no types
    load = import_module("pygments.lexers").get_lexer_by_name
    # Blocks in Markdown may name any of Pygments' 500 languages.
    lexer = load(_NAMES.get(language, language), handlecodeblocks=False)
    _read(lexer, _WARM_UP, [])
    return lexer


def _read(lexer: Any, text: str, spans: Spans) -> None:  # noqa: ANN401  # as above
    end = 0
    for at, kind, value in lexer.get_tokens_unprocessed(f"{text}\n"):  # many end lines by it
        name = _find_class(kind)
        if not name or not value or at < end:
            continue
        is_more = at == end and spans and spans[-1][2] == name
        start = spans.pop()[0] if is_more else at
        end = at + len(value)
        spans.append((start, end, name))


@cache
def _find_class(kind: Any) -> str:  # noqa: ANN401  # as above
    return _CLASSES[str(kind)] if str(kind) in _CLASSES else _find_class(kind.parent)


def _write(text: str, spans: Spans) -> list[str]:
    """Return the lines of a text as HTML; all of the text, whatever the spans are."""
    parts: list[str] = []
    at = 0
    for start, end, name in spans:
        tag = f'<span class="{name}">'
        inner = str(escape(text[start:end])).replace("\n", f"</span>\n{tag}")
        parts += str(escape(text[at:start])), f"{tag}{inner}</span>".replace(f"{tag}</span>", "")
        at = end
    return "".join((*parts, str(escape(text[at:])))).split("\n")
