"""What a partial edit typically leaves behind is found, on its line, in every language."""

from __future__ import annotations

import sys
from typing import Final

import pytest

from rolltop.toolsets.scratch.syntax import tree_sitter_check
from rolltop.toolsets.scratch.syntax.checker import LANGUAGES, check_cell
from rolltop.toolsets.scratch.syntax.results import CheckRequest, Diagnostic
from tests.campaign import some_of

from .mistakes import Mistake, mistakes, sample

PROSE: Final = {"md", "txt"}
FOUND: Final = 0.95
# The share placed right: 0.95 by parsers; by grammars, which recover as they can, as measured.
PLACED: Final = {"c": 0.92, "h": 0.92, "cpp": 0.88, "hpp": 0.88, "java": 0.92, "cs": 0.87,
                 "rs": 0.95, "rb": 0.86, "php": 0.88}  # fmt: skip
GRAMMARS: Final = frozenset(PLACED)
BY_PROGRAM: Final = frozenset({"js", "jsx", "ts", "tsx", "go", "sh"})
"""Languages whose parser is a program of its own: each text takes the start of a process."""


def misjudged(found: dict[Mistake, tuple[Diagnostic, ...]]) -> tuple[float, float]:
    """The shares of the mistakes that were found, and that were placed right first."""
    placed = [one for one, errors in found.items() if errors and errors[0].line in one.lines]
    return sum(map(bool, found.values())) / len(found), len(placed) / len(found)


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - PROSE))
def test_typical_mistakes_are_found_on_their_line(language: str) -> None:
    whole = check_cell(CheckRequest(language, sample(language)))
    assert whole.valid, whole.errors
    known = list(mistakes(language))
    assert len(known) >= 30
    some = some_of(known) if language in BY_PROGRAM else known
    results = {one: check_cell(CheckRequest(language, one.text)) for one in some}
    shares = misjudged({one: result.errors for one, result in results.items()})
    missed = [one.name for one, result in results.items() if result.valid]
    assert shares[0] >= FOUND, missed
    assert shares[1] >= PLACED.get(language, 0.95)


@pytest.mark.parametrize("language", ["go", "sh"])
def test_without_the_extra_a_grammar_finds_them(language: str) -> None:
    assert tree_sitter_check.check(sample(language), language).errors == []
    found = {
        one: tuple(tree_sitter_check.check(one.text, language).errors) for one in mistakes(language)
    }
    assert len(found) >= 30
    shares = misjudged(found)
    assert shares[0] >= 0.9, [one.name for one, errors in found.items() if not errors]
    assert shares[1] >= 0.8


@pytest.mark.parametrize("language", sorted(set(LANGUAGES)))
def test_a_result_says_what_checked_it(language: str) -> None:
    result = check_cell(CheckRequest(language, "" if language in PROSE else sample(language)))
    by = "grammar" if language in GRAMMARS else "none" if language == "txt" else "parser"
    assert result.details["syntax"]["by"] == by
    assert result.details["syntax"]["checked"] is (by != "none")
    assert ("GRAMMAR_ONLY" in {one.code for one in result.warnings}) is (by == "grammar")


_FUNCTIONS: Final = {
    **dict.fromkeys(("c", "h", "cpp", "hpp"), ("void f(void) {", "}")),
    **dict.fromkeys(("java", "cs"), ("class A { void f() {", "} }")),
    "js": ("function f() {", "}"),
    "php": ("<?php\nfunction f() {", "}"),
    "rs": ("fn f() {", "}"),
}


