"""Tasks on the page: seen, changed and taken away by the same tools and versions as agents' own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from rolltop.core.accounts import DEFAULT_EMAIL
from rolltop.toolsets.tasks.evidence import mark_task
from rolltop.web.pages import tasks
from tests.web.visitor import Visitor

if TYPE_CHECKING:
    from rolltop.core.context import CallContext
    from rolltop.toolsets.tasks.models import Task
    from tests.web.visitor import Site


def test_the_board_counts_all_tasks_and_shows_the_most_urgent(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    for start in (0, 50):
        agent("add_task", tasks=[{"title": f"ready {start + n}"} for n in range(50)])
    first = agent("add_task", title="begun", priority=0)["data"]["task_id"]
    agent("claim_task", task_id=first)
    agent("add_task", title="waits", blocked_by=[first])
    done = agent("add_task", title="finished")["data"]["task_id"]
    agent("complete_task", task_id=done)
    page = ann.get("/tasks")
    text = " ".join(page.text.split())
    for shown in ("Ready 100", "In work 1", "Blocked 1", "Done 1", "and 50 more", "claude until"):
        assert shown in text, text
    assert len([link for link in page.links() if link.startswith("/tasks/")]) < 70


def test_a_nul_in_an_address_which_no_store_takes_is_left_out(ann: Visitor) -> None:
    page = ann.get("/tasks?project=%00re%00d")
    assert (page.status, page.form("/tasks/add").fields["project"]) == (200, "red")


def test_a_task_is_added_done_reopened_deleted_and_brought_back(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    page = ann.submit(ann.get("/tasks").form("/tasks/add"), title="Buy milk")
    assert "Buy milk" in page.text
    (task,) = agent("list_tasks")["data"]
    path = f"/tasks/{task['task_id']}"
    for action, status in (("complete", "completed"), ("reopen", "pending")):
        page = ann.submit(ann.get(path).form(path), action=action)
        assert agent("get_task", task_id=task["task_id"])["data"]["status"] == status
    ann.submit(ann.get(path).form(path), action="delete")
    assert agent("list_tasks")["data"] == []
    page = ann.get(path)
    assert "deleted" in page.text
    ann.submit(page.form(path), action="restore")
    assert len(agent("list_tasks")["data"]) == 1
    assert agent("desk_history")["changes"][0]["by"] == "page"


def test_every_field_is_changed_and_cleared(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    other = agent("add_task", title="other")["data"]["task_id"]
    task_id = agent("add_task", title="old", priority=3)["data"]["task_id"]
    path = f"/tasks/{task_id}"
    fields = {
        "title": "new",
        "description": "line one\nline two",
        "priority": "1",
        "due_at": "2027-01-31",
        "project": "red",
        "assignee": "me",
        "tags": "a\nb",
        "blocked_by": other,
        "links": "https://example.org/x",
        "comment": "by hand",
    }
    page = ann.submit(ann.get(path).forms[-1], **fields, action="save")
    assert page.status == 200, page.text
    task = agent("get_task", task_id=task_id)["data"]
    assert (task["title"], task["description"]) == ("new", "line one\nline two")
    assert (task["priority"], task["tags"], task["blocked_by"]) == (1, ["a", "b"], [other])
    assert (task["project"], task["links"]) == ("red", ["https://example.org/x"])
    assert task["comments"][0]["text"] == "by hand"
    assert task["assignee"] == DEFAULT_EMAIL
    assert "other" in page.text
    for path_shown in (path, "/tasks", "/tasks/table?project=red&assignee=me"):
        assert DEFAULT_EMAIL in ann.get(path_shown).text, path_shown
    cleared = dict.fromkeys(fields, "") | {"title": "new", "action": "save"}
    ann.submit(ann.get(path).forms[-1], **cleared)
    task = agent("get_task", task_id=task_id)["data"]
    assert not (fields.keys() - {"title", "comment"}) & task.keys()
    form = ann.get(path).forms[-1]
    assert form.fields["assignee"] == ""
    page = ann.submit(form, assignee="nobody", action="save")
    assert (page.status, "is no member" in page.text) == (400, True)


def test_a_card_of_what_an_agent_changed_meanwhile_is_a_conflict(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    task_id = agent("add_task", title="Ship it")["data"]["task_id"]
    form = ann.get("/tasks").form(f"/tasks/{task_id}")
    agent("update_task", task_id=task_id, title="Ship none of it")
    assert ann.submit(form, action="complete").status == 409
    assert agent("get_task", task_id=task_id)["data"]["status"] == "pending"
    ann.submit(ann.get("/tasks").form(f"/tasks/{task_id}"), action="complete")
    assert agent("get_task", task_id=task_id)["data"]["status"] == "completed"
    ann.submit(ann.get("/tasks").form(f"/tasks/{task_id}"), action="reopen")
    assert agent("get_task", task_id=task_id)["data"]["status"] == "pending"


def test_criteria_and_evidence_are_shown_changed_and_checked(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    note = agent("note_save", text="measured: 12 ms")
    task_id = agent("add_task", title="Make it fast")["data"]["task_id"]
    path = f"/tasks/{task_id}"
    switches = {"requires_evidence": "1", "reopen_on_change": "1"}
    criteria = {"acceptance": "below 20 ms\nsaid in the docs", "evidence": note["uri"]}
    page = ann.submit(ann.get(path).forms[-1], **criteria, **switches, action="save")
    for shown in ("below 20 ms", "no evidence yet", "The task reopens when evidence changes."):
        assert shown in page.text
    assert page.forms[-1].fields.items() >= {**criteria, **switches}.items()
    refused = ann.submit(page.form(path), action="complete")
    assert (refused.status, "said in the docs" in refused.text) == (409, True)
    both = f"{note['uri']}\nhttps://example.org/docs"
    page = ann.submit(page.forms[-1], evidence=both, action="save")
    assert "no evidence yet" not in page.text
    ann.submit(page.form(path), action="complete")
    assert agent("get_task", task_id=task_id)["data"]["status"] == "completed"
    ann.submit(ann.get(path).form(path), action="delete")
    page = ann.get(path)
    assert (page.status, note["uri"] in page.text) == (200, True)
    ann.submit(page.form(path), action="restore")
    form = ann.get(path).forms[-1]
    del form.fields["requires_evidence"], form.fields["reopen_on_change"]
    ann.submit(form, acceptance="", evidence="", action="save")
    task = agent("get_task", task_id=task_id)["data"]
    assert not {"acceptance", "evidence", *switches} & task.keys()


def test_lists_say_which_evidence_broke(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    note = agent("note_save", text="measured: 12 ms")
    for title in ("Make it fast", "Keep it fast"):
        task_id = agent("add_task", title=title, evidence=[note["uri"]])["data"]["task_id"]
    agent("complete_task", task_id=task_id)
    assert "evidence" not in ann.get("/tasks").text
    agent("note_save", id=note["id"], local_version=1, text="measured: 40 ms")
    for path in ("/tasks", "/tasks/table"):
        assert ann.get(path).text.count("evidence changed") == 2


def test_the_board_shows_tasks_whose_evidence_is_not_looked_at_in_time(
    site: Site, ann: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = site.agent()
    note = agent("note_save", text="measured: 12 ms")
    for title in ("Make it fast", "Keep it fast"):
        agent("add_task", title=title, evidence=[note["uri"]])
    agent("note_save", id=note["id"], local_version=1, text="measured: 40 ms")
    looked_at: list[str] = []

    async def look_once(call: CallContext, user_id: str | None, task: Task) -> Task:
        if looked_at:
            raise TimeoutError
        looked_at.append(task.id)
        return await mark_task(call, user_id, task)

    monkeypatch.setattr(tasks, "mark_task", look_once)
    text = ann.get("/tasks").text
    assert "Make it fast" in text
    assert "Keep it fast" in text
    assert text.count("evidence changed") == 1


def test_a_criterion_of_two_lines_stays_one(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    both = ["fast:\nbelow 20 ms", "said in the docs"]
    task_id = agent("add_task", title="Make it fast", acceptance=both)["data"]["task_id"]
    form = ann.get(f"/tasks/{task_id}").forms[-1]
    assert form.fields["acceptance"] == "fast: below 20 ms\nsaid in the docs"
    ann.submit(form, acceptance=f"{form.fields['acceptance']}\nmeasured", action="save")
    assert agent("get_task", task_id=task_id)["data"]["acceptance"] == [*both, "measured"]


def test_a_title_of_two_lines_that_nobody_changed_stays(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    task_id = agent("add_task", title="line one\nline two")["data"]["task_id"]
    form = ann.get(f"/tasks/{task_id}").forms[-1]
    ann.submit(form, tags="heron", action="save")
    task = agent("get_task", task_id=task_id)["data"]
    assert (task["title"], task["tags"]) == ("line one\nline two", ["heron"])
    form = ann.get(f"/tasks/{task_id}").forms[-1]
    ann.submit(form, title=f"{form.fields['title']}!", action="save")
    assert agent("get_task", task_id=task_id)["data"]["title"] == "line one line two!"


def test_texts_as_long_as_a_task_may_have_can_be_typed(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    task_id = agent("add_task", title="a")["data"]["task_id"]
    texts = {"title": "\U0001f600" * 200, "description": "\U0001f600" * 2000}
    board, page = ann.get("/tasks"), ann.get(f"/tasks/{task_id}")
    # Browsers count UTF-16 units, of which such a character has two.
    assert not [given for _, given in (*board.elements, *page.elements) if "maxlength" in given]
    assert ann.submit(page.forms[-1], None, **texts, action="save").status == 200
    task = agent("get_task", task_id=task_id)["data"]
    assert {name: task[name] for name in texts} == texts
    refused = ann.submit(page.forms[-1], title="\U0001f600" * 201, action="save")
    assert (refused.status, "200 characters or less" in refused.text) == (400, True)


def test_saving_other_fields_leaves_changed_evidence_changed(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    note = agent("note_save", text="measured: 12 ms")
    task_id = agent("add_task", title="Make it fast", evidence=[note["uri"]])["data"]["task_id"]
    agent("note_save", id=note["id"], local_version=note["local_version"], text="measured: 40 ms")
    path = f"/tasks/{task_id}"
    page = ann.submit(ann.get(path).forms[-1], title="Make it faster", action="save")
    assert page.status == 200
    (evidence,) = agent("get_task", task_id=task_id)["data"]["evidence"]
    assert evidence["state"] == "changed"
    assert f"{note['uri']} changed" in " ".join(page.text.split())


def test_a_change_that_an_agent_was_faster_with_is_a_conflict_that_keeps_the_text(
    site: Site, ann: Visitor
) -> None:
    agent = site.agent()
    task_id = agent("add_task", title="first")["data"]["task_id"]
    path = f"/tasks/{task_id}"
    form = ann.get(path).forms[-1]
    agent("update_task", task_id=task_id, title="by the agent")
    page = ann.submit(form, title="by hand", comment="why so", action="save")
    assert page.status == 409
    assert "Saving again writes yours over it" in page.text
    assert page.forms[-1].fields["comment"] == "why so"
    assert "by the agent" in page.text
    again = page.forms[-1]
    assert again.fields["title"] == "by hand"
    assert ann.submit(again, action="save").status == 200
    assert agent("get_task", task_id=task_id)["data"]["title"] == "by hand"


def test_a_conflict_keeps_what_an_agent_changed_of_the_fields_that_the_person_left(
    site: Site, ann: Visitor
) -> None:
    agent = site.agent()
    first = agent("add_task", title="first")["data"]["task_id"]
    given = {"title": "second", "description": "one\r\ntwo", "tags": ["a"], "priority": 3}
    task_id = agent("add_task", **given)["data"]["task_id"]
    path = f"/tasks/{task_id}"
    form = ann.get(path).forms[-1]
    theirs = {
        "tags": ["a", "b"],
        "blocked_by": [first],
        "links": ["https://example.org/x"],
        "acceptance": ["below 20 ms"],
        "requires_evidence": True,
        "description": "two",
        "priority": 1,
    }
    agent("update_task", task_id=task_id, **theirs)
    page = ann.submit(form, title="by hand", tags="c", priority="0", action="save")
    assert page.status == 409
    text = " ".join(page.text.split())
    for shown in ("title nowsecond", "tags nowa b", "priority now1"):
        assert shown in text
    assert ann.submit(page.forms[-1], action="save").status == 200
    task = agent("get_task", task_id=task_id)["data"]
    kept = {**theirs, "title": "by hand", "tags": ["c"], "priority": 0}
    assert {name: task[name] for name in kept} == kept


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("due_at", "tomorow"),
        ("links", "no address"),
        ("assignee", "nobody"),
        ("blocked_by", "itself"),
        ("parent_id", "0123abcd"),
        ("priority", "urgent"),
    ],
)
def test_a_refused_change_keeps_what_was_typed(
    site: Site, ann: Visitor, field: str, wrong: str
) -> None:
    agent = site.agent()
    task_id = agent("add_task", title="first")["data"]["task_id"]
    path = f"/tasks/{task_id}"
    form = ann.get(path).forms[-1]
    agent("update_task", task_id=task_id, tags=["a"])
    wrong = task_id if wrong == "itself" else wrong
    typed = {"title": "by hand", "description": "many\nwords", "comment": "why so", field: wrong}
    page = ann.submit(form, None, **typed, action="save")
    assert page.status in {400, 404, 409}
    assert page.forms[-1].fields.items() >= typed.items()
    assert ann.submit(page.forms[-1], None, **{field: ""}, action="save").status == 200
    task = agent("get_task", task_id=task_id)["data"]
    assert (task["title"], task["description"]) == ("by hand", "many\nwords")
    assert (task["tags"], task["comments"][0]["text"]) == (["a"], "why so")


def test_what_was_typed_of_a_task_that_was_deleted_meanwhile_is_shown(
    site: Site, ann: Visitor
) -> None:
    agent = site.agent()
    task_id = agent("add_task", title="first")["data"]["task_id"]
    path = f"/tasks/{task_id}"
    form = ann.get(path).forms[-1]
    agent("delete_task", task_id=task_id)
    page = ann.submit(form, description="many\nwords", action="save")
    assert page.status == 404
    assert page.forms[-1].fields["description"] == "many\nwords"
    agent("restore_task", task_id=task_id)
    page = ann.submit(page.forms[-1], action="save")
    assert (page.status, "Saving again" in page.text) == (409, True)  # it has another version
    assert ann.submit(page.forms[-1], action="save").status == 200
    assert agent("get_task", task_id=task_id)["data"]["description"] == "many\nwords"


def test_a_task_that_is_refused_keeps_its_title(site: Site, ann: Visitor) -> None:
    form = ann.get("/tasks?project=red").form("/tasks/add")
    page = ann.submit(form, title="long " * 50)
    assert page.status == 400
    again = page.form("/tasks/add")
    assert again.fields["title"] == "long " * 50
    assert ann.submit(again, title="short").status == 200
    (task,) = site.agent()("list_tasks", project="*")["data"]
    assert (task["title"], task["project"]) == ("short", "red")


def test_the_board_of_a_task_that_is_refused_shows_what_it_showed(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    for project in ("red", "blue"):
        agent("add_task", title=f"of {project}", project=project)
    form = ann.get("/tasks?project=red").form("/tasks/add")
    refused = ann.submit(form, title=" ")
    live = ann.get(form.action)  # what the page fetches to follow changes, and a reload
    assert (refused.status, live.status) == (400, 200)
    for page in (refused, live):
        assert ("of red" in page.text, "of blue" in page.text) == (True, False)
        assert ("div", "board") in [(tag, given.get("id")) for tag, given in page.elements]


def test_a_claimed_task_is_changed_only_on_purpose(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    task_id = agent("add_task", title="claimed")["data"]["task_id"]
    agent("claim_task", task_id=task_id)
    path = f"/tasks/{task_id}"
    form = ann.get(path).form(path)
    assert ann.submit(form, action="complete").status == 409
    page = ann.submit(ann.get(path).forms[-1], title="by hand", action="save")
    assert page.status == 409
    assert ("by hand" in page.body, "Saving again" in page.text) == (True, False)
    assert ann.submit(form, action="complete", force="1").status == 200
    assert agent("get_task", task_id=task_id)["data"]["status"] == "completed"


def test_the_table_is_narrowed_and_goes_on(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    agent("add_task", tasks=[{"title": f"task {n}", "project": "red"} for n in range(50)])
    agent("add_task", title="a walrus", tags=["zoo"])
    page = ann.get("/tasks/table")
    older = ann.get(next(link for link in page.links() if "cursor=" in link))
    links = {link for one in (page, older) for link in one.links()}
    assert len(list(filter(re.compile(r"/tasks/[0-9a-f-]{36}").fullmatch, links))) == 51
    form = page.form("/tasks/table")
    for filters in ({"q": "walrus"}, {"tag": "zoo"}):
        text = ann.submit(form, None, **filters).text
        assert ("a walrus" in text, "task 7" in text) == (True, False)
    assert "a walrus" not in ann.submit(form, project="red", status="pending").text


def test_anothers_task_is_not_there(site: Site, ann: Visitor, other: str) -> None:
    task_id = site.agent(other)("add_task", title="of Bob")["data"]["task_id"]
    assert ann.get(f"/tasks/{task_id}").status == 404
    form = ann.get("/tasks").form("/tasks/add")
    form.action = f"/tasks/{task_id}"
    for action in ("complete", "delete", "save", "restore", "reopen", "nonsense"):
        assert ann.submit(form, action=action).status in {400, 404}
    assert "of Bob" in str(site.agent(other)("list_tasks"))
    assert Visitor(site).get(f"/tasks/{task_id}").status == 401


def test_a_day_that_a_task_is_due_is_no_time_that_clocks_show_as_another(
    site: Site, ann: Visitor
) -> None:
    agent = site.agent()
    day, minute = (
        agent("add_task", title=f"due {due}", due_at=due)["data"]["task_id"]
        for due in ("2026-12-31", "2026-12-31T17:00Z")
    )
    for path in ("/tasks", "/tasks/table", f"/tasks/{day}", f"/tasks/{minute}"):
        page = ann.get(path)
        times = [given["datetime"] for tag, given in page.elements if tag == "time"]
        assert not any("23:59" in time for time in times), path
        assert ("2026-12-31T17:00:00+00:00" in times) == (path != f"/tasks/{day}")
        assert "2026-12-31" in page.text
