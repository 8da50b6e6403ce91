"""What in C and C++ only a macro can be, found by the words around it, and what none excuses.

A grammar sees the text before the preprocessor, where macros stand at places that no name may
have. Here the words that stand side by side are counted: a declaration has a type and a name, so
that of `API int f(void)` one has to be a macro. Macros are blanked, and what a grammar then still
cannot read beside one is excused. Time is by the length of the text.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
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
_LOOP: Final = re.compile(r"\w*for_?each\w*")
_DEFINED: Final = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\()?", re.MULTILINE)
_CLOSERS: Final = {")": "(", "]": "[", "}": "{"}
_ENDS_BLOCK: Final = re.compile(r"^([ \t]*)\}", re.MULTILINE)
_INDENT: Final = re.compile(r"[ \t]*")
_MAX_OTHERS: Final = 2
_MAX_WORDS: Final = 5  # and what has more is prose
_MAX_LINE: Final = 1000
_TYPES: Final = frozenset(
    ("void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "bool",
     "_Bool", "auto", "wchar_t", "__int128")
)  # fmt: skip
_HEADS: Final = frozenset(("struct", "union", "enum", "class"))
_ATTRIBUTES: Final = frozenset(("__attribute__", "__attribute", "__declspec", "__asm__", "__asm"))
_QUALIFIERS: Final = frozenset(
    ("const", "static", "extern", "inline", "volatile", "register", "constexpr", "consteval",
     "constinit", "virtual", "explicit", "friend", "typedef", "mutable", "restrict", "override",
     "final", "noexcept", "thread_local", "_Noreturn", "__extension__", "typename")
)  # fmt: skip
_FIRST: Final = frozenset(("static", "extern", "typedef", "explicit", "virtual", "friend"))
_CONDITIONS: Final = frozenset(("if", "while", "for", "switch"))
_KEYWORDS: Final = _CONDITIONS | frozenset(
    ("return", "else", "do", "case", "break", "continue", "goto", "sizeof", "throw", "new",
     "delete", "operator", "using", "namespace", "template", "public", "private", "protected",
     "default", "export", "try", "catch", "co_return", "co_await", "co_yield", "asm", "not", "and",
     "or", "static_assert", "decltype", "requires", "concept")
)  # fmt: skip
_STARTS: Final = frozenset((";", "{", "}", ":", "", "else", "do", "public", "private"))
_ENDS: Final = frozenset((";", "{", "=", ",", "}"))
_BOUNDS: Final = frozenset((";", "{", "}"))
_POINTERS: Final = frozenset(("*", "&", "&&"))
_BINARY: Final = frozenset(
    ("=", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "||", "/", "%")
)
_NO_OPERAND: Final = frozenset((";", ")", "]", ",", "}", "=", "==", "!=", "||", "?", ":"))
Span = tuple[int, int]


def find_defined(content: str) -> dict[str, bool]:
    """Find the names of the macros that the text itself defines, and which take arguments."""
    return {one[1]: one[2] is not None for one in _DEFINED.finditer(content)}


@dataclass
class _WordRun:
    """Words that stand side by side, as spans of tokens, and the tokens around them.

    A macro with its arguments counts as a word. `early` names stand before the type's keyword.
    """

    units: list[Span]
    before: str
    after: str
    names: list[Span]
    macros: list[Span]
    calls: list[Span]
    early: int = 0
    has_type: bool = False
    has_head: bool = False

    def __post_init__(self) -> None:
        self.starts = self.before in _STARTS
        self.is_macro = len(self.macros) == len(self.units)

    def most_names(self) -> int:
        """Count the names that may stand here if none of them is a macro."""
        if self.has_head:
            begins = self.after in ("{", ":", "*", "&", "<") or (self.after == ";" and self.early)
            return 1 if begins else 2
        most = self._most_around()
        if self.starts or self.before in ("(", ","):
            ends_block = self.before == "}" and self.after == "*"
            most -= not ends_block and (self.after in _POINTERS or self.after == "<")
        return max(most - self.has_type, 0)

    def _most_around(self) -> int:
        before, after = self.before, self.after
        if before in (")", "]"):
            ends = self.macros and (after in _ENDS or after in _KEYWORDS)
            return int(not ends) if before == ")" or self.is_macro else len(self.names)
        if before[:1] == '"' or after[:1] == '"':
            return int(not self.is_macro and before[:1] != after[:1])
        is_unit = before[:1].isdigit() and self.is_macro and after in (")", ";", "*", "/")
        if is_unit or (before in _CONDITIONS and after == "("):
            return 0
        if self.starts and (after in ("}", "") or after in _KEYWORDS):
            return 0 if self.is_macro else 2
        if self.starts and self.is_macro and (after == "{" or (after == "(" and self.calls)):
            return 0
        return self._most_after()

    def _most_after(self) -> int:
        if self.before == "}" and self.after in (";", ",", "[", "=", "*"):
            return int(self.after != "*")
        if self.before in ("(", ","):
            return 1 if self.is_macro and len(self.units) > 1 else 2
        return 2 if self.starts or self.before == "<" else 1


class MacroReading:
    """A text, whose offsets count bytes and which holds no comments or directives.

    `plain` is it without its macros; `faults` are what it holds that is wrong whatever macros
    there are: (offset, message).
    """

    def __init__(self, text: str, defined: dict[str, bool], *, is_cpp: bool) -> None:
        self._text = text
        self._is_cpp = is_cpp
        self._defined = defined
        self._functions = {name for name, takes_arguments in defined.items() if takes_arguments}
        self._words: list[str] = []
        self._starts, self._ends = array("L"), array("L")
        for token in _TOKEN.finditer(text):
            self._words.append(intern(token.group()))
            self._starts.append(token.start())
            self._ends.append(token.end())
        self.faults: list[tuple[int, str]] = []
        self._partners = array("l", [-1]) * len(self._words)
        self._pair_brackets()
        self._blanked: list[Span] = []
        self._excuses: list[Span] = []
        self._instead: dict[int, str] = {}
        self._blocks: list[bool] = []
        self._depth = 0
        self._find_macros()
        self.plain = self._without_macros()
        ends = (at for at, word in zip(self._starts, self._words, strict=True) if word in _BOUNDS)
        self._bounds = array("L", ends)
        self._excuses.sort()
        self._excuse_starts = array("L", (start for start, _ in self._excuses))
        self._excuse_ends = array("L", accumulate((end for _, end in self._excuses), max))

    def excuses(self, start: int, end: int) -> bool:
        """Whether a macro stands in the statement around `start` to `end`."""
        left, right = bisect_left(self._bounds, start), bisect_left(self._bounds, end)
        since = self._bounds[left - 1] if left else 0
        until = self._bounds[right] if right < len(self._bounds) else len(self._text)
        at = bisect_right(self._excuse_starts, until)
        return at > 0 and self._excuse_ends[at - 1] >= since

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

    def _add_fault(self, number: int, message: str) -> None:
        self.faults.append((self._starts[number], message))

    def _word(self, number: int) -> str:
        return self._words[number] if 0 <= number < len(self._words) else ""

    def _find_macros(self) -> None:
        number, run, opened = 0, list[Span](), list[int]()
        while number < len(self._words):
            word = self._words[number]
            if _WORD.match(word) and word not in _KEYWORDS:
                run.append((number, self._end_of_unit(number, is_first=not run)))
                if word in _TYPES or word in _HEADS:
                    self._blank_types(number - 1, opened)
                number = run[-1][1] + 1
                continue
            self._judge(run, word)
            run = []
            self._follow(number, word, opened)
            number += 1
        self._judge(run, "")

    def _end_of_unit(self, number: int, *, is_first: bool) -> int:
        """Find the last token of a qualified name, or of a macro with its arguments."""
        word = self._words[number]
        last = number
        while self._word(last + 1) == "::" and _WORD.match(self._word(last + 2)):
            last += 2
        closing = self._partners[last + 1] if self._word(last + 1) == "(" else -1
        if closing < 0 or not self._is_invocation(word, last + 1, is_first=is_first):
            return last
        if is_first and self._word(number - 1) in _CONDITIONS:
            return last
        if word in _ATTRIBUTES:
            self._blank(number, closing)
        else:
            self._blank_arguments(last + 1, "0" if is_first else "")
        return closing

    def _is_invocation(self, word: str, opening: int, *, is_first: bool) -> bool:
        before, after = self._word(opening - 2), self._word(self._partners[opening] + 1)
        if word in _ATTRIBUTES or word in _QUALIFIERS:
            return word in _ATTRIBUTES
        if word in self._functions or _MACRO_NAME.fullmatch(word):
            is_declared = not is_first and before not in _QUALIFIERS and before not in _HEADS
            is_declared = is_declared and self._word(opening - 3) not in ("namespace", "::")
            if (is_declared or before in _POINTERS) and after in (";", "{", ","):
                return False
            is_loop = is_first and _LOOP.fullmatch(word) is not None
            return is_loop or (self._word(opening + 1) != "*" and after != "(")
        if self._is_cpp or not word[0].islower() or before not in ("", ";", "{", "}", ")"):
            return False
        return after == "{" or (not self._depth and after not in ("(", "=", ":", "["))

    def _is_macro(self, name: str) -> bool:
        return name in self._defined or _MACRO_NAME.fullmatch(name) is not None

    def _follow(self, number: int, word: str, opened: list[int]) -> None:
        """Keep the open brackets, and look at what stands side by side."""
        before, first = self._word(number - 1), self._word(number - 2)
        if word == "{":
            self._blocks.append(before[:1] != '"')  # of `extern "C"` all is outside functions
            self._depth += self._blocks[-1]
        elif word == "}" and self._blocks:
            self._depth -= self._blocks.pop()
        elif word == "(":
            opened.append(number)
        elif word in (")", ",") and before == "*":
            self._blank_types(number, opened, is_type=True)
        if word == ")" and opened:
            opened.pop()
        if word in _NO_OPERAND and before in _BINARY and first not in ("(", ",", "operator", "["):
            is_default = first in _POINTERS and word in (")", ",")
            if not is_default:
                self._add_fault(number, f"Unexpected {word!r}")

    def _blank_types(self, number: int, opened: list[int], *, is_type: bool = False) -> None:
        """Blank arguments among which is a type, as only a macro takes it."""
        if not opened or self._partners[opened[-1]] < 0:
            return
        if not is_type and self._words[number] not in ("(", ","):
            return
        name, before = self._word(opened[-1] - 1), self._word(opened[-1] - 2)
        if not _WORD.match(name) or name in _KEYWORDS | _TYPES | _QUALIFIERS:
            return
        if _WORD.match(before) and before not in _KEYWORDS:
            return
        if before not in ("*", "&", "&&", ">", "~", "::", "]", ")"):
            self._blank_arguments(opened[-1], "0")
            self._excuse(opened[-1] - 1, self._partners[opened[-1]])

    def _blank(self, first: int, last: int) -> None:
        if first <= last:
            self._blanked.append((self._starts[first], self._ends[last]))

    def _blank_arguments(self, opening: int, instead: str) -> None:
        if self._partners[opening] > opening + 1:
            self._instead[self._starts[opening + 1]] = instead
            self._blank(opening + 1, self._partners[opening] - 1)

    def _excuse(self, first: int, last: int) -> None:
        self._excuses.append((self._starts[first], self._ends[last]))

    def _judge(self, units: list[Span], after: str) -> None:
        """Blank the macros among words that stand side by side."""
        if not units or (before := self._word(units[0][0] - 1)) in ("case", "goto"):
            return
        run, most, opening = self._sort(units, before, after), None, units[0][0] - 1
        if not run.names or len(run.names) - len(run.macros) > _MAX_WORDS:
            return
        if before == "(" and self._word(self._partners[opening] + 1) == "(" and not run.has_head:
            most = {"*": 0, ")": 1}.get(after)  # `int (API *f)(void)`, `int (API f)(void)`
        if self._is_cpp and after == "(" and self._initializes(self._partners[units[-1][1] + 1]):
            most = 1  # `API A() : b(c) {}`
        macros = self._choose(run, run.most_names() if most is None else most)
        for unit in macros:
            self._blank(*unit)
            self._excuse(*unit)
        if run.is_macro and (len(units) > 1 or (run.calls and before not in _POINTERS)):
            self._excuse(units[0][0], units[-1][1])
        for unit in run.calls:
            if unit not in macros:
                self._replace(unit, run, len(run.names) - len(macros))

    def _initializes(self, closing: int) -> bool:
        """Whether a list of initializers follows, as it does a constructor's parameters."""
        name = self._word(closing + 2)
        is_member = _WORD.match(name) is not None and name not in _KEYWORDS
        return closing >= 0 and self._word(closing + 1) == ":" and is_member

    def _sort(self, units: list[Span], before: str, after: str) -> _WordRun:
        names, macros, calls = list[Span](), list[Span](), list[Span]()
        early, kinds = 0, set[bool]()
        for unit in units:
            word = self._words[unit[0]]
            if word in _TYPES or word in _HEADS:
                early = early if kinds else len(names)
                kinds.add(word in _HEADS)
            elif word in _FIRST:
                early = early if kinds else len(names)
            elif word not in _QUALIFIERS and word not in _ATTRIBUTES:
                names.append(unit)
                calls += [unit] if self._words[unit[1]] == ")" else []
                macros += [unit] if calls[-1:] == [unit] or self._is_macro(word) else []
        return _WordRun(
            units, before, after, names, macros, calls, early, False in kinds, True in kinds
        )

    def _choose(self, run: _WordRun, most: int) -> set[Span]:
        """Choose the macros, where `most` names may stand: first by their looks, then the first."""
        others = run.names[: run.early]
        if run.before[:1] == run.after[:1] == '"':
            others = run.names
        elif run.starts or run.before == ")":
            others = run.names[: max(len(run.names) - 1, run.early)]
        words = [self._words[first] for first, _ in run.names]
        if len(others) > _MAX_OTHERS + len(run.macros) or len(set(words)) < len(words):
            others = []
        first, last = self._starts[run.units[0][0]], self._ends[run.units[-1][1]]
        if "\n" in self._text[first:last]:
            begins_line = "\n" in self._text[self._ends[run.units[0][0] - 1] : first]
            others = run.names[: run.early] if run.starts and begins_line else []
        if run.after != "(":  # of a variable or a member: rather a mistake than a macro
            others = []
        macros = dict.fromkeys((*run.macros, *others))
        chosen = set([*macros][: max(len(run.names) - most, run.early)])
        last = run.names[-1]
        return chosen | {
            one for one in run.macros if one != last and self._words[one[0]].startswith("__")
        }

    def _replace(self, call: Span, run: _WordRun, names: int) -> None:
        """Put a type, or a declaration, in place of a macro that stands for it."""
        is_last = call == run.units[-1]
        declares = is_last and run.starts and names == 1 and run.after in (";", "=", "[")
        if declares and (run.after != ";" or len(run.units) > 1):
            instead = "int x"
        elif not is_last or (run.starts and run.after in ("*", "&")):
            instead = "int"
        else:
            if run.before in ("(", ",") and run.after in ("*", "&"):
                self._excuse(*call)
            return
        self._instead[self._starts[call[0]]] = instead
        self._blank(*call)
        self._excuse(*call)

    def _without_macros(self) -> str:
        parts: list[str] = []
        at = 0
        for start, end in sorted(self._blanked, key=lambda one: (one[0], -one[1])):
            if end > at:
                blank = re.sub(r"[^\n]", " ", self._text[start:end])
                instead = self._instead.get(start, "")
                if "\n" not in blank[: len(instead)] and len(blank) >= len(instead):
                    blank = instead + blank[len(instead) :]
                parts += (self._text[at:start], blank)
                at = end
        return "".join([*parts, self._text[at:]])