@pytest.mark.parametrize(
    ("language", "text", "line"),
    [
        ("java", 'class A {\n void f() {\n  String s = "abc;\n  g();\n }\n}\n', 3),
        ("jsx", "const a = (\n <div>\n  <b>x</i>\n </div>\n);\n", 3),
        ("yaml", "a:\n  b: 1\n\tc: 2\n", 3),
        ("yaml", "a: 1\nb:\n  - x\n\t- y\n", 4),
        ("rb", "class A\n  def a\n    1\n  def b\n    2\n  end\nend\n", 2),
        ("ts", "const x: number;\nif (x) {}\n", 1),
        ("ts", "export interface A {}\nexport const x;\n", 2),
        ("ts", "const x: number;\n", 1),
        ("rb", "unless a\n  b\nelsif c\n  d\nend\n", 3),
        ("rs", "fn f() {}\nfn g(a) {}\n", 2),
        ("rs", "fn f(a: u8, b) {}\n", 1),
        ("rs", "impl A {\n    fn f(&self, _) {}\n}\n", 2),
        ("rs", 'extern "C" {\n    fn f(u8);\n}\n', 2),
        ("cs", "class A {\n void F() {\n  foreach (x in xs) {}\n }\n}\n", 3),
        ("go", "package a\nfunc f() {\n\tswitch x {\n\tdefault:\n\tdefault:\n\t}\n}\n", 5),
        ("go", "package a\nfunc f() {\n\tswitch x.(type) {\n\tdefault:\n\tdefault:\n\t}\n}\n", 5),
        ("go", "package a\nfunc f() {\n\tselect {\n\tdefault:\n\tdefault:\n\t}\n}\n", 5),
        ("cpp", "export module m;\nexport int f() {\n", 2),
        ("cpp", "export module m\nint x;\n", 1),
        ("cpp", "export module m;\nexport int f() { return 1 }\n", 2),
        ("cpp", "import std;\nexport int f();\n", 2),
        ("c", "int a;\nstruct API b {\n  int c;\n}\n", 4),
        ("hpp", "#ifndef A\n#define A\nclass API B {\n  int c;\n}\n#endif\n", 5),
        ("c", "int a;\n#endif\nint b;\n", 2),
        ("h", "#ifndef A\n#define A\n#if B\nint a;\n#endif\n", 1),
        ("cpp", "#if A\n#else\nint a;\n#else\n#endif\n", 4),
        ("c", "#include <a.h>\n#include <b.h\nint c;\n", 2),
        ("h", '#include\n#include "a.h"\n', 1),
        ("cpp", '// #include <a\n#include "a.h\nint b;\n', 2),
        ("hpp", "#ifdef\nint a;\n#endif\n", 1),
        ("c", "int a;\n/* b\nint c;\n", 2),
        ("hpp", "/* a */ int b;\nint c; /*/\nint d;\n", 2),
        ("c", 'int main(void) {\n  f("a")\n  return 0;\n}\n', 2),
        ("c", "int main(void) {\n  if (a) {\n    f(a)\n    g(b);\n  }\n  return 0;\n}\n", 3),
        ("c", "void f(void) {\n  switch (a) {\n  case 1:\n    f(b)\n    c = 1;\n  }\n}\n", 4),
        ("h", "inline void f(void) {\n  g(a)\n  h(a);\n}\n", 2),
        ("c", "void f(void) {\nend:\n  g(a)\n  h(a);\n}\n", 3),
        ("c", "API int f(void) API;\nint g(void) {\n  h(a)\n  i(a);\n  return 0;\n}\n", 3),
        ("h", 'extern "C" {\ninline void f(void) {\n  g(1)\n  if (a) h();\n}\n}\n', 3),
        ("cs", "class A {\n#if B\n#endif\n#endif\n}\n", 4),
        ("cs", "class A {\n#if B\n  int F() {\n#else\n  int G() {\n#endif\n    x = ;\n }\n}\n", 7),
        ("cs", "class A {\n  void F() {\n    const int b;\n  }\n  int G(a) {}\n}\n", 3),
        ("cs", "class A {\n  int G(a) {}\n}\n", 2),
        ("cs", "class A {\n  int B = F(c,\n    d e);\n}\n", 3),
        ("cs", "class A {\n  int B = c[\n    d e];\n}\n", 3),
        ("cs", "class A {\n  int B = F(c, List<int> d);\n}\n", 2),
        ("cs", "class A {\n  int B = F(c, int* d);\n}\n", 2),
        ("java", 'class A {\n  String a = "x\\s\\t\\u0041\\d";\n}\n', 2),
        ("java", "class A {\n  void f() {\n    a + 1;\n  }\n}\n", 3),
        ("java", "class A {\n  void f() {\n    a = 'bc';\n  }\n}\n", 3),
        ("java", 'class A {\n  String a = "b\n";\n}\n', 2),
        ("java", "class A {}\nfoo();\n", 2),
        ("rs", 'fn f() {\n    g("\\d");\n}\n', 2),
        ("rs", "mod a;\nb::c;\n", 2),
        ("rs", 'fn f() {\n    println!("a")\n    println!("b");\n}\n', 2),
        ("rs", "fn f() -> u8 {\n    a![\n        b\n    ] // c\n    d\n}\n", 4),
        ("rs", "a!(b)\nfn c() {}\n", 1),
        ("rs", "impl A {\n    a! { b }\n    c!(d)\n}\n", 3),
        ("rs", "fn f() {\n    a < b < c;\n}\n", 2),
        ("rs", "impl A {\n    let b = 1;\n}\n", 2),
        ("rb", "a = <<~B\n  c\n", 1),
        ("rb", "f(a,\n  b c)\n", 2),
        ("rb", "def a\n  @b  c\nend\n", 2),
        ("rb", "x = [\n  a, b.c d\n]\n", 2),
        ("rb", "f a: 1,\n  b: 2, c d\n", 2),
        ("rb", "begin\n  a\nensure\n  b\nrescue\n  c\nend\n", 5),
        ("rb", "def a\n  b\nelse\n  c\nend\n", 3),
        ("php", "<?php if ($a): ?>\nb\n<?php endif; ?>\n<?php endif; ?>\n", 4),
        ("php", "<?php\n$this->a = A->b[0];\nthis->a = 1;\n", 3),
        ("php", "<?php\n$a[B[0]] = 1;\na[0] = 1;\n", 3),
        ("php", "<?php\nif ($a): b(); else: c();\nelse: d(); endif;\n", 3),
    ],
)
def test_an_error_is_on_the_line_of_its_cause(language: str, text: str, line: int) -> None:
    assert [one.line for one in check_cell(CheckRequest(language, text)).errors][:1] == [line]


