"""Notes on the page."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from markupsafe import escape

from rolltop.core.accounts import ensure_default_user
from rolltop.core.db import SYSTEM
from rolltop.core.principal import Principal
from rolltop.toolsets.notes.models import Content, NewNote
from rolltop.toolsets.notes.store import notebooks
from rolltop.toolsets.notes.sync.remote_changes import create_conflict_copy
from rolltop.web.markdown import render_markdown

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.db import Tx
    from rolltop.toolsets.notes.store.notebooks import Notebook
    from tests.web.visitor import Site, Visitor


def test_a_note_is_written_found_edited_and_its_versions_compared(site: Site, ann: Visitor) -> None:
    form = ann.get("/notes/new").form("/notes/new")
    page = ann.submit(form, text="# Herons\n\nThey *wait*.\n", tags="birds\nwater", action="save")
    assert "Herons" in page.text
    assert ("em", {}) in page.elements
    (note,) = site.agent()("note_list")["items"]
    assert note["tags"] == ["birds", "water"]
    path = f"/notes/{note['id']}"
    assert path in ann.get("/notes?q=herons").links()
    assert path in ann.get("/notes?tag=birds").links()
    assert path not in ann.get("/notes?q=ostrich").links()
    form = ann.get(f"{path}/edit").form(f"{path}/edit")
    assert form.fields["text"] == "# Herons\n\nThey *wait*.\n"
    ann.submit(form, text="# Herons\n\nThey *fish*.\n", action="save")
    versions = ann.get(f"{path}/versions")
    changes = ann.get(next(link for link in versions.links() if "old=1" in link)).text
    assert ("-They *wait*." in changes, "+They *fish*." in changes) == (True, True)
    assert "wait" in ann.get(f"{path}?version=1").text
    ann.submit(versions.form(f"{path}/manage"), action="restore")
    assert site.agent()("note_get", id=note["id"])["text"] == "# Herons\n\nThey *wait*.\n"


def test_another_spelling_is_looked_for_under_the_same_tag(site: Site, ann: Visitor) -> None:
    for tag in ("river", "sea"):
        site.agent()("note_save", text=f"kingfisher of the {tag}", tags=[tag])
    page = ann.get("/notes?q=kingfihser&tag=river")
    (meant,) = [link for link in page.links() if "q=kingfisher" in link]
    text = ann.get(meant).text
    assert ("of the river" in text, "of the sea" in text) == (True, False)


def test_all_that_a_note_is_linked_with_is_shown(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    note = agent("note_save", text="a hub")
    titles = {f"linked task {number}" for number in range(30)}
    for title in titles:
        task = agent("add_task", title=title)["data"]
        given = {"from": note["uri"], "to": task["uri"], "relation": "relates"}
        agent("desk_link", **given)
    links = ann.get(f"/notes/{note['id']}").text.partition("Linked")[2].partition("History")[0]
    assert set(re.findall(r"linked task \d+", links)) == titles


def test_a_preview_writes_nothing(site: Site, ann: Visitor) -> None:
    form = ann.get("/notes/new").form("/notes/new")
    page = ann.submit(form, text="some **bold** words", action="preview")
    assert ("strong", {}) in page.elements
    assert page.form("/notes/new").fields["text"] == "some **bold** words"
    assert site.agent()("note_list")["total_items"] == 0


@pytest.mark.parametrize(
    "text", ["\nfirst line empty\n", "one\r\ntwo\r\n", "a\rb\nc", "\n\n", "tab\tand nbsp\xa0"]
)
def test_a_text_comes_back_as_it_was(site: Site, ann: Visitor, text: str) -> None:
    agent = site.agent()
    note_id = agent("note_save", text=text)["id"]
    path = f"/notes/{note_id}/edit"
    ann.submit(ann.get(path).form(path), tags="touched", action="save")
    saved = agent("note_get", id=note_id)
    assert (saved["text"], saved["tags"]) == (text, ["touched"])


@pytest.mark.parametrize("modified", [-9e10, 9e10])
def test_a_note_of_any_year_is_shown(site: Site, ann: Visitor, modified: float) -> None:
    dated = Content("# An old storm", modified=modified, created=modified)
    change_notes(site, lambda notebook: notebook.create([NewNote(dated, "old")], source="pull"))
    assert "/notes/old" in ann.get("/notes").links()
    assert "An old storm" in ann.get("/notes/old").text


def change_notes(site: Site, change: Callable[[Notebook], object]) -> None:
    """Change the local user's notes as a sync does."""
    user = site.app.database.write_sync(SYSTEM, ensure_default_user)

    def run(tx: Tx) -> None:
        change(notebooks.open_notebook(tx, site.app.settings)[0])

    site.app.database.write_sync(Principal.for_user(user.id), run)


