"""Content made to break parsers ends in a result, for every language."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.toolsets.scratch.syntax import (
    c_macros,
    c_preprocessor,
    external_programs,
    tree_sitter_check,
)
from rolltop.toolsets.scratch.syntax.checker import LANGUAGES, check_cell
from rolltop.toolsets.scratch.syntax.grammar_gaps import rewrite
from rolltop.toolsets.scratch.syntax.results import CheckRequest, CheckResult
from rolltop.toolsets.scratch.syntax.schema import runnable_pattern
from rolltop.toolsets.scratch.syntax.validator import Validator
from tests.campaign import examples
from tests.growth import Sample, check_growth

if TYPE_CHECKING:
    from collections.abc import Iterator

PROSE = {"md", "txt"}
TOKENS = st.sampled_from(
    [
        *"()[]{}<>\"'`#/*\\=:;,.-+!?&|%$@\n\t\r\0 1xé\ufeff\ud800\u2028",
        *("<!--", "-->", "/*", "*/", "//", "<?php ", "<a", "</a>", "if", "def ", "fn ", "- ", "? "),
        *("&a ", "*a", "---\n", "```", "'''", '"""', "#if X\n", "#endif\n"),
        *("? {a: [b]}\n: ", "a = ", "1979-05-27", "<<: ", "!!set ", "\nb: "),
    ]
)


@pytest.fixture(scope="module")
def validator() -> Iterator[Validator]:
    """What ends a check that takes long."""
    one = Validator(timeout=3.0)
    yield one
    one.close()


@pytest.fixture(scope="module")
def patient() -> Iterator[Validator]:
    """What waits for a check that ends by itself."""
    one = Validator(timeout=600.0)
    yield one
    one.close()


def only(validator: Validator, cell: CheckRequest) -> CheckResult:
    (result,) = asyncio.run(validator.check([cell]))
    return result


@pytest.mark.parametrize("language", sorted(set(LANGUAGES) - PROSE))
@pytest.mark.parametrize("character", ["\0", "\ud800"])
def test_nul_and_lone_surrogates_are_errors_with_places(language: str, character: str) -> None:
    checked = check_cell(CheckRequest(language, f"a\nb{character}"))
    assert [(one.line, one.column) for one in checked.errors] == [(2, 2)]


@pytest.mark.parametrize("opener", ["[", "(", "{", "<div>", "- ", "-", "!", "a.b(", '{"a":'])
@pytest.mark.parametrize("language", LANGUAGES)
def test_deep_nesting_ends(language: str, opener: str, validator: Validator) -> None:
    result = only(validator, CheckRequest(language, opener * 2_000))
    assert isinstance(result, CheckResult)


@pytest.mark.parametrize("language", ["json", "yaml", "js", "css", "toml", "py", "html"])
def test_five_megabytes_of_brackets_end(language: str, validator: Validator) -> None:
    result = only(validator, CheckRequest(language, "[" * 5_000_000))
    assert result.timed_out or result.valid is (language == "html")


def test_hundred_thousand_levels_of_json_are_an_error(patient: Validator) -> None:
    result = only(patient, CheckRequest("json", "[" * 100_000 + "]" * 100_000))
    assert isinstance(result, CheckResult)
    assert result.errors[0].code == "JSON_TOO_DEEP"


def against(pattern: str, validator: Validator) -> CheckResult:
    """The result for a text that makes a backtracking engine try everything."""
    cell = CheckRequest("json", '"' + "a" * 50_000 + '!"', schema={"pattern": pattern})
    result = only(validator, cell)
    assert isinstance(result, CheckResult)
    return result


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(a|a)*$", "^(?=(a+)+$)"])
def test_catastrophic_patterns_end(pattern: str, patient: Validator) -> None:
    assert [one.code for one in against(pattern, patient).errors] == ["SCHEMA_VIOLATION"]