@pytest.mark.parametrize("after", ["{ y(); }", "y();", "if (b) { y(); }", "return;", "{ }"])
@pytest.mark.parametrize("language", sorted(_FUNCTIONS))
def test_an_else_without_its_if_is_found(language: str, after: str) -> None:
    begins, ends = _FUNCTIONS[language]
    for before in ("x();", "if (a) { x(); } z();"):
        text = f"{begins}\n{before}\nelse {after}\n{ends}\n"
        assert check_cell(CheckRequest(language, text)).errors, text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nelse\nb\n", 2),
        ("if a; then\n  b\nfi\nelse\n  c\n", 4),
        ("if a; then b; else c; else d; fi\n", 1),
        ("for a in b; do\n  c\nelse\n  d\ndone\n", 3),
        ("f() {\n  else\n  a\n}\n", 2),
    ],
)
def test_an_else_without_its_if_is_found_in_shell(text: str, line: int) -> None:
    assert [one.line for one in check_cell(CheckRequest("sh", text)).errors] == [line]


@pytest.mark.parametrize("language", ["c", "h", "cpp", "hpp"])
@pytest.mark.parametrize(
    "text",
    [
        "struct A {\n  foo_t x\n  int y;\n};\n",
        "struct A { int x int y; };\n",
        "int x y;\n",
        "enum A { B, C } D E;\n",
        "typedef struct { int a; } foo bar;\n",
        "int f(void) {\n  foo bar baz;\n  return 0;\n}\n",
        "unsinged int x;\n",
        "def f(x):\n    return x\n",
    ],
)
def test_a_word_too_many_beside_a_variable_is_no_macro(language: str, text: str) -> None:
    assert not check_cell(CheckRequest(language, text)).valid


