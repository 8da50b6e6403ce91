"""What the standards of C and C++ have and grammars lack.

Each is tried with a mistake after it too, so that nothing is just passed over.
"""

from __future__ import annotations

import pytest

from rolltop.toolsets.scratch.syntax.checker import check_cell
from rolltop.toolsets.scratch.syntax.results import CheckRequest

OF_C = [
    "#include <complex.h>\nint f(void) { double complex z = 1.0 + 2.0*I; return creal(z); }\n",
    "double complex f(double complex a, const float complex *b) { return a * *b; }\n",
    "double _Complex z;\n_Complex double y[2];\nstatic const long double _Complex x = 1.0;\n",
    "typedef double _Complex fftw_complex;\ntypedef float _Complex pair[2];\n",
    "complex double b = 0;\nstatic complex float c(complex long double d);\n",
    "void f(void) { g((double complex) 1, sizeof(double complex), (float complex[]){1, 2}); }\n",
    "double complex (*f)(double complex, int);\ndouble complex volatile w;\n",
    "int g(double _Complex x) { return _Generic(x, double complex: 1, float _Complex: 2); }\n",
    "double _Complex z = 1.5e3i + 2.0fi;\n",
    "int complex = 1;\nstruct complex { double re; };\nint f(struct complex a) { return 1; }\n",
    "typedef struct { double r, i; } complex;\ncomplex f(complex a, const complex *b);\n",
    'struct s { struct { int a; } b; _Static_assert(1, "a"); _Static_assert(2, "b"); } c[1];\n',
    'struct [[deprecated]] s { int a; };\nenum e { A [[deprecated("b")]] = 1, B };\n',
    "void f(int x) { switch (x) { case 1: } { out: } end: }\n",
    'void f(void) { _Pragma("omp parallel for") for (;;) ; }\n_Pragma("once") int a;\n',
    "const char a[] = {\n#embed <b.bin> limit(3) prefix(1,)\n, 0 };\n",
    "int f(\n#ifdef A\nint a\n#elifdef B\nint b\n#elifndef C\nint c\n#else\nvoid\n#endif\n);\n",
    "enum : long { C = 5 };\nenum f : unsigned char;\n",
    "int *p = (static int[]){1, 2};\nvoid f(void) { g(&(constexpr struct s){3}); }\n",
]
OF_CPP = [
    "template <class... T> struct A : T... { using T::operator()...; };\n",
    "namespace a { using std::begin, std::end; }\nstruct B : C, D { using C::f, D::g; };\n",
    "task<int> f() { for co_await (auto x : y) { co_yield x; } }\n",
    "struct P { int x, y; };\nP p = { .x{1}, .y = 2 };\n",
    "auto f = [](int a) static { return a; };\nauto g = [] noexcept { return 1; };\n",
    "template <class T> S(T) -> S<T>;\nexplicit S(int) -> S<int>;\n",
    "template <class T, class C> struct is_member<T C::*> : true_type {};\n",
    'void f() = delete("why");\n',
    "int (*f)() = g;\nint (A::*h)() = &A::i;\nstd::string (*j[])() = {k, l};\n",
    "template <std::same_as<int> T = int, C U = unsigned char> struct A;\n",
    "void f() { p->T::~T(); }\n",
    "template <class... T> auto f(T... t) { return t...[1]; }\n",
    "extern template void f(int);\nextern template std::string A<int>::g();\n",
    "double _Complex z;\nstd::complex<double> y;\ndouble complex = 1;\n",
    'void f() { _Pragma("GCC diagnostic push") int a; end: }\n',
]
CASES = [*(("c", one) for one in OF_C), *(("cpp", one) for one in OF_CPP)]


@pytest.mark.parametrize(("language", "text"), CASES)
def test_what_a_standard_has_is_valid(language: str, text: str) -> None:
    for one in (language, {"c": "h", "cpp": "hpp"}[language]):
        assert check_cell(CheckRequest(one, text)).errors == ()
        (error, *_) = check_cell(CheckRequest(one, f"{text}int last = 1 + ;\n")).errors
        assert error.line == text.count("\n") + 1


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("c", "double complex z w;\n"),
        ("c", "double complex z = 1.0 + ;\n"),
        ("c", "double _Complex f(double _Complex a {}\n"),
        ("c", 'struct s { int a; _Static_assert(1 + , "a"); };\n'),
        ("cpp", "using a::b,\n    int x;\n"),
        ("cpp", "auto f = [](int a) static { return ; ) };\n"),
    ],
)
def test_mistakes_beside_it_are_found(language: str, text: str) -> None:
    assert check_cell(CheckRequest(language, text)).errors
