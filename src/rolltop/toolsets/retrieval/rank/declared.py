"""Names that a text seems to declare: found fast and roughly, to propose pieces by.

What is answered comes from outlines; a name missed or found in vain here costs a rank among the
proposals. Each expression begins with a line break, which the scan leaps to.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.text.outline import Kind

_PYTHON: Final = re.compile(r"\n[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")
_RUBY: Final = re.compile(r"\n[ \t]*(?:def|class|module)[ \t]+(?:self\.)?(\w+)")
_SHELL: Final = re.compile(r"\n[ \t]*(?:function[ \t]+)?([\w:.-]{1,80})[ \t]*\([ \t]*\)")
_C: Final = re.compile(
    r"\n(?:(?:typedef[ \t]+)?(?:class|struct|union|enum|namespace)[ \t]+(\w+)[^\n;(]{0,80}(?=\n)"
    r"|(?=[A-Za-z_])[\w \t*&:<>,~]{1,160}?[ \t*&:~](\w+)[ \t]*\((?![^\n]{0,200};[ \t]*\n))"
)
_WORDS: Final = (
    r"(?:export|default|declare|abstract|public|private|protected|internal|static|final|sealed|pub"
    r"|override|virtual|async|unsafe|const|open|data|inline|suspend|partial|readonly|extern)"
)
_BRACES: Final = re.compile(
    rf"\n[ \t]*(?:{_WORDS}(?:\([^\n()]{{0,20}}\))?[ \t]+){{0,6}}"
    r"(?:(?:class|interface|enum|struct|trait|mod|module|namespace|record|object|protocol"
    r"|extension|actor|type|union|func|fun|fn|function\*?|impl)[ \t]+"
    r"(?:\([^\n()]{0,80}\)[ \t]*)?(\w+)"
    r"|(?:[\w.<>\[\]?,]{1,80}[ \t]+)?([\w$]+)[ \t]*\([^\n;]{0,200}\{[ \t]*(?=\n)"
    r"|(?:let[ \t]+|var[ \t]+)?([\w$]+)[ \t]*=[ \t]*(?:async[ \t]*)?"
    r"(?:function\b|\([^\n]{0,200}=>))"
)
_MARKDOWN: Final = re.compile(r"\n {0,3}#{1,6}[ \t]+([^\n]{1,200})")
_UNDERLINED: Final = re.compile(r"\n([^\n]{2,200})\n(?=([=\-~^\"'#*+.:_`])\2{2,}[ \t]*(?:\n|$))")
_MARKED: Final = re.compile(r"\n(?:=+|\*+)[ \t]+([^\n]{1,200})")
_HTML: Final = re.compile(r"<h[1-6][^>\n]{0,200}>([^<]{1,200})")
_LATEX: Final = re.compile(r"\\(?:part|chapter|(?:sub){0,2}section|paragraph)\*?\{([^}]{1,200})")

_BY_KIND: Final[dict[str, tuple[re.Pattern[str], ...]]] = {
    "python": (_PYTHON,),
    "ruby": (_RUBY,),
    "shell": (_SHELL,),
    "c": (_C,),
    "markdown": (_MARKDOWN, _UNDERLINED),
    "notebook": (_MARKDOWN,),
    "restructuredtext": (_UNDERLINED,),
    "asciidoc": (_MARKED, _UNDERLINED),
    "org": (_MARKED,),
    "html": (_HTML,),
    "latex": (_LATEX,),
    "text": (_UNDERLINED,),
} | dict.fromkeys(
    ("javascript", "java", "csharp", "go", "rust", "php", "kotlin", "swift"), (_BRACES,)
)


def declared(text: str, kind: Kind) -> Iterator[tuple[int, str]]:
    """Yield where a name or title begins, in code points, and the name."""
    for pattern in _BY_KIND.get(kind, ()):
        for found in pattern.finditer(f"\n{text}"):
            group = found.lastindex or 1
            if pattern is _UNDERLINED:
                group = 1
            if found.start(group) > 0:
                yield found.start(group) - 1, found[group]
