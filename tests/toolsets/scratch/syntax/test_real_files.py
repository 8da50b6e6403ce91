"""Files people published are valid, and damage to them is found on its line."""

from __future__ import annotations

import re
import time
from itertools import count
from typing import Final

import pytest

from rolltop.toolsets.scratch.syntax.checker import LANGUAGES, check_cell
from rolltop.toolsets.scratch.syntax.results import CheckRequest, Diagnostic
from tests.campaign import some_of

from .data import real_files

_CALL = (r"^(\s*[\w.:>$-]+\(.*\))(;?)$", r"\1)\2")
_OPEN_CALL = (r"^(\s*[\w.:>$-]+\(.*)\);$", r"\1;")
_ASSIGNMENT = (r"^([^\"'/=<>!#*]*\w) = (\w[^\"'=]*)$", r"\1 = = \2")
_STATEMENT = (r"^(\s*[\w.:>$-]+\(.*\));$", r"\1);")
_C_LIKE = (_STATEMENT, _OPEN_CALL, _ASSIGNMENT)
# Macros may stand in the way before the damage does.
_SEVERAL_ERRORS = {"c", "h", "cpp", "hpp"}
# What damages a line of the language so that the error is on that line and nowhere else.
DAMAGE: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    **dict.fromkeys(("c", "h", "cpp", "hpp", "java", "php", "ts", "tsx", "js", "jsx"), _C_LIKE),
    "cs": (_STATEMENT, _ASSIGNMENT),
    "rs": (
        _STATEMENT,
        (r"^(\s*let \w+) = (\w.*;)$", r"\1 = = \2"),
        (r"^(\s+(?:pub )?\w+): ([\w<>]+,)$", r"\1: : \2"),
    ),
    "go": ((r"^(\t+[\w.]+\(.*\))$", r"\1)"), (r"^(\t+\w+) := (.*)$", r"\1 := := \2")),
    "py": ((r"^(        self\.\w+) = (\w+)$", r"\1 = = \2"), (r"^(    return) (\w+)$", r"\1 \2)")),
    "rb": (_CALL, (r"^(\s+@?\w+) = (\w[^\"'|]*)$", r"\1 = = \2")),
    "sh": ((r"^(\s*echo) (.*[^\\])$", r"\1 )"), (r"^(\s*)fi$", r"\1fi )")),
    "css": ((r"^(\s+[\w-]+: [^\"'()]*);$", r'\1 ");'), (r"^(\s+[\w-]+: [^\"'()]*);$", r"\1 ];")),
    "html": ((r"^([^\"<>]*)<(\w+)([^<>]*)>([^<>]*)</\2>$", r"\1<\2\3>\4</\2></blink>"),),
    "htm": ((r"^([^\"<>]*)<(\w+)([^<>]*)>([^<>]*)</\2>$", r"\1<\2\3>\4</\2></blink>"),),
    "json": ((r'^(\s*"[^"]*"): (.*),$', r"\1 \2,"),),
    "yaml": ((r"^(\s*[\w-]+): ([\w.]+)$", r"\1: [\2}"),),
    "yml": ((r"^(\s*[\w-]+): ([\w.]+)$", r"\1: [\2}"),),
    "toml": ((r"^([\w-]+) = (.*[^\[{,(])$", r"\1 = = \2"),),
}


def _found_on(errors: tuple[Diagnostic, ...], language: str) -> list[int]:
    """The lines of the first error, or of all where others may come before it."""
    return [one.line for one in errors][: None if language in _SEVERAL_ERRORS else 1]


def damaged(language: str) -> list[tuple[str, str, int]]:
    """One damaged line in each real file that has one to damage: path, text, line."""
    found: list[tuple[str, str, int]] = []
    for path, content in real_files(language).items():
        if "macro_rules!" in content:  # the body of a Rust macro may hold any tokens
            continue
        lines = content.split("\n")
        for pattern, replacement in DAMAGE[language]:
            numbers = [number for number, line in enumerate(lines) if re.match(pattern, line)]
            if numbers:
                number = numbers[len(numbers) // 2]
                changed = re.sub(pattern, replacement, lines[number])
                text = "\n".join([*lines[:number], changed, *lines[number + 1 :]])
                found.append((path, text, number + 1))
    return found


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != "txt"])
def test_published_files_are_valid(language: str) -> None:
    files = real_files(language)
    faults = {
        path: [(one.line, one.message) for one in checked.errors]
        for path, content in some_of(list(files.items()))
        if not (checked := check_cell(CheckRequest(language, content))).valid
    }
    assert len(files) >= 20
    assert not faults


@pytest.mark.parametrize(
    "text",
    [
        "time { a; }\ntime -p for b in c; do d; done\ntime if e; then f; else g; fi\n! { h; }\n",
        "coproc A { b; }\nfor c do d; done\necho ${e:$f:1}\n",
        "if a; then\n  b\n    > c 2>&1\nelse\n  d\nfi\n",
        'if [ "$a" != "b c" ]; then\n  d -6 e | f -v "g"\nelif h; then\n  i\nelse\n  j\nfi\n',
        "((a $op b)) && (( $a ${op} -1 )) || ((a $condition))\necho $(( a $op b $op2 3 ))\n",
        "x=${(f)y}\ndiff =(a) =(b)\necho ${(j. .)z[1,2]}\n",
        "cat <<E\nelse\nelse\nE\nif a; then\n  if b; then c; else d; fi\nelse\n  e\nfi\n",
    ],
)
def test_shell_that_grammars_do_not_have_is_valid(text: str) -> None:
    assert check_cell(CheckRequest("sh", text)).errors == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x=${(f)y}\nif a; then\n  b\n", 2),
        ("#!/bin/bash\nx=${(f)y}\n", 2),
        ("((a $op b))\nif a; then\n  b\n", 2),
        ("((a $op b) $op\n", 1),
        ("if a; then\n  b\nelse\n  c\nelse\n  d\nfi\n", 5),
    ],
)
def test_mistakes_beside_them_are_found(text: str, line: int) -> None:
    assert [one.line for one in check_cell(CheckRequest("sh", text)).errors] == [line]


