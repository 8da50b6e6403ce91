"""No text takes longer to summarize than its length allows, whatever it repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core.text.lines import line_starts
from rolltop.documents.outline import FILE_TYPES, parse_outline
from rolltop.toolsets.reader.summary.material import analyze
from tests.campaign import examples
from tests.documents.test_growth import OF_KIND, samples
from tests.growth import SIZE, Sample, check_growth

if TYPE_CHECKING:
    from rolltop.documents.outline import FileType


def summarize(text: str, kind: FileType) -> None:
    sections = parse_outline(text, kind).sections
    analyze(text, kind, sections, [1] * len(sections), line_starts(text))


@given(st.data(), st.sampled_from(FILE_TYPES))
@settings(max_examples=examples(40), deadline=None)
def test_a_summary_takes_time_by_the_length_of_the_text(
    data: st.DataObject, kind: FileType
) -> None:
    check_growth(lambda text: summarize(text, kind), data.draw(samples(OF_KIND[kind])))


def test_an_element_that_is_none_takes_time_by_its_number() -> None:
    sample = Sample(("<\u017fcript>",), end="</p>\n")
    check_growth(lambda text: summarize(text, "html"), sample, 2 * SIZE)


@pytest.mark.parametrize(
    "sample",
    [
        Sample(("# Abstract\n",)),
        Sample(("## x\n", "### Abstract\n"), "# Intro\n"),
        Sample(("## Introduction\n", "# Abstract\n"), "# A\n# B\n"),
        Sample(("#\n",), end="# Abstract\n"),
    ],
)
def test_titles_of_abstracts_take_time_by_their_number(sample: Sample) -> None:
    check_growth(lambda text: summarize(text, "markdown"), sample)
