"""Finding a section takes time by the number of sections."""

from __future__ import annotations

from rolltop.documents.outline import parse_outline
from rolltop.toolsets.reader.sections import find_sections
from tests.growth import Sample, check_growth


def test_a_path_of_titles_is_found_in_time_by_their_number() -> None:
    def find(text: str) -> None:
        sections = parse_outline(text, "markdown").sections
        assert find_sections(sections, "a > b")

    check_growth(find, Sample(("# a\n## b\n",)))
