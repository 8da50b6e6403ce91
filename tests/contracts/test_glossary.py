"""Names are the field's: departures from the glossary may only become fewer."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.contracts import glossary
from tests.contracts.sources import Module

TESTS = Path(__file__).parents[1]
MAX_FILES_WITH_PRIVATE_NAMES = 9
PRIVATE_NAME = re.compile(
    r"""setattr\([^,]+,\s*"_[a-z]|"rolltop[\w.]*\._\w|reportPrivateUsage""", re.IGNORECASE
)

pytestmark = pytest.mark.xdist_group("sources")  # one process parses them


def read(source: str, path: str = "src/rolltop/core/example.py") -> Module:
    return Module(path, tuple(source.splitlines()), ast.parse(source))


@pytest.mark.parametrize("kind", sorted(glossary.GLOSSARY["ceilings"]))
def test_departures_from_the_glossary_do_not_grow(kind: str) -> None:
    departures = glossary.find_departures()[kind]
    assert len(departures) <= glossary.GLOSSARY["ceilings"][kind], "\n".join(departures)


def test_a_gerund_module_is_found_and_a_noun_is_not() -> None:
    assert list(glossary.find_gerund_modules(read("", "src/rolltop/core/looking.py")))
    assert not list(glossary.find_gerund_modules(read("", "src/rolltop/core/logging.py")))


def test_a_bare_participle_is_found_and_a_verb_is_not() -> None:
    assert list(glossary.find_participle_functions(read("def _kept(): ...")))
    assert not list(glossary.find_participle_functions(read("def keep_listed(): ...")))


def test_a_limit_called_most_is_found() -> None:
    assert list(glossary.find_limit_constants(read("_MOST_BYTES: Final = 3")))
    assert not list(glossary.find_limit_constants(read("MAX_BYTES = 3")))


def test_a_container_at_module_level_is_found() -> None:
    for source in ("_seen = {}", "_seen: Final[dict[str, int]] = {}", "_lock = Lock()"):
        assert list(glossary.find_mutable_state(read(source))), source
    assert not list(glossary.find_mutable_state(read("NAMES = {'a': 1}")))


def test_a_forbidden_word_is_found_in_its_package_only() -> None:
    source = "def weigh_rarity(): ..."
    assert list(glossary.find_forbidden_words(read(source, "src/rolltop/core/fulltext/x.py")))
    assert not list(glossary.find_forbidden_words(read(source, "src/rolltop/cli/x.py")))


def test_few_tests_touch_private_names() -> None:
    files = [file for file in TESTS.rglob("*.py") if PRIVATE_NAME.search(file.read_text())]
    assert len(files) <= MAX_FILES_WITH_PRIVATE_NAMES, "\n".join(map(str, files))