@pytest.mark.parametrize("pattern", [r"^(\w+\s?)*\1$", r"^(?!(\w+\s?)*\1$)"])
def test_a_pattern_given_up_on_is_no_violation(pattern: str, patient: Validator) -> None:
    result = against(pattern, patient)
    assert result.valid
    assert [one.code for one in result.warnings] == ["SCHEMA_PATTERN_UNDECIDED"]
    assert "too many steps" in result.warnings[0].message
    assert (result.details["schema"]["performed"], result.details["schema"]["passed"]) == (
        True,
        None,
    )


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "#"}, {"items": {"$ref": "#"}}, {"enum": list(range(100_000))},
     {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}],
)  # fmt: skip
def test_schemas_that_go_round_end(schema: object, validator: Validator) -> None:
    assert isinstance(only(validator, CheckRequest("json", "[[1]]", schema=schema)), CheckResult)


YAML = st.recursive(
    st.sampled_from(
        ["a", "1", "0x1", "1.0", "true", "~", ".nan", "'q'", "!!str 1", "!x a", "", "*z"]
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda some: f"&z [{', '.join(filter(None, some))}]"),
        st.lists(st.tuples(inner, inner), max_size=3).map(
            lambda some: f"{{{', '.join(f'? {key} : {one}' for key, one in some)}}}"
        ),
        inner.map(lambda one: f"!!set {{? {one} }}"),
        inner.map(lambda one: f"{{<<: {one} }}"),
    ),
)


