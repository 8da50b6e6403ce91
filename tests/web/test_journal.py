"""Seeing what agents did, and taking it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.web.visitor import Page, Site, Visitor


def undo_link(page: Page, label: str) -> str:
    """Return where the link with that label leads."""
    return next(
        attributes["href"]
        for tag, attributes in page.elements
        if tag == "a" and attributes.get("aria-label", "").startswith(label)
    )


def test_the_first_screen_shows_the_work_and_the_last_writes(site: Site, ann: Visitor) -> None:
    assert "Nothing is open" in ann.get("/").text
    agent = site.agent()
    first = agent("add_task", title="Paint the fence", priority=0)["data"]["task_id"]
    agent("add_task", title="Sell the house", blocked_by=[first])
    agent("claim_task", task_id=first)
    text = ann.get("/").text
    for shown in ("In work", "Paint the fence", "claude", "Blocked", "Sell the house", "waits for"):
        assert shown in text
    assert "claim_task" in text


def test_the_first_screen_counts_no_other_number_of_tasks_than_the_board(
    site: Site, ann: Visitor
) -> None:
    agent = site.agent()
    first = agent("add_task", title="first", priority=0)["data"]["task_id"]
    agent("add_task", tasks=[{"title": f"ready {number}"} for number in range(7)])
    agent("add_task", tasks=[{"title": f"waits {n}", "blocked_by": [first]} for n in range(40)])
    agent("claim_task", task_id=first)
    text = " ".join(ann.get("/").text.split())
    for shown in ("In work 1 first", "Ready next ready 0", "Blocked 40 waits 0"):
        assert shown in text
    assert "Ready 7 ready 0" in " ".join(ann.get("/tasks").text.split())


def test_search_works_by_a_form_alone(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    agent("note_save", text="About kingfishers\n\nThey dive.")
    agent("add_task", title="Photograph a kingfisher")
    page = ann.submit(ann.get("/").form("/search"), q="kingfisher")
    assert "About kingfishers" in page.text
    assert "Photograph a kingfisher" in page.text
    assert "claude" in page.text
    assert "Nothing has these words" in ann.get("/search?q=zzqx").text
    notes = agent("note_list")["items"]
    newer = agent("note_save", text="More about kingfishers")
    agent("desk_link", **{"from": newer["uri"], "relation": "supersedes", "to": notes[0]["uri"]})
    text = " ".join(ann.get("/search?q=kingfishers").text.split())
    assert f"superseded by {newer['uri']}" in text


def test_an_undo_shows_what_it_would_do_and_then_does_it(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    note = agent("note_save", text="one\ntwo\n")
    agent("note_save", id=note["id"], local_version=1, text="one\n2\n")
    page = ann.get(undo_link(ann.get("/"), "Undo change 2"))
    assert note["uri"] in page.text
    assert agent("note_get", id=note["id"])["text"] == "one\n2\n"
    done = ann.submit(page.form("/undo"))
    assert done.status == 200
    assert agent("note_get", id=note["id"])["text"] == "one\ntwo\n"
    assert "undone" in done.text
    assert "page" in done.text  # who did it


def test_a_whole_turn_of_one_client_is_taken_back_at_once(site: Site, ann: Visitor) -> None:
    claude, codex = site.agent(), site.agent(actor="codex")
    claude("add_task", title="kept")
    for number in range(3):
        claude("add_task", title=f"unwanted {number}")
        codex("add_task", title=f"codex {number}")
    page = ann.get(undo_link(ann.get("/journal"), "Undo all by claude since change 2"))
    assert "all by claude" in page.text
    ann.submit(page.form("/undo"))
    left = {task["title"] for task in claude("list_tasks")["data"]}
    assert left == {"kept", "codex 0", "codex 1", "codex 2"}


def test_an_undo_takes_back_no_more_than_was_shown(site: Site, ann: Visitor) -> None:
    claude = site.agent()
    for number in range(2):
        claude("add_task", title=f"seen {number}")
    form = ann.get("/undo?since=1&actor=claude").form("/undo")
    claude("add_task", title="unseen")
    page = ann.submit(form)
    assert (page.status, "Nothing was undone" in page.text) == (409, True)
    assert len(claude("list_tasks")["data"]) == 3
    assert ann.submit(page.form("/undo")).status == 200
    assert [task["title"] for task in claude("list_tasks")["data"]] == ["seen 0"]


def test_a_turn_taken_back_since_a_change_takes_the_whole_operation_of_it(
    site: Site, ann: Visitor
) -> None:
    claude = site.agent()
    claude("add_task", title="kept")
    claude("add_task", tasks=[{"title": f"unwanted {number}"} for number in range(3)])
    claude("add_task", title="unwanted too")
    page = ann.get(undo_link(ann.get("/journal"), "Undo all by claude since change 3"))
    ann.submit(page.form("/undo"))
    assert [task["title"] for task in claude("list_tasks")["data"]] == ["kept"]


def test_an_undo_says_of_each_operation_why_it_is_passed_over(site: Site, ann: Visitor) -> None:
    claude = site.agent()
    note = claude("note_save", text="one")["id"]
    for version, text in ((1, "two"), (2, "one")):
        claude("note_save", id=note, local_version=version, text=text)
    second = claude("desk_history")["changes"][1]["operation"]
    page = ann.get(f"/undo?operation={second}")
    assert f"{second}: all that it changed is as it was before it already" in page.text


def test_links_and_namespaces_are_taken_back_too(site: Site, ann: Visitor) -> None:
    claude = site.agent()
    note, task = claude("note_save", text="a"), claude("add_task", title="b")["data"]
    ends = {"from": note["uri"], "to": task["uri"]}
    claude("desk_link", **ends, relation="implements")
    claude("desk_link", **{**ends, "from": "https://example.org/a"}, relation="relates")
    claude("scratch_namespace", action="create", namespace="empty")
    for number, uri in ((5, ""), (4, "https://example.org/a"), (3, note["uri"])):
        page = ann.get(undo_link(ann.get("/journal"), f"Undo change {number}"))
        assert uri in page.text
        assert ann.submit(page.form("/undo")).status == 200
    assert "links" not in claude("desk_read", uri=task["uri"])
    assert claude("scratch_namespace", action="list")["namespaces"] == []


def test_an_undo_that_later_work_depends_on_says_why_not(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    task = agent("add_task", title="first")["data"]["task_id"]
    agent("add_task", title="second", blocked_by=[task])
    page = ann.get(undo_link(ann.get("/"), "Undo change 1"))
    assert page.status == 409
    assert "cannot be put back" in page.text


def test_a_change_shows_the_lines_that_came_and_went(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    lines = [f"line {number}" for number in range(40)]
    note = agent("note_save", text="\n".join(lines))
    lines[20] = "line twenty"
    agent("note_save", id=note["id"], local_version=1, text="\n".join(lines))
    page = ann.get("/journal/2")
    assert "-line 20" in page.text
    assert "+line twenty" in page.text
    assert " line 18" in page.text
    assert "line 5" not in page.text
    assert ann.get("/journal/99").status == 404


def test_the_journal_is_narrowed_by_who_tool_project_and_time(site: Site, ann: Visitor) -> None:
    claude, codex = site.agent(), site.agent(actor="codex")
    claude("add_task", title="a", project="red")
    codex("note_save", text="b")
    claude("note_save", text="c")

    def shown(actor: str = "", tool: str = "", since: str = "", project: str = "") -> list[str]:
        filters = {"actor": actor, "tool": tool, "since": since, "project": project}
        page = ann.submit(ann.get("/journal").form("/journal"), None, **filters)
        assert page.status == 200
        return [link for link in page.links() if link.startswith("/journal/")]

    assert shown() == ["/journal/3", "/journal/2", "/journal/1"]
    assert shown(actor="codex") == ["/journal/2"]
    assert shown(tool="note_save") == ["/journal/3", "/journal/2"]
    assert shown(since="2") == ["/journal/3"]
    assert "/journal/1" in shown(project="red")
    assert "/journal/1" in shown(since="yesterday")
    assert ann.get("/journal?since=someday").status == 400


def test_fields_of_times_say_that_they_are_in_utc(site: Site, ann: Visitor) -> None:
    task = site.agent()("add_task", title="a")["data"]["task_id"]
    fields = {"/journal": "Since", "/tasks/table": "Due before", f"/tasks/{task}": "Due"}
    for path, name in fields.items():
        assert f"{name} (UTC)" in ann.get(path).text, path


def test_older_changes_are_on_further_pages(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    for start in (0, 30):
        agent("add_task", tasks=[{"title": f"task {start + number}"} for number in range(30)])
    first = ann.get("/journal")
    older = ann.get(next(link for link in first.links() if "cursor=" in link))
    numbers = [
        int(link.rpartition("/")[2])
        for page in (first, older)
        for link in page.links()
        if link.startswith("/journal/")
    ]
    assert numbers == list(range(60, 0, -1))


def test_older_changes_of_a_thing_and_of_a_turn_are_on_further_pages(
    site: Site, ann: Visitor
) -> None:
    agent = site.agent()
    note = agent("note_save", text="version 1")["id"]
    task = agent("add_task", title="version 1")["data"]["task_id"]
    for version in range(1, 51):
        text = f"version {version + 1}"
        agent("note_save", id=note, text=text, local_version=version)
        agent("update_task", task_id=task, title=text, if_version=version)
    for path, first in (
        (f"/notes/{note}", "/journal/1"),
        (f"/tasks/{task}", "/journal/2"),
        ("/undo?since=0&actor=claude", "/journal/1"),
    ):
        page, pages = ann.get(path), 1
        while onward := [link for link in page.links() if "cursor=" in link]:
            page, pages = ann.get(onward[0]), pages + 1
        assert first in page.links(), path
        assert pages == (3 if "undo" in path else 2)