def test_an_error_in_python_names_the_version_that_reads_it() -> None:
    (error,) = check_cell(CheckRequest("py", "print 1\n")).errors
    assert error.message.endswith(f"(Python {sys.version_info.major}.{sys.version_info.minor})")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ts", "/** if it is so */\nexport const x: number;\nexport function f(a: 1): {b: 2};\n"),
        ("py", "\ufeffprint(1)\n"),
        ("toml", "\ufeffa = 1\n"),
        ("yaml", "a:\t1\nb:\n  c:\t\t[1, 2]\n"),
        ("html", "<p>x</p>\n</body>\n</html>\n"),
        ("c", "static int __init f(void) {\n  list_for_each(a, b) { g(); }\n  return 0;\n}\n"),
        ("c", "void f(void) {\n  switch (x) { case 1 ... 5: break; }\n  goto *t[0];\n}\n"),
        ("c", "struct { unsigned : 0; int b; } s;\n_Atomic(int) x;\nauto y = 1;\n_BitInt(8) z;\n"),
        ("c", "__attribute__((packed)) struct A { int x; } __attribute__((aligned(4)));\n"),
        ("c", "void f(void) {\n  list(a) b;\n  VEC(a)\n  c;\n  own(a)\n    *d = 0;\n}\n"),
        ("h", "struct API a {\n  int b;\n};\nunion API c { int d; } e;\nstruct f *G { }\n"),
        ("cpp", "class API A {\n  int b;\n} /* c */;\nstruct API D { int e; };\n"),
        ("h", 'extern "C" {\nmodule_init(a)\nmodule_exit(b)\nint c;\n}\n'),
        ("c", '#if A /* b */\n/* #include <c */ char *d = "/*";\n#endif\n#include E\n'),
        ("c", "enum E : unsigned char { A };\n_Thread_local int x;\n_Noreturn void f(void);\n"),
        ("cpp", "template class A<char>;\nextern template struct B<int>;\n"),
        ("cpp", "enum class E { A [[deprecated]] = 1 };\nstruct A { int x : 3 = 1; };\n"),
        ("cpp", "class A {\npublic slots:\n  void f();\nsignals:\n  void g();\n};\n"),
        (
            "cpp",
            "template <class... T> using F = T...[0];\nint f() { if consteval { return 1; } }\n",
        ),
        ("cs", "class A { void F() { a?.b = c; d?[0] += 1; } }\n"),
        ("cs", "class A { void F() { foreach (var x in xs) { a?.b = x; } G(in y, out z); } }\n"),
        ("cs", "void F<T>() where T : allows ref struct {}\nvar f = (ref x, out y) => 1;\n"),
        ("cs", "#!/usr/bin/env dotnet\n#:package A@1.0\nConsole.WriteLine(1);\n"),
        ("cs", "static class E { extension<T>(List<T> s) { public bool X => true; } }\n"),
        ("java", "import module java.base;\nvoid main() {}\n"),
        ("java", "class A { A(int x) { if (x < 0) throw new E(); super(x); } }\n"),
        ("php", "<?php\n(void) f();\n__halt_compiler();anything ( [\n"),
        ("rs", 'unsafe extern "C" { safe fn f(x: i32); safe static Y: u8; }\n'),
        ("rs", "fn f() { m!(else, fn if); a < (b < c) && d < e; }\n"),
        ("rs", 'fn f() { g("\\x41\\u{1F600}\\\n  x", b\'\\\'\', r"\\d"); }\n'),
        ("c", "WORDS(if, else)\nint f(int a) { switch (a) { case 1: { case 2: ; } } return 0; }\n"),
        ("c", 'int f(int a) { SWITCH(a); case 1: ; }\n/*\n#endif\n*/\nchar *b = "/*";\n'),
        ("cpp", "void f() { (a.*b)(); c->*d = e; g(h.*i); }\n"),
        ("cpp", "T* f(int n, const void* = nullptr, A& = b);\n"),
        (
            "cpp",
            "namespace a {\nA_BEGIN\n\n" + "// b\n" * 9 + "class C {\n  int d;\n};\nA_END\n}\n",
        ),
        ("cs", "\ufeff#if A\nclass B {\n#else\nclass C {\n#endif\n}\n"),
        ("cs", 'class A { string F() => G(a\n#if B\n  .C()\n#endif\n  , "d"); }\n'),
        ("cs", "class A { void F() { G(out var b, c: out int d); (int e, var f) = g; } }\n"),
        ("cs", "class A { T? F<T>() where T : default { return a is [var b, .. var c]; } }\n"),
        (
            "java",
            "class A { void f() { switch (a) { case 1 -> b + 1; default -> c; } } }\n",
        ),
        (
            "java",
            'class A { String a = """\n  b\\\n  \\d""".c("\\0\\177\\s"); char d = \'\\u0041\'; }\n',
        ),
        (
            "php",
            "<?php switch ($a): case 1: b(); default: c(); endswitch; x: $d->else; E::default();\n",
        ),
        (
            "rb",
            "def a\n  b\nrescue C\n  d\nelse\n  e\nensure\n  f\nend\nputs(<<~G, <<H)\nG\nj\nH\n",
        ),
        (
            "rb",
            "f b c, d\nf(b c)\nf a, (b c), b(c), b -1, b [c]\n@a [1]\nf({a: b(c)}, -> { e f })\n",
        ),
        ("js", "return 1;\n"),
        ("js", "#!/usr/bin/env node\nvar a = <b>x</b>, await = 1;\nwith (a) {}\n"),
        ("rb", "foo.end\nx = {end: 1, if: 2}\ndef end; end\nalias end foo\n"),
        ("sh", "#!/usr/bin/env zsh\necho ${(U)x}\n"),
        ("sh", "echo fi done\nif=1\n'fi'\n"),
        ("go", "// Package a is.\n/* * */\npackage a\n"),
        ("cpp", "int a = static_cast<int>(b);\nFOO(a);\n"),
        ("rs", "foo! { a b }\nbar!(1);\n"),
        (
            "rs",
            "fn f() -> A {\n  a! { b }\n  c!(d).e();\n  if g { vec![1] } else { h!(i) } // j\n}\n",
        ),
        ("java", "class A { A() {} class B { B(int a) {} } record C(int a) { C {} } }\n"),
        ("cs", "class A<T> { A() {} ~A() {} const int B = 1; static A() { try {} finally {} } }\n"),
        ("c", 'char *a = "x" PRIu64 "y";\nMACRO(b)\nint c;\n'),
        ("c", "void f(void) {\n  void *t[] = {&&a, && b, &&OP_ADD};\na: b: ;\n}\n"),
        ("rb", "unless a\n  b\nelse\n  if c\n    d\n  elsif e\n    f\n  end\nend\n"),
        ("rs", "fn f<'a>(&'a mut self, _: u8, (a, b): (u8, u8), &c: &u8, mut d: fn(u8, ...)) {}\n"),
        (
            "rs",
            "fn f(self: Box<Self>, /* x */ #[cfg(x)] g: impl Fn(u8) -> u8, [h, ..]: [u8; 2]) {}\n",
        ),
        ("rs", "trait T { fn f(u8); fn g(&self, _: u8) {} }\ntype F = fn(u8, a: u8);\n"),
        ("rs", 'extern "C" { fn f(a: u8, ...); }\nfn g() { h(|a| a, |_, b: u8| b); }\n'),
        (
            "cs",
            (
                "class A { async void F() {\n"
                "foreach (var a in b) {} foreach (int[] a in b) {} foreach (A.B? a in b) {}\n"
                "foreach (var (a, c) in b) {} foreach ((int a, var c) in b) {}\n"
                "foreach (ref var a in b) {} await foreach (T a in b) {} foreach (var _ in b) {}\n"
                "} }\n"
            ),
        ),
        (
            "go",
            (
                "package a\n\nfunc f() {\n\tswitch x {\n\tdefault:\n\t\tselect {\n\t\tdefault:\n"
                "\t\t\tswitch y.(type) {\n\t\t\tcase int:\n\t\t\tdefault:\n\t\t\t}\n\t\t}\n"
                "\tcase 1:\n\t}\n\tswitch {\n\tdefault:\n\t}\n}\n"
            ),
        ),
        ("cpp", "int module, import;\nvoid f() {\n  import = 1;\n  module = import;\n}\n"),
        (
            "cpp",
            (
                "module;\n#include <cassert>\nexport module a.b:part [[deprecated]];\nimport std;\n"
                'import <vector>;\nimport "x.h";\nimport :other;\nexport import c.d;\n'
                "export namespace n { int f(); }\nexport template <class T> concept C = true;\n"
                "export {\n  class D { D(); };\n  template <class T> T g(T t) { return t; }\n}\n"
                'export extern "C" { int h(); }\nexport using E = int;\n'
                "export enum class F { a };\nexport [[nodiscard]] auto i() -> int { return 1; }\n"
                "namespace n { export int j(); }\nmodule :private;\nint k = 1;\n"
            ),
        ),
        ("hpp", "module m:impl;\nimport :other;\nint f() { return 1; }\n"),
        (
            "cs",
            "class A { void F(int a, __arglist) { G(out /* b */ var c, out // d\n int e); } }\n",
        ),
        ("cs", "class A { void F() { G(a * b, c[d.e * f]); G(h.i < j, k > l); } }\n"),
        ("c", "int f(void) {\n  return *&a + *& b + & *c;\n}\n"),
        ("c", "#ifndef for\n#define for if (0) {} else for\n#endif\n#define if(a, ...) if (a)\n"),
        ("cpp", "#define try if (true)\n#define catch(...) if (false)\n#define A(do) do\n"),
        ("c", "int f(void) {\n  a();\n  Py_END_ALLOW_THREADS\n  if (b) {\n    c();\n  }\n}\n"),
        ("c", "int f(void) {\n  Py_BEGIN_ALLOW_THREADS\n  for (;;) a();\n  return 1;\n}\n"),
        (
            "c",
            (
                "int f(int *a) {\n  each(b, a)\n    c++;\n  each(b, a) if (b) return 1;\n"
                "  unless (a) goto end;\n  with(a)\n    return *a;\nend:\n  return 0;\n}\n"
            ),
        ),
        ("c", "struct s {\n  header(s)\n  int x; };\n"),
        ("c", "API int x;\nstatic const int t[] = {\n  entry(a)\n  entry(b)\n};\n"),
        (
            "rs",
            'mod a { b!("c"); }\nextern "C" { d!(e); }\ntrait A { f!(g); }\nimpl A { h!(i); }\n',
        ),
        ("cpp", 'auto a = u8R"(\n#ifndef A\n)";\nauto b = R"x(\n#endif\n)" )x";\n'),
        ("cs", 'class A { string b = @"""\n#endif\n", c = """\n#if A "\n"""; }\n'),
        ("cs", 'class A { string b = $@"{{"";{c("d")}\n#endif\n"; }\n'),
        ("cs", 'class A {\n#if B\n string c = @"\n d/*.cs\n";\n#endif\n}\n'),
        ("cs", "class A {\n#if false\n don't b/*.cs @\"\n#endif\n}\n"),
    ],
)
def test_valid_text_stays_valid(language: str, text: str) -> None:
    assert check_cell(CheckRequest(language, text)).errors == ()
    assert language not in ("sh", "go") or not tree_sitter_check.find_faults(text, language)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("class A {\n#if NEVER\n this isn't C# at all { ( \n#endif\n int b;\n}\n", (3, 14)),
        ("#if false\n a (\n#elif NEVER\n b )\n#else\nclass A {}\n#endif\n", (4, 4)),
        ('class A {\r\n  #if (B || C) && !D // e\r\n "\r\n#endif\r\n}\r\n', (3, 2)),
        ('class A {\n#if B\n @"\n#if C\n /*\n#endif\n"\n#endif\n int d;\n}\n', (3, 3)),
    ],
)
def test_a_branch_of_no_known_symbol_need_not_be_csharp(text: str, place: tuple[int, int]) -> None:
    checked = check_cell(CheckRequest("cs", text))
    assert checked.valid
    assert place in [(one.line, one.column) for one in checked.warnings]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("class A {\n#if NEVER\n isn't\n#endif\n int b = ;\n}\n", 5),
        ("class A {\n#if DEBUG\n int b = ;\n#endif\n}\n", 3),
        ("class A {\n#if NET8_0_OR_GREATER\n int b = ;\n#endif\n}\n", 3),
        ("#define B\nclass A {\n#if B\n int b = ;\n#endif\n}\n", 4),
        ("class A {\n#if !NEVER\n int b = ;\n#endif\n}\n", 3),
        ("class A {\n#if NEVER\n int b;\n#else\n int b = ;\n#endif\n}\n", 5),
    ],
)
def test_mistakes_in_a_branch_of_csharp_that_is_read_are_found(text: str, line: int) -> None:
    assert line in [one.line for one in check_cell(CheckRequest("cs", text)).errors]
