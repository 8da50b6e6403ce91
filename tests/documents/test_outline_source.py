"""Source files: classes and functions are the sections, whatever hides in strings and comments."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from rolltop.documents.outline import FileType, detect_file_type, parse_outline

SAMPLES: Final = Path(__file__).parents[1] / "data" / "source"

# Each line: indentation by level, title, first and last line.

JAVASCRIPT: Final = """\
Foo 3-11
  constructor 5-5
  load 6-9
  value 10-11
top 12-14
arrow 15-17
Shape 18-18
Color 19-19
helper 21-21
last 23-23
"""


JAVA: Final = """\
Foo 4-14
  Foo 6-6
  get 8-10
  Kind 12-12
  Inner 13-13
Point 15-15
"""


CSHARP: Final = """\
A.B 2-14
  Foo 4-12
    Foo 7-7
    RunAsync 8-11
  E 13-13
"""


C: Final = """\
point 4-6
add 10-14
main 15-23
node 24-24
ns 28-36
  Widget 29-34
    Widget 31-31
    draw 33-33
  max 35-35
ns::Widget::paint 37-37
"""


GO: Final = """\
T 3-5
ID 6-6
I 7-7
Name 8-10
main 11-13
"""


RUST: Final = """\
P 2-2
U 3-3
impl<'a> Foo<'a> for P 4-7
  new 5-5
  go 6-6
Tr 8-8
tests 9-12
  it 11-11
last 13-13
"""


PHP: Final = """\
Foo 3-9
  a 5-5
  b 7-8
top 10-10
"""


KOTLIN: Final = """\
P 2-2
Foo 3-10
  go 4-4
  object 5-7
    of 6-6
  run 8-9
ext 11-11
Single 12-12
"""


SWIFT: Final = """\
S 2-8
  init 3-3
  go 4-6
  make 7-7
S 9-9
top 10-10
"""


RUBY: Final = """\
A 1-11
  Foo 2-10
    initialize 4-7
    make 8-8
    one 9-9
