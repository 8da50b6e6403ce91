"""Valid syntax that grammars do not have, rewritten to what they have; offsets never change.

Only a text that does not parse is rewritten, and only to see whether it parses then.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Final

# Types and members as arguments: of va_arg, offsetof, container_of.
_ARGUMENTS: Final = (
    (r"(\bva_arg\s*\([^(),;{}]{1,200},)[^();{}]{1,200}(?=\))", r"\1 x"),
    (
        r"(\boffsetof\s*\([^(),;{}]{1,200},\s{0,99}\w+)\s{0,99}[.\[][^();{}]{1,200}(?=\))",
        r"\1",
    ),
    (r"(?<=[(,])(\s{0,99})(?:struct|union|enum)\s+(\w+)[\s*]{0,99}(?=[,)])", r"\1\2"),
)
_GNU: Final = (
    (r"\bgoto\s*\*[^;]{0,500}", "goto x"),
    (r"(?<=\bcase)([^:;?.]{1,200})\.\.\.[^:;]{0,200}", r"\1"),
)
# Of both languages.
_BOTH: Final = (
    (r"\[\[[^\[\]]*\]\]", ""),
    (r"\b(?:_Complex|_Imaginary|__complex__|__complex)\b", "long"),
    (r'\b_Pragma\s*\(\s*L?"(?:[^"\\\n]|\\.)*"\s*\)', ""),
    (r"(?<=[;{}:])(\s{0,99})[A-Za-z_]\w{0,99}\s{0,9}:(?=\s*\})", r"\1"),  # at a block's end
)
_GOES_ON_AS_TYPE: Final = r"\s*(?:[\w*)]|:(?!:)|\(\s*\*|\[[^\[\]]*\]\s*\)\s*\{)"
_C: Final = (
    *_GNU,
    *_BOTH,
    (
        r"(?<=[;{}])(\s{0,99})(?:unsigned\s{1,9})?\w{3,20}\s{0,9}:\s{0,9}\w{1,20}\s{0,9}(?=[;,])",
        r"\1T x",
    ),
    (r"(?<=,)(\s{0,99}):\s{0,9}\d{1,20}", r"\1x"),
    (r"\b_Atomic\s*(\(([^()]*)\))", r"\2"),
    (r"\b_BitInt\s*\([^()]*\)", "int"),
    (r"\bauto(?=\s+\w+\s*=)", "int"),
    (r"\b_(?:Thread_local|Noreturn)\b|\b_Alignas\s*\([^()]*\)", ""),
    (r"(\benum(?:\s+\w+)?)\s*:\s*[A-Za-z_][\w\s]*(?=[{;])", r"\1"),
    # `complex` of <complex.h>, where it can be no name
    (r"\b(?:complex|imaginary)(?=\s+(?:long\s+|const\s+)?(?:float|double|long)\b)", ""),
    (
        rf"(\b(?:float|double|long)\s+(?:const\s+)?)(?:complex|imaginary)\b(?={_GOES_ON_AS_TYPE})",
        r"\1",
    ),
    (r"(?<![\w.'])(\d[\d.']*(?:[eE][-+]?\d+)?[fFlL]?)[ij][fFlL]?\b", r"\1"),  # GNU's `2.0i`
    (
        r"(\(\s*)(?:static|constexpr|register)\s+(?=[\w\s*]{1,99}(?:\[[^\[\]]{0,99}\]\s*)?\)\s*\{)",
        r"\1",
    ),
    (  # in a struct, whose end a name or a `;` follows
        r"\b_?[Ss]tatic_assert\b(?=\s*\([^{}]{0,2000}\}\s*(?:\w+\s*(?:\[\w*\]\s*)?)?(?:[;,]|__attr))",
        "int x:",
    ),
    (r"(?<=\w)\.\.\.(?=[ \t]*\))", ""),  # GNU's name for the rest of a macro's arguments
    *_ARGUMENTS,
)
_NAME: Final = r"[\w:<>]{1,200}(?:\(\s*\))?"
_TYPE: Final = r"(?:void|bool|(?:unsigned\s)?(?:char|short|int|long)|float|double)"
_OF_LAMBDA: Final = r"(?:(?:static|constexpr|consteval|mutable|noexcept)\s{1,9}){1,3}"
_CPP: Final = (
    (  # the default of a type that has a concept
        rf"(?<=[<,])(\s{{0,9}}[\w:]{{1,99}}(?:<[^<>]{{0,99}}>)?\s{{1,9}}\w{{1,99}}\s{{0,9}}=\s{{0,9}}){_TYPE}(?=\s*[,>])",
        r"\1T",
    ),
    (r"\bfor\s+co_await\b", "for"),
    (r"(?<=[{,])(\s{0,99})\.\s{0,9}\w{1,99}\s{0,9}(?=\{)", r"\1"),  # `.x{1}`
    (
        rf"(\[[^\[\]]{{0,200}}\]\s{{0,9}}(?:\([^()]{{0,500}}\)\s{{0,9}})?){_OF_LAMBDA}(?=\{{)",
        r"\1",
    ),
    (r"\bextern\s+(?=template\b(?!\s*<))", ""),
    (r"(\b(?:using|friend)\s[^;{}]{1,200}?)\s{0,9}\.\.\.(?=\s*[;,])", r"\1"),
    (rf"(\busing\s+{_NAME})(?:\s*,\s*{_NAME}){{1,20}}(?=\s*;)", r"\1"),
    (r"\bexplicit\s*(?:\([^()]*\)\s*)?(?=\w+\s*\([^;{}]{0,200}\)\s*->)", ""),
    (r"(?<=[\w>*&])(\s{1,9})\w[\w:]{0,200}::(?=\s{0,9}\*)", r"\1"),
    (r'(=\s*delete)\s*\(\s*"[^"\n]*"\s*\)', r"\1"),
    (r"((?:->|\.)\s{0,9})\w{1,99}::(?=~)", r"\1"),
    (r"\b(?:extern\s+)?template\s+(?=(?:class|struct|union)\s+[\w:]+\s*<[^;{}]{0,500}>\s*;)", ""),
    (r"\benum\s{0,9}:\s{0,9}\w[\w\s:]{0,99}(?=\{)", "enum"),
    (r"\busing\s+typename\b", "using"),
    (r"\bif\s+!?\s*consteval\b", "if (1)"),
    (r"\b(\w+)\s*\.\.\.\s*\[[^\[\]]*\]", r"\1"),
    (r"(?<=[\w\s]:)(\s*\d+)\s*(?:=[^;{}]*|\{[^;{}]*\})(?=;)", r"\1"),  # a bit-field's value
    (r"\b(public|protected|private)\s+(?:slots|Q_SLOTS)\s*:", r"\1:"),
    (r"\b(?:signals|Q_SIGNALS)\s*:", "public:"),
    (r"(?<=\()(\s*)this\s+(?=[A-Za-z_])", r"\1"),
    (r"(?<=\()[\w:]{1,200}::(?=\s{0,9}\*)", ""),
    (r"(?:->|(?<!\.)\.)\*(?=\s*[A-Za-z_(])", "+"),
    (r"([*&])\s+=\s*\w+(?=\s*[,)])", r"\1"),  # the default of a parameter without a name
)
_ENDLESS: Final = r"\bdef\s+(?:self\.)?\w+[?!]?(?:\([^()\n]{0,200}\))?\s*="
"""What stands before a method's one command in Ruby, which may have its arguments bare."""
_REWRITINGS: Final = {
    "c": _C,
    "h": (*_C, *_CPP),
    "cpp": (*_GNU, *_ARGUMENTS, *_BOTH, *_CPP),
    "hpp": (*_GNU, *_ARGUMENTS, *_BOTH, *_CPP),
    "cs": (
        (r"\?(?=[.\[][\w.\[\]?!]{0,200}\s*(?:[-+*/%&|^?]*|<<|>>)=(?!=))", ""),
        (r"\ballows\s+ref\s+struct\b", "class"),
        (r"\.\.\s*(?=var\s+\w+\s*[\],])", ""),
        (r"(?<=[(,])(\s*)(?:ref|out|in)\s+(?=\w+\s*[,)])", r"\1"),
        (r"^#[!:].*", ""),
        (r"\bextension\s*(?:<[^<>()]*>)?\s*\([^()]*\)(?=\s*\{)", "class E"),
    ),
    "java": ((r"\bimport\s+module\b", "import"), (r"\b(sup|th)(?:er|is)(?=\s*\()", r"\1__")),
    "php": ((r"\(void\)", ""), (r"(?<=__halt_compiler\(\);).*", "")),
    "rb": ((rf"{_ENDLESS}(?=\s+[a-z_]\w*[?!]?[ \t]+[\"'\w:@$\[])", ""),),
    "sh": (
        (r"\btime(?:[ \t]+-p)?(?=[ \t]+(?:[{(!]|(?:for|while|until|if|case|select)\b))", ""),
        (r"(?:!|\bcoproc(?:[ \t]+\w+)?)(?=[ \t]+\{[ \t\n])", ""),
        (r"(\bfor[ \t]+\w+)[ \t]+(?=do\b)", r"\1;"),
        (r"(\$\{\w+:)\$(?=\w)", r"\1"),
    ),
    "rs": ((r"\bsafe\s+(?=fn\b|static\b)", ""),),
}


def rewrite(content: str, language: str) -> str:
    """Return the text without what the language's grammar lacks; most often as it is."""
    for pattern, instead in _REWRITINGS.get(language, ()):
        flags = re.DOTALL if "halt_compiler" in pattern else re.MULTILINE
        content = re.sub(pattern, partial(_pad, instead), content, flags=flags)
    return content


def _pad(instead: str, found: re.Match[str]) -> str:
    """Return what stands in place of a match, as long as it and with its line breaks."""
    text = found.expand(instead)
    rest = found.group()[len(text) :]
    return text + re.sub(r"[^\n]", " ", rest) if len(text) <= len(found.group()) else found.group()
