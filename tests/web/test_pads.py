"""Pads on the page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.web.visitor import Page, Site, Visitor

if TYPE_CHECKING:
    from pathlib import Path


def new_pad(agent: Any, *cells: dict[str, Any]) -> tuple[str, list[str]]:
    """Return a new pad's id and those of its cells."""
    pad = agent("scratch_create", metadata={"title": "Plan"}, cells=list(cells))["scratchpad"]
    return pad["scratch_id"], [cell["cell_id"] for cell in pad["cells"]]


def ids_of(page: Page) -> list[str]:
    """Return where in a page links may lead."""
    return [given["id"] for _, given in page.elements if "id" in given]


def test_a_pad_shows_its_cells_and_what_is_wrong_at_the_line(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    bad = {"language": "json", "content": '{\n  "a": 1,\n  b\n}', "validate": True}
    pad_id, _ = new_pad(agent, {"language": "md", "content": "# Kingfisher"}, bad)
    listed = ann.get("/pads")
    assert f"/pads/{pad_id}" in listed.links()
    page = ann.get(f"/pads/{pad_id}")
    for shown in ("Plan", "# Kingfisher", "not valid", "line 3:", "JSON_SYNTAX"):
        assert shown in page.text
    assert any(
        link.startswith(f"/pads/{pad_id}?cell=") for link in ann.get("/pads?q=kingfisher").links()
    )


def test_a_cell_is_edited_with_its_version_and_keeps_its_checks(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    cell = {
        "language": "json",
        "content": "{}",
        "validate": True,
        "tags": ["x"],
        "json_schema": {"type": "object"},
    }
    pad_id, (cell_id,) = new_pad(agent, cell)
    path = f"/pads/{pad_id}/cells/{cell_id}"
    first, second = ann.get(path).form(path), ann.get(path).form(path)
    assert ann.submit(first, content='{"a": 1}').status == 200
    page = ann.submit(second, content='{"b": 2}')
    assert page.status == 409
    assert '{"a": 1}' in page.text
    assert page.form(path).fields["content"] == '{"b": 2}'
    ann.submit(page.form(path), content="[]")
    saved = agent("scratch_read", scratch_id=pad_id)["scratchpad"]["cells"][0]
    assert (saved["content"], saved["tags"], saved["validation"]["errors"]) == ("[]", ["x"], 1)


def test_a_pad_says_who_changed_it_and_its_cells(site: Site, ann: Visitor) -> None:
    pad_id, (cell_id, _) = new_pad(site.agent(), *[{"language": "md", "content": "one"}] * 2)
    agent = site.agent(actor="codex")
    cell = {"language": "md", "content": "two"}
    agent("scratch_replace_cell", scratch_id=pad_id, cell_id=cell_id, cell=cell)
    page = ann.get(f"/pads/{pad_id}")
    assert "codex" in page.text
    assert "content one → two" in page.text
    assert "the pad and the cells above" in page.text
    assert "/journal" in page.links()
    history = ann.get(f"/journal?uri=rolltop%3A%2F%2Fcell%2F{cell_id}")
    assert f"/journal?uri=rolltop%3A%2F%2Fcell%2F{cell_id}" in page.links()
    assert [link for link in history.links() if link.startswith("/journal/")] == [
        "/journal/4",
        "/journal/2",
    ]


def test_a_refused_cell_keeps_the_version_that_was_read(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    pad_id, (cell_id,) = new_pad(agent, {"language": "md", "content": "one"})
    path = f"/pads/{pad_id}/cells/{cell_id}"
    form = ann.get(path).form(path)
    cell = {"language": "md", "content": "by the agent"}
    agent("scratch_replace_cell", scratch_id=pad_id, cell_id=cell_id, cell=cell)
    refused = ann.submit(form, language="x" * 500, content="by hand")
    assert refused.status == 400
    page = ann.submit(refused.form(path), language="md")
    assert (page.status, "by the agent" in page.text) == (409, True)
    read = agent("scratch_read", scratch_id=pad_id)["scratchpad"]
    assert read["cells"][0]["content"] == "by the agent"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"content": "uno\r\n2\r\n"}, {"language": "py"}),
        ({"language": "py"}, {"content": "one\n2\n"}),
    ],
)
def test_a_cells_conflict_keeps_what_an_agent_changed_of_the_field_that_the_person_left(
    site: Site, ann: Visitor, theirs: dict[str, str], ours: dict[str, str]
) -> None:
    agent = site.agent()
    old = {"language": "md", "content": "one\r\ntwo\r\n"}
    pad_id, (cell_id,) = new_pad(agent, old)
    path = f"/pads/{pad_id}/cells/{cell_id}"
    form = ann.get(path).form(path)
    agent("scratch_replace_cell", scratch_id=pad_id, cell_id=cell_id, cell={**old, **theirs})
    refused = ann.submit(form, None, **{**ours, "language": "x" * 500})
    page = ann.submit(refused.form(path), None, **{"language": "md", **ours})
    assert page.status == 409
    assert f"Language: {(old | theirs)['language']}" in " ".join(page.text.split())
    assert ann.submit(page.form(path)).status == 200
    (cell,) = agent("scratch_read", scratch_id=pad_id)["scratchpad"]["cells"]
    kept = old | theirs | {name: text.replace("\n", "\r\n") for name, text in ours.items()}
    assert {name: cell[name] for name in kept} == kept


