"""Macros of C and C++, told by their names and places, and what none excuses.

A grammar sees the text before the preprocessor, where macros stand at places that no name may
have. An error in the statement of a macro is excused, and a macro beside a declaration or another
statement is blanked, so that the grammar finds its way. Time is by the length of the text.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from sys import intern
from typing import Final

_TOKEN: Final = re.compile(
    r"""
    (?:u8|[uUL])?R"(?P<mark>[^\s()\\"]{0,16})\(.*?(?:\)(?P=mark)"|\Z)
    | "(?:[^"\\\n]++|\\.)*"? | '(?:[^'\\\n]++|\\.)*'?
    | [A-Za-z_$\x80-\xff][\w$\x80-\xff]*
    | \.?\d(?:[eEpP][+-]|'?[\w.\x80-\xff])*
    | ->|\+\+|--|(?:<<|>>|[-+*/%&|^=!<>])=|&&|\|\||::|\.\.\.|(?!\\\r?\n)\S
    """,
    re.DOTALL | re.VERBOSE,
)
_WORD: Final = re.compile(r"[A-Za-z_$\x80-\xff][^\"']*\Z")
_MACRO_NAME: Final = re.compile(
    r"_*[A-Z][A-Z0-9_]+|\w*_[A-Z]{3}[A-Z0-9]*(?:_\w*)?|\w*for_?each\w*"
    r"|__(?!int\d|[us]\d|[lb]e\d|\w*_t$)\w+"
)
_DEFINED: Final = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_CLOSERS: Final = {")": "(", "]": "[", "}": "{"}
_ENDS_BLOCK: Final = re.compile(r"^([ \t]*)\}", re.MULTILINE)
_INDENT: Final = re.compile(r"[ \t]*")
_MAX_LINE: Final = 1000
_MIN_WORDS: Final = 3  # of a function's declaration, of which one is a macro
_TYPES: Final = frozenset(
    ("void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "bool",
     "_Bool", "auto", "wchar_t", "__int128")
)  # fmt: skip
_HEADS: Final = frozenset(("struct", "union", "enum", "class"))
_QUALIFIERS: Final = frozenset(
    ("const", "static", "extern", "inline", "volatile", "register", "constexpr", "consteval",
     "constinit", "virtual", "explicit", "friend", "typedef", "mutable", "restrict", "override",
     "final", "noexcept", "thread_local", "_Noreturn", "__extension__", "typename")
)  # fmt: skip
_KEYWORDS: Final = frozenset(
    ("if", "while", "for", "switch", "return", "else", "do", "case", "break", "continue", "goto",
     "sizeof", "throw", "new", "delete", "operator", "using", "namespace", "template", "public",
     "private", "protected", "default", "export", "try", "catch", "co_return", "co_await",
     "co_yield", "asm", "not", "and", "or", "static_assert", "decltype", "requires", "concept")
)  # fmt: skip
_NO_NAMES: Final = _TYPES | _HEADS | _QUALIFIERS | _KEYWORDS
_SPECIFIERS: Final = _QUALIFIERS | _TYPES
_BOUNDS: Final = frozenset((";", "{", "}"))
_STARTS: Final = _BOUNDS | {"", ":"}
_POINTERS: Final = frozenset(("*", "&", "&&"))
_AHEAD: Final = _TYPES | _POINTERS | {"namespace", ">", "::"}
_ENDS: Final = frozenset((")", "const", "noexcept", "override"))
_BESIDE: Final = _TYPES | _ENDS | {"]"}
_DECLARES: Final = frozenset(("*", "&", "&&", ">", "~", "::", "]", ")"))
_DECLARATOR: Final = frozenset(("*", "&", "&&", "<", "::", "~"))
_CLASS_BODY: Final = frozenset(("{", ":", "<", "final"))
_BINARY: Final = frozenset(
    ("=", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "||", "/", "%")
)
_NO_OPERAND: Final = frozenset((";", ")", "]", ",", "}", "=", "==", "!=", "||", "?", ":"))

Span = tuple[int, int]


def find_defined(content: str) -> set[str]:
    """Find the names of the macros that the text itself defines."""
    return set(_DEFINED.findall(content))


class MacroReading:
    """A text, whose offsets count bytes and which holds no comments or directives.

    `plain` is it without the macros beside declarations and statements; `faults` are what it holds
    that is wrong whatever macros there are: (offset, message).
    """

    def __init__(self, text: str, defined: set[str], *, is_cpp: bool) -> None:
        self._text = text
        self._defined = defined
        self._is_cpp = is_cpp
        self._words: list[str] = []
        self._starts = array("L")
        for token in _TOKEN.finditer(text):
            self._words.append(intern(token.group()))
            self._starts.append(token.start())
        self.faults: list[tuple[int, str]] = []
        self._partners = array("l", [-1]) * len(self._words)
        self._pair_brackets()
        self._blocks = array("L", self._find_blocks())
        ends = (at for at, word in zip(self._starts, self._words, strict=True) if word in _BOUNDS)
        self._bounds = array("L", ends)
        self._macros: list[Span] = []
        self._blanked: list[Span] = []
        self._find_macros()
        self.plain = self._without_macros()
        macros = sorted(self._macros)
        self._macro_starts = array("L", (start for start, _ in macros))
        self._macro_ends = array("L", accumulate((end for _, end in macros), max))

    def excuses(self, start: int, end: int) -> bool:
        """Whether a macro stands in the statement around `start` to `end`."""
        left, right = bisect_left(self._bounds, start), bisect_left(self._bounds, end)
        since = self._bounds[left - 1] if left else 0
        until = self._bounds[right] if right < len(self._bounds) else len(self._text)
        at = bisect_right(self._macro_starts, until)
        return at > 0 and self._macro_ends[at - 1] >= since

    def _find_macros(self) -> None:
        opened: list[int] = []
        for number, word in enumerate(self._words):
            if word == "(":
                opened.append(number)
            elif word in _TYPES and opened and self._word(number - 1) in ("(", ","):
                if self._is_call(opened[-1] - 1):
                    self._macros.append(self._span(opened[-1] - 1, self._partners[opened[-1]]))
            elif self._is_name(number) and (last := self._end_of_macro(number)) is not None:
                self._macros.append(self._span(number, last))
                if self._is_beside_statement(number, last):
                    self._blanked.append(self._span(number, last))
            elif word in _NO_OPERAND:
                self._require_operand(number)
            elif self._is_unended(number):
                self._add_fault(self._partners[number + 1], "Expected ';' after this")
            if word == ")" and opened:
                opened.pop()

    def _span(self, first: int, last: int) -> Span:
        return self._starts[first], self._starts[last] + len(self._words[last])

    def _pair_brackets(self) -> None:
        opened: list[int] = []
        for number, word in enumerate(self._words):
            if word in ("(", "[", "{"):
                opened.append(number)
            elif word in _CLOSERS:
                if not opened:
                    return self._add_fault(number, f"{word!r} closes nothing")
                if self._words[opened[-1]] != _CLOSERS[word]:
                    if self._words[opened[-1]] == "{":
                        return self._add_fault(number, f"{word!r} closes nothing")
                    break
                self._partners[opened.pop()] = number
            elif word[0] in "\"'" and (len(word) == 1 or word[-1] != word[0]):
                return self._add_fault(number, "String is never closed")
        if opened:
            word = self._words[opened[-1]]
            at = self._find_open_block(opened[-1]) if word == "{" else opened[-1]
            self._add_fault(at, f"{word!r} is never closed")
            if word == "(" and ";" in self._words[opened[-1] :]:
                self._add_fault(self._words.index(";", opened[-1]), "Expected ')' before this")
        return None

    def _find_open_block(self, otherwise: int) -> int:
        """Find the first block that ends further left than it begins: its own end is missing."""
        openers = {self._starts[end]: at for at, end in enumerate(self._partners) if end >= 0}
        for line in _ENDS_BLOCK.finditer(self._text):
            opener = openers.get(line.end() - 1, otherwise)
            at = self._starts[opener]
            start = self._text.rfind("\n", max(at - _MAX_LINE, 0), at) + 1
            begins = _INDENT.match(self._text, start)
            if begins and opener != otherwise and len(line[1]) < len(begins[0]):
                return opener
        return otherwise

    def _find_blocks(self) -> Iterator[int]:
        """Yield where each outermost block begins and ends, of what `extern "C"` holds too."""
        number = 0
        while number < len(self._words):
            end = self._partners[number]
            if self._words[number] == "{" and end >= 0 and self._word(number - 1)[:1] != '"':
                is_data = self._word(number - 1) == "=" or not _HEADS.isdisjoint(
                    self._words[max(number - 2, 0) : number]
                )
                if not is_data:
                    yield from (number, end)
                number = end
            number += 1

    def _add_fault(self, number: int, message: str) -> None:
        self.faults.append((self._starts[number], message))

    def _word(self, number: int) -> str:
        return self._words[number] if 0 <= number < len(self._words) else ""

    def _is_word(self, number: int) -> bool:
        return _WORD.match(self._word(number)) is not None

    def _is_name(self, number: int) -> bool:
        return self._is_word(number) and self._word(number) not in _NO_NAMES

    def _require_operand(self, number: int) -> None:
        """Find an operator before what cannot be its operand."""
        word, before, first = (self._word(number - step) for step in range(3))
        if before in _BINARY and first not in ("(", ",", "operator", "["):
            is_default = first in _POINTERS and word in (")", ",")
            if not is_default:
                self._add_fault(number, f"Unexpected {word!r}")

    def _end_of_macro(self, number: int) -> int | None:
        """Find the last token of a macro, with its arguments; None if it is no macro."""
        word, closing = self._words[number], -1
        if self._word(number + 1) == "(":
            closing = self._partners[number + 1]
        if word in self._defined or _MACRO_NAME.fullmatch(word):
            if closing >= 0:
                return None if self._is_declared(number, closing) else closing
            return number if self._is_no_operand(number) else None
        if closing >= 0 and self._is_statement(number, closing):
            return closing
        return number if self._is_extra(number) else None

    def _is_declared(self, number: int, closing: int) -> bool:
        """Whether what looks like a macro's call declares a function."""
        before, first = self._word(number - 1), self._word(number - 2)
        is_type = before in _TYPES | _POINTERS or (
            self._is_name(number - 1) and not self._is_name(number - 2) and first not in _AHEAD
        )
        return is_type and self._word(closing + 1) in (";", "{", ",")

    def _is_no_operand(self, number: int) -> bool:
        """Whether a macro stands where no operand and no type may: beside another word."""
        before, after = self._word(number - 1), self._word(number + 1)
        if after[:1].isdigit():  # `int MAX 100;` lacks its `=`
            return False
        if before[:1].isdigit() or before in ("case", "goto"):
            return before[:1].isdigit() and after in (")", ";", "*", "/")
        if before == "(" and after == "*":  # `int (API *f)(void)`
            return self._word(number + 3) == ")"
        is_beside = self._is_name(number - 1) or before in _BESIDE or before[-1:] == '"'
        if is_beside or (before in _BOUNDS and after in ("{", "}", "")):
            return True
        if before in _BINARY or before == "return":
            return self._is_word(number + 1) and not self._breaks_line(number)
        return self._is_word(number + 1) or after[:1] == '"' or after == "{"

    def _breaks_line(self, number: int) -> bool:
        return "\n" in self._text[self._starts[number] : self._starts[number + 1]]

    def _is_call(self, number: int) -> bool:
        """Whether a name before a bracket is called; if with a type, it is a macro's."""
        before = self._word(number - 1)
        is_used = before in _KEYWORDS or not (self._is_word(number - 1) or before in _DECLARES)
        return is_used and self._is_name(number) and self._partners[number + 1] >= 0

    def _is_statement(self, number: int, closing: int) -> bool:
        """Whether a call of C stands for a statement: before a block, or outside all of them.

        Within one, a call before another statement lacks its `;`.
        """
        after = self._word(closing + 1)
        begins = self._word(number - 1) in ("", ";", "{", "}", ")")
        stands = self._is_word(closing + 1) and not self._is_unended(number)
        return not self._is_cpp and begins and (stands or after in ("{", ""))

    def _is_outside(self, number: int) -> bool:
        return bisect_left(self._blocks, number) % 2 == 0

    def _is_unended(self, number: int) -> bool:
        """Whether a call of C lacks its `;`: the statement below it begins no further right."""
        if self._is_cpp or not self._is_name(number) or self._word(number - 1) not in _BOUNDS:
            return False
        closing = self._partners[number + 1] if self._word(number + 1) == "(" else -1
        if closing < 0 or self._is_outside(number) or not self._is_word(closing + 1):
            return False
        columns = [self._column(one) for one in (number, closing + 1)]
        return self._breaks_line(closing) and columns[1] <= columns[0]

    def _column(self, number: int) -> int:
        at = self._starts[number]
        return at - self._text.rfind("\n", max(at - _MAX_LINE, 0), at)

    def _is_extra(self, number: int) -> bool:
        """Whether a name begins a function's declaration that has more words than it may."""
        begin = number
        while self._word(begin - 1) in _SPECIFIERS:
            begin -= 1
        if self._word(begin - 1) not in _STARTS:
            return False
        end, count = begin, 0
        while self._is_name(end) or self._word(end) in _SPECIFIERS | _POINTERS:
            is_type = self._word(end) in _TYPES and self._word(end - 1) not in _TYPES
            count += is_type or self._is_name(end)
            end += 1
        return self._word(end) == "(" and count >= _MIN_WORDS

    def _is_beside_statement(self, number: int, last: int) -> bool:
        """Whether what stands around a macro is a declaration or a statement without it."""
        before, after, second = self._word(number - 1), self._word(last + 1), self._word(last + 2)
        if before in _HEADS:
            return self._is_name(last + 1) and (second in _CLASS_BODY or self._is_name(last + 2))
        if after in ("{", ":", ";"):
            ends = before in _ENDS or (
                self._is_name(number - 1) and (after != ";" or last > number)
            )
            return ends or (after == "{" and before in _BOUNDS)
        if after in _NO_NAMES or last > number:
            return self._is_word(last + 1)
        return self._is_name(last + 1) and (self._is_word(last + 2) or second in _DECLARATOR)

    def _without_macros(self) -> str:
        parts: list[str] = []
        at = 0
        for start, end in self._blanked:
            if start >= at:
                parts += self._text[at:start], re.sub(r"[^\n]", " ", self._text[start:end])
                at = end
        return "".join([*parts, self._text[at:]])
