"""Which cases of its tests a run of the whole suite makes.

The test command leaves some out; a run of full size makes those, and all of modules with a random
campaign. What is named on the command line runs whole.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final
from zlib import crc32

import pytest

from tests.campaign import examples, factor, is_full, some_of
from tests.databases import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable

LARGE_TABLE: Final = 8
"""Cases of one test from which on a small run makes half of them."""
_KIND: Final = re.compile(rf"(?<=[\[-])(?:{'|'.join(KINDS)})(?=[\]-])")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this run of the whole suite does not make."""
    if config.option.file_or_dir or config.option.keyword:
        return
    small = choose_cases(item.nodeid for item in items)
    kept, others = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        is_small = item.nodeid in small
        is_kept = not is_small or _has_campaign(item) if is_full() else is_small
        (kept if is_kept else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = kept


def _has_campaign(item: pytest.Item) -> bool:
    module: object = getattr(item, "module", None)
    sized = (examples, some_of, factor)
    return any(value is one for value in vars(module).values() for one in sized)


def choose_cases(node_ids: Iterable[str]) -> set[str]:
    """Return those of the tests' cases that a small run makes, the same each time.

    A case that there is for both databases is made on one of them, and of a large table half of
    the cases: by what looks like chance, so that no value of a parameter is always left out.
    """
    tables: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    for node_id in node_ids:
        case = _KIND.sub("", node_id, count=1)
        tables[node_id.partition("[")[0]].setdefault(case, []).append(node_id)
    chosen: set[str] = set()
    for cases in tables.values():
        drawn = sorted(cases, key=_draw)
        half = -(-len(drawn) // 2) if len(drawn) >= LARGE_TABLE else len(drawn)
        chosen |= {cases[case][_draw(case) % len(cases[case])] for case in drawn[:half]}
    return chosen


def _draw(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))