top 12-13
"""


SHELL: Final = """\
foo 2-6
baz 7-9
one 10-10
"""


EXAMPLES: Final[dict[str, str]] = {
    "sample.ts": JAVASCRIPT,
    "sample.java": JAVA,
    "sample.cs": CSHARP,
    "sample.cc": C,
    "sample.go": GO,
    "sample.rs": RUST,
    "sample.php": PHP,
    "sample.kt": KOTLIN,
    "sample.swift": SWIFT,
    "sample.rb": RUBY,
    "sample.sh": SHELL,
}


def drawn(text: str, kind: FileType) -> str:
    lines = [
        f"{'  ' * (section.level - 1)}{section.title} {section.start_line}-{section.end_line}\n"
        for section in parse_outline(text, kind).sections
    ]
    return "".join(lines)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_classes_and_functions_are_sections(name: str, newline: str) -> None:
    text = (SAMPLES / name).read_text("utf-8").replace("\n", newline)
    assert drawn(text, detect_file_type(name)) == EXAMPLES[name]


def test_a_missing_brace_does_not_swallow_what_follows() -> None:
    text = "int a(void) {\n  if (x) {\n  return 1;\n}\n\nint b(void) {\n}\n"
    assert drawn(text, "c") == "a 1-4\nb 6-7\n"


def test_minified_code_has_an_outline_too() -> None:
    assert drawn("function a(){" + "x();" * 100_000 + "}", "javascript") == "a 1-1\n"


@pytest.mark.parametrize("block", ['extern "C" {', "namespace\n{", "namespace {"])
@pytest.mark.parametrize("macro", ["DECLARE_THINGS(a)", "BEGIN_DECLS(a, b)\n"])
def test_a_macro_does_not_take_the_braces_of_what_holds_declarations(
    macro: str, block: str
) -> None:
    text = f"{macro}\n{block}\nint a(void) {{\n}}\nint b(void) {{\n}}\n}}\nint c(void) {{\n}}\n"
    names = [line.split()[0] for line in drawn(text, "c").splitlines()]
    assert names == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("kind", "begin"),
    [
        ("php", "<?php\nif (! function_exists('kept')) {"),
        ("php", '<?php\nif ( PHP_VERSION_ID < 80000 && !function_exists( "kept" ) )\n{'),
        ("php", "<?php\nif (!class_exists(Kept::class, false)) {"),
        ("rust", "\ncfg_rt! {"),
        ("rust", "\ncfg_if::cfg_if! { if #[cfg(all(unix, test))] {"),
        ("rust", "\ncfg_if! { if #[cfg(unix)] { } else if #[cfg(windows)] { } else {"),
    ],
)
def test_what_is_declared_on_a_condition_is_found(kind: FileType, begin: str) -> None:
    word = {"php": "function", "rust": "fn"}[kind]
    inner = (
        f"    {word} kept() {{\n        if one {{ two() }}\n    }}\n    {word} next() {{\n    }}\n"
    )
    text = f"{begin}\n{inner}{'}' * (begin.count('{') - begin.count('}'))}\n{word} last() {{\n}}\n"
    first = 2 + begin.count("\n")
    assert (
        drawn(text, kind)
        == f"kept {first}-{first + 2}\nnext {first + 3}-{first + 4}\nlast {first + 6}-{first + 7}\n"
    )


@pytest.mark.parametrize("array", ["[u8; 4]", "[[u8; A]; 4]", "&[T; size_of::<T>()]"])
def test_the_length_of_an_array_ends_no_declaration(array: str) -> None:
    text = f"impl A for {array} {{\n    fn a() -> {array} {{\n        b()\n    }}\n}}\n"
    found = [(section.title, section.end_line) for section in parse_outline(text, "rust").sections]
    assert found[1:] == [("a", 4)]
    assert found[0][0].startswith("impl A for")
    assert found[0][1] == 5


@pytest.mark.parametrize(
    "hidden",
    [
        '$a = "/\n[^}]+\n/";', "$a = '\n}\n}';", "?>\n<p>}</p>\n<?php", "// a ?> }\n} <?=",
        "$a = `git log --format='%H`;", "$a = <<<B\r\nit's {\r\nB;",
    ],
)  # fmt: skip
def test_braces_in_what_php_writes_end_no_class(hidden: str) -> None:
    text = (
        "<p>It's {</p>\n<?php\n"
        f"class A {{\n  function b() {{\n    {hidden}\n    return 1;\n  }}\n\n"
        "  function c() {\n  }\n}\n"
    )
    end = 7 + hidden.count("\n")
    assert drawn(text, "php") == f"A 3-{end + 4}\n  b 4-{end}\n  c {end + 2}-{end + 3}\n"


@pytest.mark.parametrize(
    "head",
    [
        "f(a): { b: string; c: number } {", "f(a): {\n    b: { c: d };\n  } | null {",
        "f(a): A<B & { [c in D]: E }, F> {", "f(a): Map<string, { b: c }> {",
        "get f(): { a: () => { b: c } } {", "f(a): a is { b: c } {",
    ],
)  # fmt: skip
def test_a_body_is_behind_the_braces_of_a_type(head: str) -> None:
    begin = "class A<B extends { a: b } = { a: b }> extends C<{ a: b }> {"
    text = f"{begin}\n  {head}\n    return b;\n  }}\n}}\n"
    end = 4 + head.count("\n")
    assert drawn(text, "javascript") == f"A 1-{end + 1}\n  f 2-{end}\n"


def test_the_braces_of_a_type_are_all_of_a_declaration_without_a_body() -> None:
    text = "function a(): {\n  b: c;\n} | null;\nfunction a(d) {\n}\n"
    assert drawn(text, "javascript") == "a 1-3\na 4-5\n"


def test_a_declaration_whose_type_ends_its_line_needs_no_semicolon_and_no_body() -> None:
    text = "function a(b): {\n  c: d\n}\n\nconst e = 1\n\nfunction f() {\n}\n"
    assert drawn(text, "javascript") == "a 1-3\nf 7-8\n"


def test_a_name_that_is_a_word_of_types_has_a_body() -> None:
    text = "class is {\n  a() {\n    b\n  }\n}\n"
    assert drawn(text, "javascript") == "is 1-5\n  a 2-4\n"


@pytest.mark.parametrize(
    "head",
    [
        "a() struct{ b int }",
        "a[B interface{ ~int }](b B) B",
        "(a A) a() (b chan struct {\n\tc D\n})",
    ],
)
def test_a_body_in_go_is_behind_the_types_that_a_function_has(head: str) -> None:
    text = f"func {head} {{\n\treturn b\n}}\nfunc b() {{\n}}\n"
    end = 3 + head.count("\n")
    assert drawn(text, "go") == f"a 1-{end}\nb {end + 1}-{end + 2}\n"


@pytest.mark.parametrize(
    ("kind", "value", "word"),
    [
        ("swift", 'let a = #"b " { c"#', "func"),
        ("swift", 'let a = #"""\n<a href="#b">{</a>\n"""#', "func"),
        ("swift", 'let a = /#"/', "func"),
        ("swift", 'let a = #"""#', "func"),
        ("php", "  <p>Don't {</p>\n<?php", "function"),
        ("php", "<h1>Don't</h1>\n<? ", "function"),
        ("php", "<p>You don't</p>\n<script>", "function"),
        ("csharp", 'var a = @$"\n{{ ""{b} { ""\n";', "void"),
    ],
)
def test_a_brace_in_a_string_hides_nothing_below(kind: FileType, value: str, word: str) -> None:
    first = 2 + value.count("\n")
    assert drawn(f"{value}\n{word} d() {{\n}}\n", kind) == f"d {first}-{first + 1}\n"