@pytest.mark.parametrize("text", ["a = {}\n", "{}", "a: {}\n"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_integers_of_thousands_of_digits_have_a_result(language: str, text: str) -> None:
    checked = check_cell(CheckRequest(language, text.format("9" * 5000), schema={"maximum": 1}))
    assert checked.valid is (not checked.errors)


@settings(max_examples=examples(100))
@given(content=st.lists(st.tuples(YAML, YAML), max_size=4))
def test_yaml_with_any_keys_has_a_result(content: list[tuple[str, str]]) -> None:
    text = "z: &z [1]\n" + "".join(f"? {key}\n: {value}\n" for key, value in content)
    checked = check_cell(
        CheckRequest("yaml", text, schema={"additionalProperties": {"type": "string"}})
    )
    assert checked.details["syntax"]["passed"], (text, checked)
    assert all(one.line <= text.count("\n") + 1 for one in (*checked.errors, *checked.warnings))


@pytest.mark.parametrize("language", LANGUAGES)
@settings(max_examples=examples(40))
@given(content=st.lists(TOKENS, max_size=40).map("".join))
def test_any_text_has_a_result_with_places_inside_it(language: str, content: str) -> None:
    checked = check_cell(CheckRequest(language, content, schema={"type": "object"}))
    assert checked.valid is (not checked.errors)
    lines = content.split("\n")
    for one in (*checked.errors, *checked.warnings):
        assert 1 <= one.line <= len(lines) + 1
        assert one.column >= 1
        assert one.message
        assert one.code


@pytest.mark.parametrize(
    ("language", "text", "place"),
    [
        ("json", '{{"b": 1,\n "a": {}}}', (2, 7)),
        ("yaml", "b: 1\na: {}\n", (2, 4)),
        ("toml", "b = 1\na = -{}\n", (2, 5)),
    ],
)
def test_what_is_wrong_with_a_long_integer_has_its_place(
    language: str, text: str, place: tuple[int, int]
) -> None:
    content = text.format("9" * 5000)
    checked = check_cell(
        CheckRequest(language, content, schema={"additionalProperties": {"maximum": 1}})
    )
    assert [(one.line, one.column) for one in checked.errors] == [place]


@pytest.mark.parametrize(
    "sample",
    [
        Sample(("<a ",)),
        Sample(("<b><i>",)),
        Sample((' a="v"',), "<img"),
        Sample(("='", '="'), "<a"),
        Sample(("<!--", "<script>")),
        Sample(("<![CDATA[",), "<svg>"),
    ],
)
def test_a_page_is_checked_in_time_by_its_length(sample: Sample) -> None:
    check_growth(lambda text: check_cell(CheckRequest("html", text)), sample)


@pytest.mark.parametrize("unit", ["[", "[a", r"[\w", r"\w-", "[-", "[\\\\"])
def test_patterns_are_read_in_time_by_their_length(unit: str) -> None:
    check_growth(runnable_pattern, Sample((unit,)))


@pytest.mark.parametrize("language", ["c", "hpp", "cs", "rb", "sh"])
@pytest.mark.parametrize(
    "unit",
    [
        *("case ", "foreach(", "template class a<", "a?.b", "goto *", "(in ", "enum a:b ", "__a"),
        *("def a", "def a(", "time ", "for a", "${a:$"),
        *("va_arg(a,", "offsetof(a, b", "(struct ", "(struct a *", "static AAA", "(this "),
        "(static a[",
    ],
)
def test_gaps_of_grammars_are_filled_in_time_by_the_texts_length(language: str, unit: str) -> None:
    check_growth(lambda text: rewrite(text, language), Sample((unit,)))


@pytest.mark.parametrize("sample", [Sample((" ",)), Sample(("/",), end="\n"), Sample(("/* ",))])
def test_what_stands_before_a_package_clause_is_read_in_time_by_its_length(sample: Sample) -> None:
    check_growth(external_programs.has_package_clause, sample)


@pytest.mark.parametrize("language", ["cpp", "cs"])
@pytest.mark.parametrize(
    "unit",
    [
        *('R"(', 'R"a(b)', "'", '"', '@"', '@""', '$@"{', '$@"{"a"', '$@"{"', '""" ', '""""""" '),
        *("/*", "/ *", "#if A\n", "#else\n", "#endif\n", "#if A\n#endif\n", "\\\n", '$@"{\\"'),
    ],
)
def test_directives_are_paired_in_time_by_the_texts_length(language: str, unit: str) -> None:
    sample = Sample((unit,), end="\n#endif\n")
    check_growth(lambda text: c_preprocessor.find_unbalanced(text, language), sample)


@pytest.mark.parametrize(
    ("language", "sample"),
    [
        ("c", Sample(("case 1: ;\n",), "int f() { ", " }")),
        ("c", Sample(("case 1: ;\n",), "int f() { ", " AAA(); }")),
        ("c", Sample(("case 1: { ", "} "), "int f() { AAA(); ", "}", nested=True)),
        ("c", Sample(("x = &&a;\n",), "int f() { ", "}")),
        ("c", Sample(("x = &&a;\n",), "int f() { ", "a: ; }")),
        ("c", Sample(("&",), "int f() { x = ", "a; }")),
        ("c", Sample(("g(a)\nh(a);\n",), "int f() {\n", "}")),
        ("c", Sample(("struct A b { } ",), "", "")),
        ("rs", Sample(("a<",), "fn f() { ", "a; }")),
        ("rs", Sample(("// a\n",), "fn f() { a!(b)\n", "}")),
        ("rs", Sample(("a!(b) ",), "fn f() { ", "}")),
        ("rs", Sample(("{ a!(b) } ",), "fn f() { ", "}")),
        ("rb", Sample(("else\n  b\n",), "def a\n", "end\n")),
        ("rb", Sample(("f(a, b c(",), "", "")),
        ("cs", Sample(("G(out var a);",), "class A { void F() { ", "} }")),
    ],
)
def test_rules_are_judged_in_time_by_the_texts_length(language: str, sample: Sample) -> None:
    check_growth(lambda text: tree_sitter_check.find_faults(text, language), sample)


@pytest.mark.parametrize(
    "sample",
    [
        *(Sample((unit,)) for unit in ("AAA ", "AAA\n", "a::", "AAA(", "a(int ", "(a*,", '"a" A ')),
        *(Sample((unit,)) for unit in ("int f(", "[", "{", "{\n", "}\n", "((", "x = ;", "\\\n")),
        Sample(("{", "}\n"), nested=True),
        Sample(("AAA(", ")"), nested=True),
        Sample(("f(int,",), "", ")"),
        Sample(("AAA int f(a b;",), "void g() { ", "}"),
        Sample(("f(a)\n",), "void g() {\n", "}"),
    ],
)
@pytest.mark.parametrize("is_cpp", [True, False])
def test_macros_are_found_in_time_by_the_texts_length(sample: Sample, *, is_cpp: bool) -> None:
    def read(text: str) -> None:
        reading = c_macros.MacroReading(text, set(), is_cpp=is_cpp)
        for at in range(0, len(text), 100):
            reading.excuses(at, at + 1)

    check_growth(read, sample)