def new_copy(site: Site, note_id: str) -> str:
    """Return the id of the copy that a sync makes of a note whose text and tags it cannot merge."""

    def clash(notebook: Notebook) -> None:
        note = notebook.get(note_id)
        assert note is not None
        ours = replace(note.content, text="one\ntwo by us\n", tags=("ours",))
        create_conflict_copy(notebook, note, ours)

    change_notes(site, clash)
    (copy,) = site.agent()("note_list", tags=["conflict"])["items"]
    return copy["id"]


@pytest.mark.parametrize("taken", ["take", "trash"])
def test_a_conflict_of_a_sync_shows_both_sides_and_takes_either(
    site: Site, ann: Visitor, taken: str
) -> None:
    agent = site.agent()
    note_id = agent("note_save", text="one\ntwo by others\n", tags=["theirs"])["id"]
    copy_id = new_copy(site, note_id)
    page = ann.get(f"/notes/{copy_id}")
    for shown in ("-two by others", "+two by us", "Take this"):
        assert shown in page.text
    assert "Take this" not in ann.get(f"/notes/{note_id}").text
    ann.submit(page.form(f"/notes/{copy_id}/manage"), action=taken)
    text, tag = ("two by us", "ours") if taken == "take" else ("two by others", "theirs")
    note = agent("note_get", id=note_id)
    assert (note["text"], note["tags"]) == (f"one\n{text}\n", [tag])
    assert agent("note_list", tags=["conflict"])["items"] == []


