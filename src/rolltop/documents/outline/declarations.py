"""Patterns of declarations in the languages with braces: data for `source`.

A container (class, namespace, impl…) may hold further declarations; a function's body is not
searched. Patterns are matched at the first character of a line and never cross a line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from rolltop.documents.outline.patterns import angle_brackets, repetition

NOT_NAMES: Final = frozenset(
    (
        "if", "else", "for", "foreach", "while", "do", "switch", "case", "catch", "try", "return",
        "throw", "new", "await", "yield", "typeof", "sizeof", "using", "function", "super", "this",
        "assert", "delete", "static_assert", "synchronized", "with", "elif", "elseif", "lock",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeclarationPatterns:
    """The declarations of a language; `method` counts inside containers only.

    `hidden` may hide braces, like block comments and one-line strings. `bodiless`: a declaration
    without a body is a section too. `bare_functions`: no keyword begins a function, so a name may
    turn out to be a keyword. `arrows`: `=> expression;` may stand for a body. `nameless` matches
    before the brace of a container without a name, which is no section: with `function_values`
    that of a function that is called at once or passed to another. `grouped` is what counts as a
    container inside the parentheses of `type (`. A container that matches a group `bodiless` needs
    no body where a semicolon ends it. `types` matches before a brace that is part of a type.
    """

    container: re.Pattern[str]
    function: re.Pattern[str]
    method: re.Pattern[str] | None = None
    hidden: str = r"//[^\n]*+"
    bodiless: bool = False
    bare_functions: bool = False
    arrows: bool = False
    nameless: re.Pattern[str] | None = None
    function_values: bool = False
    grouped: re.Pattern[str] | None = None
    types: re.Pattern[str] | None = None


def _words(*words: str) -> str:
    """Return a possessive pattern for any number of modifiers.

    Python before 3.11.5 gets possessive groups wrong; a lookahead never backtracks.
    """
    return rf"(?=(?P<words>(?:(?:{'|'.join(words)})[ \t]++)*))(?P=words)"


_TEMPLATE: Final = r"`(?:[^`\\]++|\\.)*`?"
_TEXT_BLOCK: Final = r'"""(?:[^"\\]++|\\.|"(?!""))*(?:""")?'
_RAW_TEXT_BLOCK: Final = r'"""(?:[^"]++|"(?!""))*(?:""")?'
_JS_WORDS = _words("export", "default", "declare", "abstract", "async", "const")
_JS_MEMBER = _words(
    "public", "private", "protected", "static", "readonly", "override", "abstract", "async",
    "get", "set", "accessor",
)  # fmt: skip
_JVM_WORDS = _words(
    r"@(?!interface\b)[\w.]++(?:\([^()\n]*+\))?",
    "public", "private", "protected", "internal", "static", "final", "abstract", "sealed",
    "non-sealed", "partial", "readonly", "override", "virtual", "async", "unsafe", "extern",
    "synchronized", "native", "default", "strictfp", "new", "ref", "open", "data", "inner",
    "value", "annotation", "companion", "suspend", "inline", "infix", "operator", "tailrec",
    "external", "expect", "actual", "lateinit", "fileprivate", "mutating", "nonmutating",
    "convenience", "required", "indirect", "class(?=[ \\t]++func)",
    "fun(?=[ \\t]++interface)", "enum(?=[ \\t]++class)", "nonisolated", "isolated",
    "distributed", "file",
)  # fmt: skip
_TYPE_ARGUMENTS: Final = angle_brackets(r"[^<>\n(){};=]")
_TYPE_PARAMETERS: Final = angle_brackets(r"[^<>\n(){};]")
_TYPE = rf"[\w$.?@\[\]]++(?:{_TYPE_ARGUMENTS}[\w$.?\[\]*&]*+)*"
_MEMBER = (
    rf"{_JVM_WORDS}(?:{_TYPE_PARAMETERS}[ \t]++)?(?:{_TYPE}[ \t]++)?(?P<name>~?\w++)"
    rf"(?:[ \t]*+{_TYPE_PARAMETERS})?[ \t]*+\("
)

JAVASCRIPT: Final = DeclarationPatterns(
    container=re.compile(
        rf"{_JS_WORDS}(?:(?:class|interface|enum|namespace|module)[ \t]++(?P<name>[\w$.]++)"
        r"|module[ \t]++(?P<assigned>[\"'][^\"'\n]*+[\"']))"
    ),
    function=re.compile(
        rf"""{_JS_WORDS}(?:function[ \t]*+\*?[ \t]*+(?P<name>[\w$]++)
          |(?:const|let|var)?[ \t]*+(?P<assigned>[\w$]++)[ \t]*+(?::[^=\n]{{1,200}})?=[ \t]*+
           (?:async[ \t]*+)?(?:function\b|[\w$]++[ \t]*+=>|\([^\n]{{0,400}}=>|\([^()\n]*+$))""",
        re.VERBOSE | re.MULTILINE,
    ),
    method=re.compile(
        rf"{_JS_MEMBER}\*?[ \t]*+(?P<name>\#?[\w$]++)[ \t]*+\??(?:<[^\n(){{}};]{{0,200}}>)?\("
    ),
    hidden=rf"//[^\n]*+|\{{[ \t]*+\}}(?=[ \t]*+[>,])|{_TEMPLATE}"
    r"|(?<=[=(,:;!&|?{}\[\n])[ \t]*+/(?![*/])"
    # What a slash may be hidden in makes it an expression to the line's end where it is not closed.
    r"[^/\\\n\[]*+(?:/|(?=[\\\[])"
    + repetition(r"[^/\\\n\[]++", r"\\.", r"\[(?:[^\]\\\n]++|\\.)*\]?+")
    + r"/?+)",
    nameless=re.compile(
        r"(?:\bfunction[ \t]*+\*?[ \t]*+\([^()]*+(?:\([^()]*+\)[^()]*+)*\)"
        r"(?:[ \t]*+:[^(){};=]{1,60})?|=>)[ \t]*+$"
    ),
    function_values=True,
    types=re.compile(
        r"(?:[<,]|\}[ \t]*=|\):|(?<![|&])[|&]|\bextends|:\s*(?:asserts\s+)?\w+\s+is)\s*+$"
    ),
)

JAVA: Final = DeclarationPatterns(
    container=re.compile(
        rf"{_JVM_WORDS}(?:(?P<bodiless>class|interface|record|struct)|enum|namespace|@interface)"
        r"[ \t]++(?:class[ \t]++|struct[ \t]++)?(?P<name>[\w.]++)"
    ),
    function=re.compile(rf"{_JVM_WORDS}void[ \t]++(?P<name>\w++)[ \t]*+\("),
    method=re.compile(_MEMBER),
    hidden=rf'//[^\n]*+|{_TEXT_BLOCK}|@\$?"(?:[^"]++|"")*"|^[ \t]*+\#[^\n]*+',
)

CSHARP: Final = replace(JAVA, arrows=True)

KOTLIN: Final = DeclarationPatterns(
    container=re.compile(
        rf"{_JVM_WORDS}(?:(?P<assigned>(?<=companion )object(?![ \t]++\w))"
        r"|(?:class|interface|object)[ \t]++(?P<name>\w++))"
    ),
    function=re.compile(
        rf"{_JVM_WORDS}fun[ \t]++(?:<[^\n(){{}}]{{0,200}}>[ \t]++)?(?:[\w.<>?, ]{{1,200}}\.)?"
        r"(?P<name>\w++|`[^`\n]++`)[ \t]*+\("
    ),
    hidden=rf"//[^\n]*+|{_RAW_TEXT_BLOCK}",
    bodiless=True,
)

SWIFT: Final = DeclarationPatterns(
    container=re.compile(
        rf"{_JVM_WORDS}(?:class|struct|enum|protocol|extension|actor)[ \t]++(?P<name>[\w.]++)"
    ),
    function=re.compile(
        rf"{_JVM_WORDS}(?:func[ \t]++(?P<name>[^\s(<]++)|(?P<assigned>init|deinit)\b)"
    ),
    hidden=r"//[^\n]*+"
    r"|(?P<d>\#{1,8})(?:\"\"\"[ \t]*\r?\n(?>.*?\"\"\"(?P=d)|.*)|\"(?>[^\n]*?\"(?P=d)|[^\n]*))"
    rf"|{_TEXT_BLOCK}",
)

_TEMPLATE_PARAMETERS: Final = angle_brackets(r"[^<>\n{};]")
_TEMPLATE_HEAD: Final = rf"(?:template[ \t]*+{_TEMPLATE_PARAMETERS}[ \t]*+)*"
C: Final = DeclarationPatterns(
    container=re.compile(
        rf"""{_TEMPLATE_HEAD}(?:typedef[ \t]++)?(?:static[ \t]++)?
          (?:inline[ \t]++)?(?:class|struct|union|enum(?:[ \t]++(?:class|struct))?|namespace)[ \t]++
          (?:[A-Z_]{{3,}}(?:\([^()\n]*+\))?[ \t]++)?(?P<name>[\w:]++)
          (?![\w:]|[ \t]*+[*&(]|[ \t]++\*?\w[\w:]*+[ \t]*+[\[(=;,])""",
        re.VERBOSE,
    ),
    function=re.compile(
        rf"""(?![:,]|(?:typedef|return|else|case|goto|using|extern[ \t]++\"C\")\b)
          {_TEMPLATE_HEAD}(?!template\b)
          (?:[\w:*&,~\[\]]++(?:{_TYPE_ARGUMENTS}[\w:*&]*+)*[ \t]++[*&]*+){{0,8}}
          (?P<name>(?:\w++(?:{_TYPE_ARGUMENTS})?::)*operator[ \t]*+(?:\([ \t]*+\)|[^\s\w(]{{1,3}})
          |~?[A-Za-z_][\w:~]*+(?:{_TYPE_ARGUMENTS}[\w:~]*+)*)[ \t]*+\(""",
        re.VERBOSE,
    ),
    hidden=r"//[^\n]*+|^[ \t]*+\#(?:[^\\\n]++|\\\r?\n|\\.)*"
    r"|(?<!\w)(?:u8|[uUL])?R\"(?P<d>[^()\\\s]{0,16})\((?>.*?\)(?P=d)\"|.*)",
    bare_functions=True,
    nameless=re.compile(r"\b(?:namespace|extern[ \t]++\"C(?:\+\+)?\")[ \t\r\n]*+$"),
)

GO: Final = DeclarationPatterns(
    container=re.compile(r"type[ \t]++(?P<name>\w++)"),
    grouped=re.compile(r"(?P<name>\w++)(?=[ \t\[])"),
    function=re.compile(r"func[ \t]++(?:\([^()\n]*+\)[ \t]*+)?(?P<name>\w++)"),
    hidden=r"//[^\n]*+|`[^`]*+`|\b(?:interface|struct)[ \t]*+\{[ \t]*+\}",
    bodiless=True,
    types=re.compile(r"^func\b[^\n]*\b(?:struct|interface)[ \t]*+$", re.MULTILINE),
)

RUST: Final = DeclarationPatterns(
    container=re.compile(
        r"(?:pub(?:\([^()\n]*+\))?[ \t]++)?(?:unsafe[ \t]++)?(?:auto[ \t]++)?"
        r"(?:(?:struct|enum|union|trait|mod|macro_rules!)[ \t]++(?P<name>(?!enum\b)\w++)"
        r"|(?P<assigned>impl\b" + repetition(r"[^\n{;\[]++", r"\[[^\n\[\]]*+\]", r"\[") + "))"
    ),
    function=re.compile(
        r"(?:pub(?:\([^()\n]*+\))?[ \t]++)?"
        r"(?:(?:const|async|unsafe|default|extern(?:[ \t]++\"[^\"\n]*+\")?)[ \t]++)*"
        r"fn[ \t]++(?P<name>\w++)"
    ),
    # The length of an array is behind a semicolon.
    hidden=r"//[^\n]*+|;" + repetition(r"[^\[\]\n;{}()]++", r"\([^()\n]*+\)") + r"\]"
    r"|(?<!\w)b?r(?P<d>\#{0,8})\"(?>.*?\"(?P=d)|.*)|'(?:\\[^\n']{1,10}|[^\\\n'])'|'\w++",
    bodiless=True,
    # A macro that declares what is in it, and the branches of `cfg_if!`. A macro of serde lists
    # the words `struct enum`.
    nameless=re.compile(r"(?:\w!|\belse|\#\[cfg\([^\n]*\)\])[ \t]*+$"),
)

_OUTSIDE_TAGS: Final = repetition(r"[^<]++", r"<(?!\?)")
PHP: Final = DeclarationPatterns(
    container=re.compile(
        rf"(?:\#\[[^\n\]]*+\][ \t]*+)?{_words('abstract', 'final', 'readonly')}"
        r"(?:class|interface|trait|enum|namespace)[ \t]++(?P<name>[\w\\]++)"
    ),
    function=re.compile(
        rf"{_words('abstract', 'final', 'public', 'private', 'protected', 'static')}"
        r"function[ \t]*+&?[ \t]*+(?P<name>\w++)"
    ),
    # Comments, what is not within tags, strings of several lines, here-documents, data at the end.
    hidden=r"(?://|\#(?!\[))"
    + repetition(r"[^\n?]++", r"\?(?!>)")
    + rf"|\?>{_OUTSIDE_TAGS}|\A(?!<\?){_OUTSIDE_TAGS}(?=<\?(?i:php|=))"
    # In `don't`, outside of a tag that nothing tells of, an apostrophe begins no string.
    r"|(?<!\w)(?:\"(?:[^\"\\]++|\\.)*\"?|'(?:[^'\\]++|\\.)*'?|`(?:[^`\\]++|\\.)*`?)"
    r"|\b__halt_compiler\b.*"
    r"|(?<!<)<<<[ \t]*+[\"']?(?P<d>\w++)[\"']?\r?\n(?>.*?^[ \t]*+(?P=d)\b|.*)",
    # What is declared unless it is there already.
    nameless=re.compile(r"\bif[ \t]*+\([^{}\n]*_exists[ \t]*+\([^{}\n]*\)[ \t\r\n]*+$"),
)
