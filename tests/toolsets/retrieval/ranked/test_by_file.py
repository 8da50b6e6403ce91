"""repo_smart_search: one result a file first, the file's further lines, and the titles around."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.toolsets.retrieval.forest import Forest, make_forest

if TYPE_CHECKING:
    from pathlib import Path

METHODS = "".join(
    f"    def reef_{n}(self, sail):\n        return sail.reef({n})\n\n" for n in range(8)
)


def found(forest: Forest, query: str, **more: Any) -> list[dict[str, Any]]:
    return forest.ok("repo_smart_search", query=query, **more)["result"]


def plant(forest: Forest, files: int) -> None:
    """Write files of eight methods that match, and one that matches less."""
    for n in range(files):
        forest.put(f"code/sail_{n:02}.py", f"class Sail{n}:\n{METHODS}")
    forest.put("code/zz_weather.py", "def storm():\n    # Time to reef.\n    return wind > 8\n")


def test_ten_files_come_before_a_second_result_of_any(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "code")
    plant(forest, 12)
    results = found(forest, "reef the sail", limit=100)
    paths = [one["path"] for one in results]
    assert len(set(paths[:10])) == 10
    assert len(set(paths[10:])) < len(paths[10:])
    whole = [(one["path"], one["line"]) for one in results]
    assert len(set(whole)) == len(whole)
    scores = [one["score"] for one in results]
    assert scores == sorted(scores, reverse=True)


def test_a_file_that_matches_less_comes_before_the_second_result_of_another(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "code")
    plant(forest, 2)
    results = found(forest, "reef the sail")
    assert [one["path"] for one in results[:3]] == ["sail_00.py", "sail_01.py", "zz_weather.py"]
    assert {one["path"] for one in results[3:]} == {"sail_00.py", "sail_01.py"}


def test_a_file_lists_the_lines_of_its_next_results(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "code")
    plant(forest, 1)
    first, weather, *others = found(forest, "reef the sail", limit=100)
    assert first["also"] == [f"{one['line']}-{one['end_line']}" for one in others[:5]]
    assert "also" not in weather
    assert all("also" not in one for one in others)


def test_results_name_the_titles_around_them(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "code", "docs")
    plant(forest, 1)
    forest.put("docs/guide.md", "# Guide\n\n## Storms\n\n### Masts\n\nLower the topmast early.\n")
    forest.put("docs/log.txt", "The topmast fell.\n")
    assert found(forest, "reef_3")[0]["in"] == "Sail0 > reef_3"
    by_path = {one["path"]: one for one in found(forest, "topmast")}
    assert by_path["guide.md"]["in"] == "Guide > Storms > Masts"
    assert "in" not in by_path["log.txt"]


def test_of_long_titles_the_nearest_stay(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "docs")
    title = "Of the rigging " * 20
    forest.put("docs/guide.md", f"# {title}\n\n## Storms\n\nLower the topmast early.\n")
    titles = found(forest, "topmast")[0]["in"]
    assert len(titles) == 200
    assert titles.startswith("…")
    assert titles.endswith("rigging > Storms")


def test_pages_continue_where_files_begin_to_repeat(tmp_path: Path) -> None:
    forest = make_forest(tmp_path, "code")
    plant(forest, 12)
    whole = found(forest, "reef the sail", limit=100)
    pages = forest.pages("repo_smart_search", query="reef the sail", limit=7)
    assert [one for page in pages for one in page["result"]][: len(whole)] == whole