def test_a_copy_that_changed_since_it_was_shown_is_not_taken(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    note = agent("note_save", text="one\ntwo by others\n")
    copy_id = new_copy(site, note["id"])
    form = ann.get(f"/notes/{copy_id}").form(f"/notes/{copy_id}/manage")
    version = agent("note_get", id=copy_id)["local_version"]
    agent("note_save", id=copy_id, local_version=version, text="one\ntwo by an agent\n")
    assert ann.submit(form, action="take").status == 409
    assert agent("note_get", id=note["id"])["local_version"] == note["local_version"]
    assert len(agent("note_list", tags=["conflict"])["items"]) == 1


def test_a_conflict_shows_both_sides_and_takes_either(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    note_id = agent("note_save", text="one\ntwo\n")["id"]
    path = f"/notes/{note_id}/edit"
    form = ann.get(path).form(path)
    agent("note_save", id=note_id, local_version=1, text="one\ntwo by the agent\n")
    page = ann.submit(form, text="one\ntwo by hand\n", action="save")
    assert page.status == 409
    for shown in ("two by the agent", "two by hand", "-two by the agent", "+two by hand"):
        assert shown in page.text
    assert agent("note_get", id=note_id)["text"] == "one\ntwo by the agent\n"
    assert f"/notes/{note_id}" in page.links()  # "take this": what is there stays
    assert ann.submit(page.form(path), action="save").status == 200
    assert agent("note_get", id=note_id)["text"] == "one\ntwo by hand\n"


def test_a_conflict_keeps_what_an_agent_changed_of_the_fields_that_the_person_left(
    site: Site, ann: Visitor
) -> None:
    agent = site.agent()
    note_id = agent("note_save", text="one\r\ntwo\r\n", tags=["birds"])["id"]
    path = f"/notes/{note_id}/edit"
    opened = ann.get(path).form(path)
    agent("note_save", id=note_id, local_version=1, text="one\r\n2\r\n", tags=["birds", "water"])
    page = ann.submit(opened, text="one\nthree\n", action="save")
    assert page.status == 409
    assert page.form(path).fields["tags"] == "birds\nwater"
    retagged = ann.submit(opened, tags="herons", action="save")
    assert retagged.form(path).fields["text"].splitlines() == ["one", "2"]
    assert "Tags: birds water" in " ".join(retagged.text.split())
    assert ann.submit(page.form(path), action="save").status == 200
    note = agent("note_get", id=note_id)
    assert (note["text"], note["tags"]) == ("one\r\nthree\r\n", ["birds", "water"])


def test_what_was_typed_of_a_note_that_was_deleted_for_good_becomes_a_new_one(
    site: Site, ann: Visitor
) -> None:
    agent = site.agent()
    note_id = agent("note_save", text="one")["id"]
    path = f"/notes/{note_id}/edit"
    form = ann.get(path).form(path)
    agent("note_manage", action="trash", id=note_id, local_version=1)
    agent("note_manage", action="delete_permanently", id=note_id, local_version=2)
    page = ann.submit(form, text="many\nwords", tags="a", action="save")
    assert page.status == 404
    again = page.form("/notes/new")
    assert (again.fields["text"], again.fields["tags"]) == ("many\nwords", "a")
    assert ann.submit(again, action="save").status == 200
    (note,) = agent("note_list")["items"]
    assert agent("note_get", id=note["id"])["text"] == "many\nwords"


def test_a_note_that_would_shrink_is_asked_about(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    note_id = agent("note_save", text="word " * 200)["id"]
    path = f"/notes/{note_id}/edit"
    page = ann.submit(ann.get(path).form(path), text="short", action="save")
    assert (page.status, "shrink" in page.text) == (400, True)
    form = page.form(path)
    assert form.fields["text"] == "short"
    assert ann.submit(form, action="save", confirm_shrink="1").status == 200
    assert agent("note_get", id=note_id)["text"] == "short"


def test_an_earlier_version_of_a_note_says_so_and_is_not_changed(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    note_id = agent("note_save", text="old words")["id"]
    agent("note_save", id=note_id, local_version=1, text="new words")
    page = ann.get(f"/notes/{note_id}?version=1")
    assert "This is version 1 of the note" in page.text
    assert ("old words" in page.text, f"/notes/{note_id}" in page.links()) == (True, True)
    assert f"/notes/{note_id}/edit" not in page.links()
    assert [form.action for form in page.forms if form.action.startswith("/notes")] == []
    now = ann.get(f"/notes/{note_id}")
    assert ("This is version" in now.text, f"/notes/{note_id}/edit" in now.links()) == (False, True)


def test_a_note_is_deleted_and_brought_back(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    note_id = agent("note_save", text="soon gone")["id"]
    path = f"/notes/{note_id}"
    assert "soon gone" not in ann.submit(ann.get(path).form(f"{path}/manage"), action="trash").text
    page = ann.get(path)
    assert "in the trash" in page.text
    ann.submit(page.form(f"{path}/manage"), action="untrash")
    assert agent("note_list")["total_items"] == 1


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><animate onbegin=alert(1) attributeName=x></svg>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt&#58;alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    '<a href="java\tscript:alert(1)">x</a>',
    '<a href="&#x6A;avascript:alert(1)">x</a>',
    "![x](https://elsewhere.example/pixel.png)",
    "<iframe src=https://elsewhere.example></iframe>",
    "<style>body{background:url(https://elsewhere.example)}</style>",
    '<p style="background:url(https://elsewhere.example)" class=x id=main>x</p>',
    "<form action=/logout method=post><button>x</button></form>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
    "```\n</code></pre><script>alert(1)</script>\n```",
    "`</code><script>alert(1)</script>`",
    "<meta http-equiv=refresh content=0;url=https://elsewhere.example>",
    "<base href=https://elsewhere.example>",
    "<link rel=stylesheet href=https://elsewhere.example>",
    "<details open ontoggle=alert(1)>x</details>",
    "<input autofocus onfocus=alert(1)>",
]


BAD = re.compile(
    r"<(script|img|svg|iframe|style|form|meta|base|link|input|details|math|button|noscript)"
    r"|<[^>]*( on\w+| style| id| class|href=.(?!https?:|mailto:))",
    re.IGNORECASE,
)


def test_markdown_brings_no_script_style_form_nor_anything_from_elsewhere(
    site: Site, ann: Visitor
) -> None:
    agent = site.agent()
    for text in HOSTILE:
        note_id = agent("note_save", text=f"before\n\n{text}\n\nafter")["id"]
        page = ann.get(f"/notes/{note_id}")
        assert page.status == 200
        html = page.body.partition('<article class="markdown" id="note" data-live>')[2]
        html = html.partition("</article>")[0]
        assert "before" in html
        assert BAD.search(html) is None, (text, html)


def test_markdown_keeps_what_people_write() -> None:
    html = render_markdown(
        "# T\n\n- *a*\n- [b](https://example.org)\n\n| x |\n|---|\n| 1 |\n\n~~s~~"
    )
    for kept in ("<h1>T</h1>", "<em>a</em>", 'href="https://example.org"', "<td>1</td>", "<del>"):
        assert kept in html
    assert "<kbd>x</kbd>" in render_markdown("<kbd>x</kbd><br>" * 200)


def test_links_of_a_note_lead_to_what_is_there_or_nowhere(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    task = agent("add_task", title="build a nest")["data"]
    links = f"[task]({task['uri']}) [file](docs/a.md) [up](/x) [part](#y) [host](//example.org)"
    note = agent("note_save", text=f'{links} [odd](ROLLTOP:x"y) [web](https://example.org)')["id"]
    page = ann.get(f"/notes/{note}")
    article = page.body.partition("<article")[2].partition("</article>")[0]
    to_task, to_odd, to_web = re.findall('href="([^"]*)"', article)
    assert "build a nest" in ann.get(to_task).text
    assert to_odd.startswith("/open?uri=ROLLTOP")
    assert to_web == "https://example.org"
    assert ">file</a>" in article


def test_markdown_tells_what_boxes_and_images_show() -> None:
    html = render_markdown("- [ ] milk\n- [x] *tea*\n\n1. [X] loose\n\n2. y")
    assert "<li>\u2610 milk</li>\n<li>\u2611 <em>tea</em></li>" in html
    assert "<p>\u2611 loose</p>" in html
    html = render_markdown(
        '![a "<b>" `heron`](bird.png "wades") ![](a&b.png)\n\n[![built](x.svg)](/ci)'
    )
    assert html.startswith('<p>a "&lt;b&gt;" heron a&amp;b.png</p>')
    assert ">built</a>" in html


def test_a_text_that_is_too_long_or_deep_for_a_parser_is_shown_as_it_is() -> None:
    for text in ("<" * 300_000, "> " * 60_000, "<div>" * 20_000, "<b></i>" * 15_000):
        assert render_markdown(text) == f"<pre>{escape(text)}</pre>"


def test_anothers_note_is_not_there(site: Site, ann: Visitor, other: str) -> None:
    note_id = site.agent(other)("note_save", text="of Bob")["id"]
    for path in ("", "/edit", "/versions", "?version=1"):
        assert ann.get(f"/notes/{note_id}{path}").status == 404
    form = ann.get("/notes/new").form("/notes/new")
    form.action = f"/notes/{note_id}/edit"
    assert ann.submit(form, text="taken", action="save").status == 404
    form.action = f"/notes/{note_id}/manage"
    for action in ("trash", "restore", "delete_permanently"):
        assert ann.submit(form, action=action, version="1", restore="1").status in {400, 404}
    assert site.agent(other)("note_get", id=note_id)["text"] == "of Bob"


def test_what_is_linked_is_shown_from_both_ends(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    note = agent("note_save", text="How it was measured")
    task = agent("add_task", title="Measure it")["data"]
    agent("desk_link", **{"from": task["uri"], "relation": "evidence", "to": note["uri"]})
    page = ann.get(f"/tasks/{task['task_id']}")
    assert f"/notes/{note['id'][:8]}" in page.links()
    assert "How it was measured" in page.text
    assert f"/tasks/{task['task_id'][:8]}" in ann.get(f"/notes/{note['id']}").links()