def test_a_method_of_ruby_may_stand_behind_a_word_or_before_its_value() -> None:
    text = (
        "class A\n  private def b(c)\n    c\n  end\n  private_class_method def self.d = e\n"
        "  def f = g\n\n  h\nend\n"
    )
    assert drawn(text, "ruby") == "A 1-9\n  b 2-4\n  d 5-5\n  f 6-6\n"


@pytest.mark.parametrize(
    "head", ["a = b.map do |c|", "a = begin", "a(b) = if b", "a = b {", "a = begin # c"]
)
def test_the_value_of_a_method_of_ruby_may_go_on(head: str) -> None:
    assert drawn(f"def {head}\n  c\nend\ndef d\nend\n", "ruby") == "a 1-3\nd 4-5\n"


def test_a_here_document_of_ruby_declares_nothing_by_another_name() -> None:
    assert drawn("a = <<~B\n  def #{c}\n  end\nB\ndef d\nend\n", "ruby") == "d 5-6\n"


def test_words_that_a_macro_lists_are_no_names() -> None:
    text = (
        "impl A {\n    forward! {\n        map\n        struct enum any\n    }\n    fn a() {}\n}\n"
    )
    assert drawn(text, "rust") == "impl A 1-7\n  a 6-6\n"


@pytest.mark.parametrize("begin", ["/* helpers */ namespace {", '/* C */ extern "C" {'])
def test_a_comment_that_is_over_hides_nothing(begin: str) -> None:
    assert drawn(f"{begin}\nint f(int a) {{\n}}\n}}\n", "c") == "f 2-3\n"


@pytest.mark.parametrize("head", ["template <class T>", "template<class T, class U = Of<T, 2>>"])
@pytest.mark.parametrize("between", [" ", "\n", " template <class V> "])
def test_a_template_is_what_follows_its_parameters(head: str, between: str) -> None:
    begin = f"{head}{between}"
    more = begin.count("\n")
    text = f"{begin}class A {{\n  {head} T b(T t) {{\n  }}\n}};\n{begin}T c(T t) {{\n}}\n"
    first, last = 1 + more, 5 + 2 * more
    assert (
        drawn(text, "c")
        == f"A {first}-{first + 3}\n  b {first + 1}-{first + 2}\nc {last}-{last + 1}\n"
    )


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("std::vector<int>& A::b(int c)", "A::b"), ("Of<T>* b(T c)", "b"), ("Of<T>&& b(T c)", "b"),
        ("std::map<int, Of<T>>::iterator b(T c)", "b"), ("struct of A::b(int c) const", "A::b"),
        ("template <class T> void A<T>::b(T c)", "A<T>::b"), ("A<T, 2>::~A()", "A<T, 2>::~A"),
        ("template <class T>\nA<T>::A(T c) : c_(c)", "A<T>::A"),
        ("template <> void b<Of>(Of& c)", "b<Of>"),
        ("template <class T> bool A<T>::operator==(const A& c)", "A<T>::operator=="),
    ],
)  # fmt: skip
def test_a_function_of_a_template_is_a_section(head: str, name: str) -> None:
    first = 1 + head.count("\n")
    text = f"{head} {{\n}}\nint last(int c) {{\n}}\n"
    assert drawn(text, "c") == f"{name} {first}-{first + 1}\nlast {first + 2}-{first + 3}\n"