def test_a_cell_whose_pad_is_gone_is_saved_once_the_pad_is_back(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    pad_id, (cell_id,) = new_pad(agent, {"language": "md", "content": "one"})
    path = f"/pads/{pad_id}/cells/{cell_id}"
    forms = [ann.get(at).form(at) for at in (path, f"/pads/{pad_id}/new")]
    agent("scratch_delete", scratch_id=pad_id)
    pages = [ann.submit(form, content="many\nwords") for form in forms]
    for page in pages:
        assert (page.status, "makes it a new cell" in page.text) == (404, False)
        assert "Its pad is gone" in page.text
    agent("scratch_restore", scratch_id=pad_id)
    for page, form in zip(pages, forms, strict=True):
        assert ann.submit(page.form(form.action)).status == 200
    cells = agent("scratch_read", scratch_id=pad_id)["scratchpad"]["cells"]
    assert [cell["content"] for cell in cells] == ["many\nwords"] * 2


def test_what_was_typed_of_a_cell_that_was_deleted_meanwhile_becomes_a_new_one(
    site: Site, ann: Visitor
) -> None:
    agent = site.agent()
    pad_id, (cell_id,) = new_pad(agent, {"language": "md", "content": "one"})
    path = f"/pads/{pad_id}/cells/{cell_id}"
    form = ann.get(path).form(path)
    agent("scratch_delete_cell", scratch_id=pad_id, cell_id=cell_id)
    page = ann.submit(form, content="many\nwords")
    assert page.status == 404
    again = page.form(f"/pads/{pad_id}/new")
    assert again.fields["content"] == "many\nwords"
    assert ann.submit(again).status == 200
    (cell,) = agent("scratch_read", scratch_id=pad_id)["scratchpad"]["cells"]
    assert (cell["language"], cell["content"]) == ("md", "many\nwords")
    agent("scratch_delete", scratch_id=pad_id)
    page = ann.submit(again)
    assert (page.status, page.form(again.action).fields["content"]) == (404, "many\nwords")


def test_cells_and_pads_are_added_and_deleted(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    pad_id, (cell_id,) = new_pad(agent, {"language": "md", "content": "old"})
    path = f"/pads/{pad_id}"
    ann.submit(ann.get(f"{path}/new").form(f"{path}/new"), language="py", content="x = 1\n")
    ann.submit(ann.get(path).form(f"{path}/manage"), action="delete_cell", cell_id=cell_id)
    form = next(form for form in ann.get(path).forms if "title" in form.fields)
    ann.submit(form, action="title", title="Renamed")
    pad = agent("scratch_read", scratch_id=pad_id)["scratchpad"]
    assert (pad["title"], [cell["content"] for cell in pad["cells"]]) == ("Renamed", ["x = 1\n"])
    ann.submit(ann.get(path).form(f"{path}/manage"), action="delete")
    assert agent("scratch_list")["scratchpads"] == []


def test_a_cell_that_an_agent_changed_meanwhile_is_not_deleted(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    pad_id, (cell_id,) = new_pad(agent, {"language": "md", "content": "one"})
    form = ann.get(f"/pads/{pad_id}").form(f"/pads/{pad_id}/manage")
    cell = {"language": "md", "content": "two"}
    agent("scratch_replace_cell", scratch_id=pad_id, cell_id=cell_id, cell=cell)
    assert ann.submit(form, action="delete_cell").status == 409
    assert agent("scratch_read", scratch_id=pad_id)["scratchpad"]["cells"][0]["content"] == "two"


def test_a_cells_address_leads_to_its_pad(site: Site, ann: Visitor) -> None:
    pad_id, (cell_id,) = new_pad(site.agent(), {"language": "md", "content": "text"})
    page = ann.get(f"/cells/{cell_id}")
    assert page.status == 303
    path, _, anchor = page.headers["location"].partition("#")
    assert path.startswith(f"/pads/{pad_id[:8]}?")
    assert anchor in ids_of(ann.get(path))


def test_a_pad_with_a_bad_cell_is_shown_where_nothing_validates(tmp_path: Path) -> None:
    site = Site(tmp_path, exclude_tools=("scratch_validate",))
    pad_id, _ = new_pad(site.agent(), {"language": "json", "content": "{", "validate": True})
    ann = Visitor(site)
    ann.log_in()
    page = ann.get(f"/pads/{pad_id}")
    assert (page.status, "not valid" in page.text) == (200, True)
    site.close()


def test_cells_are_found_where_the_desk_is_left_out(tmp_path: Path) -> None:
    site = Site(tmp_path, toolsets=("scratch",))
    new_pad(site.agent(), {"language": "md", "content": "# Kingfisher"})
    ann = Visitor(site)
    ann.log_in()
    (link,) = [one for one in ann.get("/pads?q=kingfisher").links() if "cell-" in one]
    path, _, anchor = link.partition("#")
    page = ann.get(path)
    assert page.status == 200
    assert anchor in ids_of(page)
    site.close()


def test_a_long_pad_goes_on_on_further_pages(site: Site, ann: Visitor) -> None:
    cells = [
        {"language": "text", "content": f"number {n} " + "many words " * 2000} for n in range(20)
    ]
    pad_id, _ = new_pad(site.agent(), *cells)
    path, seen = f"/pads/{pad_id}", list[str]()
    while path:
        page = ann.get(path)
        seen += [n for n in map(str, range(20)) if f"number {n} " in page.text]
        path = next((link for link in page.links() if "cursor=" in link), "")
    assert seen == [str(n) for n in range(20)]


@pytest.mark.parametrize("text", ["a\n" * 900, "many words " * 12_000])
def test_links_to_a_cell_of_a_long_pad_lead_to_the_page_that_has_it(
    site: Site, ann: Visitor, text: str
) -> None:
    cells = [{"language": "text", "content": f"kiwi{n}\n{text}"} for n in range(8)]
    pad_id, cell_ids = new_pad(site.agent(), *cells)
    first = ann.get(f"/pads/{pad_id}")
    assert f"cell-{cell_ids[7][:8]}" not in ids_of(first)
    found = ann.get("/pads?q=kiwi7").links()
    (hit,) = [link for link in found if link.endswith(f"#cell-{cell_ids[7][:8]}")]
    for link in (hit, ann.get(f"/cells/{cell_ids[7][:8]}").headers["location"]):
        path, _, anchor = link.partition("#")
        page = ann.get(path)
        assert (anchor, anchor in ids_of(page)) == (f"cell-{cell_ids[7][:8]}", True)
        assert "Plan" in page.text
        assert f"/pads/{pad_id}" in page.links()
    short = ann.get(f"/pads/{pad_id}?cell={cell_ids[0]}")
    assert ids_of(short) == ids_of(first)
    site.agent()("scratch_delete_cell", scratch_id=pad_id, cell_id=cell_ids[7])
    gone = ann.get(f"/pads/{pad_id}?cell={cell_ids[7]}")
    assert (gone.status, f"cell-{cell_ids[0][:8]}" in ids_of(gone)) == (200, True)


def test_a_page_of_a_pad_has_so_many_lines_and_no_more(site: Site, ann: Visitor) -> None:
    counts = [900, 1000, 300, 5000, 100]
    bad = {"language": "json", "content": "[" + "\n" * 4999, "validate": True}
    cells = [{"language": "text", "content": f"n{n}" + "\n" * (n - 1)} for n in counts]
    pad_id, _ = new_pad(site.agent(), *cells[:3], bad, cells[4])
    path, shown = f"/pads/{pad_id}", list[tuple[int, int]]()
    while path:
        page = ann.get(path)
        assert "Plan" in page.text
        kinds = [given.get("class", "").split(" ")[0] for _, given in page.elements]
        shown.append((kinds.count("cell"), kinds.count("line")))
        path = next((link for link in page.links() if "cursor=" in link), "")
        if kinds.count("line") == 0:
            assert "JSON_SYNTAX" in page.text
    assert shown == [(2, 1900), (1, 300), (1, 0), (1, 100)]


LONG = "".join(f"line {n} of many words\n" for n in range(15_000))


def test_a_cell_over_a_page_goes_on_on_further_pages_to_the_cells_behind_it(
    site: Site, ann: Visitor
) -> None:
    texts = ("the first", LONG, "the last")
    pad_id, _ = new_pad(site.agent(), *[{"language": "text", "content": one} for one in texts])
    path, pages = f"/pads/{pad_id}", list[Page]()
    while path:
        pages.append(ann.get(path))
        path = next((link for link in pages[-1].links() if "cursor=" in link), "")
    assert ("the first" in pages[0].text, "the last" in pages[-1].text) == (True, True)
    seen = [int(n) for page in pages for n in re.findall(r"line (\d+) of many", page.text)]
    assert seen == list(range(15_000))
    assert f"/pads/{pad_id}" in pages[-1].links()


def test_a_cell_alone_that_is_over_a_page_says_where_the_rest_is(site: Site, ann: Visitor) -> None:
    pad_id, (cell_id,) = new_pad(site.agent(), {"language": "text", "content": LONG})
    for path in (f"/pads/{pad_id}", f"/pads/{pad_id}?cell={cell_id}"):
        page = ann.get(path)
        assert ("line 0 of" in page.text, "line 14999 of" in page.text) == (True, False)
        assert '"Edit" shows all of it' in page.text
        assert not [link for link in page.links() if "cursor=" in link]
    edit = f"/pads/{pad_id}/cells/{cell_id}"
    assert ann.get(edit).form(edit).fields["content"] == LONG


def test_a_title_that_an_agent_changed_meanwhile_is_not_overwritten(
    site: Site, ann: Visitor
) -> None:
    agent = site.agent()
    pad_id, (cell_id,) = new_pad(agent, {"language": "md", "content": "one"})
    path = f"/pads/{pad_id}/manage"
    form = next(form for form in ann.get(f"/pads/{pad_id}").forms if "title" in form.fields)
    cell = {"language": "md", "content": "two"}
    agent("scratch_replace_cell", scratch_id=pad_id, cell_id=cell_id, cell=cell)
    assert "Fixed" in ann.submit(form, action="title", title="Fixed").text
    agent("scratch_update", scratch_id=pad_id, metadata={"title": "By\nthe agent"})
    assert ann.submit(form, action="title").status == 200
    page = ann.submit(form, action="title", title="By hand")
    assert (page.status, "By the agent" in page.text, form.action) == (409, True, path)
    assert "By hand" in page.text
    form = next(form for form in ann.get(f"/pads/{pad_id}").forms if "title" in form.fields)
    assert ann.submit(form, action="title").status == 200
    read = agent("scratch_read", scratch_id=pad_id)["scratchpad"]
    assert read["title"] == "By\nthe agent"


def test_pads_that_a_search_finds_go_on_on_further_pages(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    for number in range(60):
        agent("scratch_create", metadata={"title": f"heron {number}"})
    path, seen = "/pads?q=heron", set[str]()
    while path:
        page = ann.get(path)
        seen |= {link for link in page.links() if link.startswith("/pads/")}
        path = next((link for link in page.links() if "cursor=" in link), "")
    assert len(seen) == 60
    (meant,) = [link for link in ann.get("/pads?q=hreon").links() if "q=heron" in link]
    assert "heron" in ann.get(meant).text


def test_anothers_pad_is_not_there(site: Site, ann: Visitor, other: str) -> None:
    pad_id, (cell_id,) = new_pad(site.agent(other), {"language": "md", "content": "of Bob"})
    for path in (f"/pads/{pad_id}", f"/pads/{pad_id}/cells/{cell_id}", f"/cells/{cell_id}"):
        assert ann.get(path).status == 404, path
    form = ann.get("/").form("/logout")
    for action, target in (
        ("delete", "manage"),
        ("delete_cell", "manage"),
        ("", f"cells/{cell_id}"),
    ):
        form.action = f"/pads/{pad_id}/{target}"
        page = ann.submit(form, action=action, cell_id=cell_id, language="md", content="x")
        assert page.status in {200, 400, 404}
    assert "of Bob" in str(site.agent(other)("scratch_read", scratch_id=pad_id))