@pytest.mark.parametrize("language", ["c", "h", "cpp", "hpp"])
@pytest.mark.parametrize(
    "text",
    [
        "notrace void f(void)\n{\n}\nstatic noinline u32 g(u32 a) { return a; }\n",
        "int a __read_mostly = 1;\nvoid f(int b) __THROW __attribute__((nonnull(1)));\n",
        "API_EXPORT(char *) f(int a);\nextern API_DATA(int) b;\nAPI char *API_CALL g(void);\n",
        "typedef void (API_CALL *F)(int);\nint (API_CALL G)(int a);\n",
        "struct A {\n  Base_HEAD\n  int a;\n  Base_DEPRECATED(3.11) long b;\n};\n",
        "static DEFINE_LOCK(a);\nstatic DEFINE_MAP(struct b, c) = {\n  .d = 1,\n};\n",
        "DECLARE_A(b)\nDECLARE_C(d)\nvoid f(void);\n",
        "#define begins extern int\nbegins a;\nint b = cast_t(unsigned int, a);\n",
        "int f(void) {\n  A_BEGIN\n  g(LOG_ERR A_TEXT);\n  A_END\n  return 32 KB;\n}\n",
        "OPS(add, +=)\nint f(int a) { return REDUCE(*); }\n",
        "enum A {\n#undef B\n  B = 1,\n#define B B\n  C\n};\n",
        "#define A(b)  \\\n  if (b) { /* c\n  d */ \\\n    e();\nint f;\n",
        'API_BEGIN\n\nint a;\n/* é */ API int b;\nconst char *c = "d" FMT "e";\n',
    ],
)
def test_macros_are_in_no_way(language: str, text: str) -> None:
    assert check_cell(CheckRequest(language, text)).errors == ()


@pytest.mark.parametrize(
    "text",
    [
        "void f(int a) {\n  skip_queue(a, b) {\n    g(a);\n  }\n  for_each_b(a)\n    h();\n}\n",
        "void f(void);\nmodule_init(e)\n",
        "struct A { int :2; unsigned int :3; } B_ALIGN;\n",
    ],
)
def test_macros_of_c_are_in_no_way(text: str) -> None:
    assert check_cell(CheckRequest("c", text)).errors == ()


@pytest.mark.parametrize(
    "text",
    [
        "class A_API B : public C {\n  A_INLINE B() : d(1) {}\n  A_INLINE E<int> f();\n};\n",
        "void f() {\n  TRY {\n    g();\n  }\n  AT_EXIT {\n    h();\n  };\n}\n",
        "struct A : B {\n  using typename B::C;\n  enum : char { D };\n};\n",
    ],
)
def test_macros_of_cpp_are_in_no_way(text: str) -> None:
    for language in ("h", "cpp"):
        assert check_cell(CheckRequest(language, text)).errors == ()


@pytest.mark.parametrize("language", ["c", "h", "cpp", "hpp"])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("API int f(void)\n{\n  int a = = 1;\n}\n", 3),
        ("API int f(void)\n{\n  g(1;\n}\n", 3),
        ("API int f(void)\n{\n  g(1));\n}\n", 3),
        ("API int f(void)\n{\n  if (a) {\n    g();\n}\n", 3),
        ("API int f(void)\n{\n  int a = 1\n}\nAPI int g(void);\n", 3),
        ("API int f(int a b);\nAPI int g(void) { return (1 + ); }\n", 2),
        ('API int f(void)\n{\n  g("a);\n}\n', 3),
        ("API int f(void);\nchar *g(int a) {\n  return a b;\n}\n", 3),
        ("#define f a_f\nvoid f(struct a *b, int c);\nvoid\n(struct a *b, int c);\n", 4),
        ("API int f(void);\nextern const int A[]\nextern const int B[];\n", 2),
        ("API int f(void);\nint g(int a a);\n", 2),
        ("#if A\nAPI int f(void) {\n#else\nint f(void) {\n#endif\n  g(;\n}\n", 6),
    ],
)
def test_mistakes_beside_macros_are_found(language: str, text: str, line: int) -> None:
    errors = check_cell(CheckRequest(language, text)).errors
    assert line in {one.line for one in errors}


@pytest.mark.parametrize("language", ["c", "h", "cpp"])
def test_what_else_a_machine_does_makes_no_file_invalid(
    monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    files = real_files(language)
    monkeypatch.setattr(time, "monotonic", map(float, count()).__next__)
    assert all(check_cell(CheckRequest(language, content)).valid for content in files.values())


@pytest.mark.parametrize("language", DAMAGE)
def test_damage_is_found_on_its_line(language: str) -> None:
    cases = damaged(language)
    missed = {
        f"{path}:{line}": [(one.line, one.message) for one in checked.errors]
        for path, text, line in some_of(cases)
        if line
        not in _found_on((checked := check_cell(CheckRequest(language, text))).errors, language)
    }
    assert len(cases) >= 10
    assert not missed


def test_every_language_but_prose_is_damaged() -> None:
    assert set(LANGUAGES) - set(DAMAGE) == {"md", "txt"}