def test_what_a_member_of_a_class_calls_is_none_of_its_members() -> None:
    text = "class A {\n  h = later(() => {\n    const b = () => {\n    };\n  });\n}\n"
    assert drawn(text, "javascript") == "A 1-6\n"


@pytest.mark.parametrize(
    "comment", ["// in the anonymous namespace", '// called from extern "C"', "/* a namespace"]
)
def test_what_a_comment_says_takes_no_braces(comment: str) -> None:
    text = f"class A {comment}{' */' * comment.startswith('/*')}\n{{\n  int b;\n}};\n"
    assert drawn(text, "c") == "A 1-4\n"


@pytest.mark.parametrize(
    ("begin", "end"),
    [
        ("(function () {", "})();"), ("!function($) {", "}(jQuery);"), (";(() => {", "})();"),
        ("( function( global, factory ) {\n})( this, function( window ) {", "} );"),
        ("define(['a', 'b'], function (a, b) {", "});"), ("(async () => {", "})();"),
        ("$(document).ready(function () {", "});"), ("module.exports = function (x) {", "};"),
        ("describe('x', () => {\nif (y) {\n}", "});"),
        ("app.use('http://a/**/*.js', function () {", "});"),
        ("/* istanbul ignore next */ (function () {", "})();"), ("x(/*a*/ function () {", "});"),
        ("x(function ($scope, $http, $location, $routeParams, $timeout, Users) {", "});"),
        ("x(function (a, b = f()) {", "});"), ("x(function (a): Promise<void> {", "});"),
        ("x(function (/* options */) {", "});"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("margin", ["", "  "])
def test_what_a_function_without_a_name_holds_is_found(begin: str, end: str, margin: str) -> None:
    inner = (
        "function a(x) {\n  function inner() {}\n}\n"
        "var b = function () {\n};\n"
        "class C {\n  m() {}\n}"
    )
    inner = "".join(f"{margin}{line}\n" for line in inner.splitlines())
    outlined = drawn(f"{begin}\n{inner}{end}\nfunction last() {{}}\n", "javascript")
    assert [line.split()[0] for line in outlined.splitlines()] == ["a", "b", "C", "m", "last"]


GROUPS: Final = """\
import (
\tb "c"
)
type D int
type (
\tE struct {
\t\tf func(int) (a int)
\t\tg struct {
\t\t}
\t}

\t// H is one.
\tH[K any] interface {
\t\tI(k K) (int, error)
\t}
\tJ = func(
\t\ta int,
\t) (int, error)
\tL struct{}
\tM map[string]int
)
var (
\tn int
)
func o() {
\ttype (
\t\tP struct {
\t\t}
\t)
}
type Q struct {
}
"""


def test_types_in_parentheses_are_sections_and_their_fields_are_none() -> None:
    assert drawn(GROUPS, "go") == (
        "D 4-4\nE 6-10\nH 13-15\nJ 16-18\nL 19-19\nM 20-20\no 25-30\nQ 31-32\n"
    )


def test_a_group_that_nothing_closes_hides_no_function() -> None:
    assert drawn("type (\n\tA int\n\nfunc b() {\n}\n", "go") == "A 2-2\nb 4-5\n"


RECORDS: Final = """\
namespace A.B;
public record C(int D);
[Serializable]
public readonly record struct E<T>(
    T F,
    int G = 3
) : H(F)
    where T : class;
class I(int j)
{
    record K;
    void L(record m);
    int N() => 1;
}
"""


def test_types_that_need_no_body_are_sections() -> None:
    assert drawn(RECORDS, "csharp") == "C 2-2\nE 4-8\nI 9-14\n  K 11-11\n  N 13-13\n"
