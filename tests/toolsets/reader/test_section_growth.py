"""Finding a section takes time by the number of sections."""

from __future__ import annotations

from rolltop.documents.outline import parse_outline
from rolltop.toolsets.reader.sections import find_sections, suggest_sections
from tests.growth import SIZE, Sample, check_growth


def test_a_path_of_titles_is_found_in_time_by_their_number() -> None:
    def find(text: str) -> None:
        sections = parse_outline(text, "markdown").sections
        assert find_sections(sections, "a > b")

    check_growth(find, Sample(("# a\n## b\n",)))


def test_suggestions_are_found_in_time_by_the_number_of_titles() -> None:
    def suggest(text: str) -> None:
        titles = "".join(f"# {'aac' * 64}{number}\n" for number in range(len(text) // 200))
        assert suggest_sections(parse_outline(titles, "markdown").sections, "aab" * 66, 5)

    check_growth(suggest, Sample(("a",)), 8 * SIZE)


def test_a_title_with_a_slip_is_suggested_from_among_thousands() -> None:
    titles = "".join(f"# Part{number}\n" for number in range(2_000))
    sections = parse_outline(titles + "# Installation\n", "markdown").sections
    assert suggest_sections(sections, "Instalation", 3)[0].title == "Installation"
