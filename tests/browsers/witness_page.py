"""The page for people in Chromium: for everybody, by keyboard, live, and against hostile texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from rolltop.core.accounts import ensure_default_user
from rolltop.core.db import SYSTEM, Database
from rolltop.core.page_sessions import create_link
from tests.browsers.desk_story import tell_story
from tests.browsers.keyboard_walk import walk
from tests.browsers.witness_chromium import FLAGS, pages
from tests.server.processes import PATIENCE, HttpServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, BrowserContext, Page, Route

HOSTILE = (
    "\"'><script>window.broken=1</script><img src=x onerror=window.broken=1>"
    "<svg onload=window.broken=1><a href=javascript:window.broken=1>x</a>"
)
WINDOWS = ((1280, 1, "light"), (1280, 1, "dark"), (360, 1, "light"), (640, 2, "light"))
"""Width in CSS pixels, zoom and colours: 640 pixels are a window of 1,280 at 200 %."""


class Desk:
    """A server, an agent's calls over MCP, and links that let people in."""

    def __init__(self, server: HttpServer, database: str) -> None:
        self.server = server
        self.origin = server.url.removesuffix("/mcp")
        self._database = database

    def call(self, name: str, /, **arguments: Any) -> Any:
        result = self.server.call(name, **arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    def link(self) -> str:
        """Return a link that lets in, as `rolltop open` makes it."""
        database = Database(self._database)
        user = database.write_sync(SYSTEM, ensure_default_user)
        secret = database.write_sync(SYSTEM, create_link, user.id)
        database.close()
        return f"{self.origin}/login?link={secret}"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("page")
    tree = folder / "tree"
    tree.mkdir()
    (tree / "guide.md").write_text("# Start\n\ntext\n\n## Limits\n\nThe upload limit.\n")
    settings = {"retrieval.roots": f"docs={tree}"}
    with HttpServer(folder, **settings) as server:
        yield Desk(server, f"sqlite:///{folder / 'data' / 'desk.db'}")


@pytest.fixture(scope="module")
def story(desk: Desk) -> dict[str, str]:
    return tell_story(desk.call)


@pytest.fixture
def open_page(desk: Desk, browser: Browser) -> Iterator[Callable[..., Page]]:
    """Return what opens a tab of somebody who is logged in; no page may throw or load from afar."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def note_request(url: str) -> None:
        if not url.startswith(desk.origin):
            faults.append(f"asked for {url}")

    def open_one(**options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: note_request(request.url))
        page.on(
            "console",
            lambda message: faults.append(message.text) if "Security" in message.text else None,
        )
        page.goto(desk.link())
        page.wait_for_url(f"{desk.origin}/")
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert faults == []


def paths(story: dict[str, str]) -> list[str]:
    """Return a page of each kind."""
    note, pad = f"/notes/{story['note']}", f"/pads/{story['pad']}"
    return [
        "/",
        "/search?q=upload+limit",
        "/tasks",
        "/tasks/table",
        f"/tasks/{story['task']}",
        "/notes",
        "/notes/new",
        note,
        f"{note}/edit",
        f"{note}/versions?old=1&new=2",
        "/pads",
        pad,
        f"{pad}/cells/{story['cell']}",
        f"{pad}/new",
        "/files?query=limit",
        "/files/docs",
        "/files/docs/guide.md?line=5",
        "/journal",
        "/journal/8",
        "/undo?since=7&actor=unknown",
        "/trash",
        "/settings",
        "/doctor",
        "/tasks/00000000-0000-4000-8000-000000000000",
    ]


@pytest.mark.parametrize(("width", "zoom", "scheme"), WINDOWS)
def test_axe_finds_nothing_and_no_page_is_wider_than_the_window(
    desk: Desk,
    story: dict[str, str],
    open_page: Callable[..., Page],
    width: int,
    zoom: int,
    scheme: str,
) -> None:
    size = {"width": width, "height": 800 // zoom}
    page = open_page(viewport=size, device_scale_factor=zoom, color_scheme=scheme)
    found: list[str] = []
    for path in paths(story):
        page.goto(desk.origin + path)
        for violation in Axe().run(page).response["violations"]:
            nodes = [node["html"][:100] for node in violation["nodes"][:2]]
            found.append(f"{path}: {violation['id']} {nodes}")
        root = page.locator("html")
        if root.evaluate("e => e.scrollWidth > e.clientWidth"):
            found.append(f"{path}: wider than {width} px")
    assert found == []


@pytest.mark.parametrize("width", [360, 700, 1280])
def test_long_names_make_no_list_wider_than_the_window(
    desk: Desk, open_page: Callable[..., Page], width: int
) -> None:
    path = "https://desk.example.org/one-organisation/one-repository/blob/main/src/dashboard/charts.tsx"
    tag, project = "src/components/dashboard/widgets/charts.tsx", "one-organisation/one-repository"
    task = desk.call("add_task", title=f"See {path}", tags=[tag], project=project)["data"]
    note = desk.call("note_save", text=f"{path}\n\n{path}\n", tags=[tag])["id"]
    desk.call("scratch_create", metadata={"title": path, "tags": [tag]})
    page = open_page(viewport={"width": width, "height": 800})
    lists = ("/", "/tasks", "/tasks/table", "/notes", "/pads", "/journal")
    for shown in (*lists, f"/tasks/{task['task_id']}", f"/notes/{note}"):
        page.goto(desk.origin + shown)
        assert page.locator("html").evaluate("e => e.scrollWidth - e.clientWidth") == 0, shown


def test_the_login_page_too_and_nothing_else_is_there(desk: Desk, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(f"{desk.origin}/tasks")
    assert Axe().run(page).response["violations"] == []
    expect(page.locator("main")).to_contain_text("rolltop open --at")
    page.close()


def test_with_the_keyboard_alone(desk: Desk, open_page: Callable[..., Page]) -> None:
    desk.call("note_save", text="Kingfishers\n\nThey dive for minnows.")
    walk(open_page(), "minnows", "Kingfishers", "Seen by the river.")
    found = desk.call("note_list", q="minnows")["items"]
    assert "Seen by" not in desk.call("note_get", id=found[0]["id"])["text"]


def test_what_an_agent_writes_appears_and_what_is_typed_stays(
    desk: Desk, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(f"{desk.origin}/tasks")
    field = page.get_by_label("New task")
    field.fill("half typed")
    added = desk.call("add_task", title="written while you look", priority=0)["data"]
    expect(page.locator("[data-column=ready]")).to_contain_text("written while you look")
    assert field.input_value() == "half typed"
    desk.call("complete_task", task_id=added["task_id"])
    expect(page.locator("[data-column=ready]")).not_to_contain_text("written while you look")


def test_what_is_done_while_one_looks_at_the_done_appears(
    desk: Desk, open_page: Callable[..., Page]
) -> None:
    task = desk.call("add_task", title="done while you look")["data"]["task_id"]
    page = open_page()
    page.goto(f"{desk.origin}/tasks")
    summary = page.locator("[data-column=done] summary")
    summary.click()
    desk.call("complete_task", task_id=task)
    expect(page.get_by_role("link", name="done while you look")).to_be_visible()
    expect(page.locator("[data-column=ready]")).not_to_contain_text("done while you look")
    expect(summary).to_be_focused()


def test_what_an_agent_changed_while_one_looks_is_shown_and_can_be_done_with(
    desk: Desk, open_page: Callable[..., Page]
) -> None:
    note = desk.call("note_save", text="one\n")["id"]
    task = desk.call("add_task", title="one")["data"]["task_id"]
    page = open_page()
    page.goto(f"{desk.origin}/notes/{note}")
    desk.call("note_save", id=note, text="two\n", local_version=1)
    expect(page.locator("article")).to_contain_text("two")
    expect(page.locator("main")).to_contain_text("version 2")
    page.get_by_role("button", name="Delete").click()
    page.wait_for_url(f"{desk.origin}/notes")
    page.goto(f"{desk.origin}/tasks/{task}")
    desk.call("update_task", task_id=task, title="two", comment="half of it")
    expect(page.locator("h1")).to_have_text("two")
    expect(page.locator("main")).to_contain_text("half of it")
    page.get_by_role("button", name="Done").click()
    expect(page.locator("main")).to_contain_text("completed")
    assert desk.call("get_task", task_id=task)["data"]["status"] == "completed"
    pad = desk.call("scratch_create", metadata={"title": "one"})["scratchpad"]["scratch_id"]
    page.goto(f"{desk.origin}/pads/{pad}")
    desk.call("scratch_update", scratch_id=pad, metadata={"title": "two"})
    expect(page.locator("h1")).to_have_text("two")
    expect(page.locator("main")).to_contain_text("version 2")


def test_a_page_follows_again_after_the_server_was_out_of_reach(
    desk: Desk, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    refused: list[int] = []

    def refuse_once(route: Route) -> None:
        if refused:
            route.continue_()
        else:
            refused.append(503)
            route.fulfill(status=503, body="The server is stopping.")

    page.route("**/events", refuse_once)
    with page.expect_response("**/events"):
        page.goto(f"{desk.origin}/tasks")
    desk.call("add_task", title="written meanwhile", priority=0)
    ready = page.locator("[data-column=ready]")
    expect(ready).to_contain_text("written meanwhile", timeout=PATIENCE * 1000)


def test_a_search_goes_on_after_the_server_was_away(
    desk: Desk, open_page: Callable[..., Page]
) -> None:
    desk.call("add_task", title="Photograph a kingfisher")
    page = open_page()
    page.route("**/search?*", lambda route: route.abort(), times=1)
    field = page.get_by_label("Search everything")
    with page.expect_event("requestfailed"):
        field.fill("kingfish")
    field.fill("kingfisher")
    expect(page.locator("#results")).to_contain_text("Photograph a kingfisher")


def test_a_card_is_dragged_to_done(desk: Desk, open_page: Callable[..., Page]) -> None:
    task = desk.call("add_task", title="drag me", priority=0)["data"]["task_id"]
    page = open_page()
    page.goto(f"{desk.origin}/tasks")
    card = page.locator("li", has_text="drag me")
    card.drag_to(page.locator("[data-column=done]"))
    page.wait_for_url(re.compile(task))
    assert desk.call("get_task", task_id=task)["data"]["status"] == "completed"


def test_a_card_is_dropped_although_the_board_changes_meanwhile(
    desk: Desk, open_page: Callable[..., Page]
) -> None:
    task = desk.call("add_task", title="drag me slowly", priority=0)["data"]["task_id"]
    page = open_page()
    page.goto(f"{desk.origin}/tasks")
    page.locator("li", has_text="drag me slowly").hover()
    page.mouse.down()
    page.locator("[data-column=done]").hover()
    with page.expect_response(f"{desk.origin}/tasks") as answered:
        desk.call("add_task", title="written while you drag")
    answered.value.finished()
    page.locator("[data-column=done] h2").hover()
    page.mouse.up()
    page.wait_for_url(re.compile(task))
    assert desk.call("get_task", task_id=task)["data"]["status"] == "completed"


def test_two_tabs_that_edit_one_note(desk: Desk, open_page: Callable[..., Page]) -> None:
    note = desk.call("note_save", text="one\ntwo\n")["id"]
    first, second = open_page(), open_page()
    for page in (first, second):
        page.goto(f"{desk.origin}/notes/{note}/edit")
    first.locator("textarea[name=text]").fill("one\ntwo by Ann\n")
    first.locator("button[value=save]").click()
    expect(first.locator("article")).to_contain_text("by Ann")
    second.locator("textarea[name=text]").fill("one\ntwo by Bob\n")
    second.locator("button[value=save]").click()
    expect(second.locator("main")).to_contain_text("changed while you wrote")
    expect(second.locator("main")).to_contain_text("two by Ann")
    assert Axe().run(second).response["violations"] == []
    second.locator("button[value=save]").click()
    expect(second.locator("article")).to_contain_text("by Bob")
    assert desk.call("note_get", id=note)["text"] == "one\ntwo by Bob\n"


def test_what_is_typed_before_going_away_and_back_is_in_conflict_with_what_came_meanwhile(
    desk: Desk, open_page: Callable[..., Page]
) -> None:
    note = desk.call("note_save", text="one\ntwo\n")["id"]
    page = open_page()
    field = page.locator("textarea[name=text]")
    for version, anchor in ((1, ""), (2, "#main")):
        page.goto(f"{desk.origin}/notes/{note}/edit")
        page.goto(f"{desk.origin}/notes/{note}/edit{anchor}")
        field.fill("by Ann\n")
        page.get_by_role("link", name="Leave it").click()
        page.wait_for_url(f"{desk.origin}/notes/{note}")
        desk.call("note_save", id=note, text=f"by an agent {version}\n", local_version=version)
        page.go_back()
        expect(field).to_have_value("by Ann\n")
        page.locator("button[value=save]").click()
        expect(page.locator("main")).to_contain_text("changed while you wrote")
        expect(field).to_have_value("by Ann\n")
    assert desk.call("note_get", id=note)["text"] == "by an agent 2\n"


def test_a_form_whose_button_is_pressed_twice_is_sent_once(
    desk: Desk, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(f"{desk.origin}/tasks")
    sent: list[Route] = []

    def hold(route: Route) -> None:
        sent.append(route)

    page.route("**/tasks/add", hold)
    page.get_by_label("New task").fill("pressed twice")
    with page.expect_request("**/tasks/add"):
        page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    with page.expect_response("**/tasks/add"):
        sent[0].continue_()
    assert len(sent) == 1


def test_no_text_runs(desk: Desk, open_page: Callable[..., Page]) -> None:
    title = HOSTILE[:200]
    task = desk.call("add_task", title=title, description=HOSTILE, tags=[HOSTILE[:50]])["data"]
    desk.call("update_task", task_id=task["task_id"], comment=HOSTILE)
    note = desk.call("note_save", text=f"{HOSTILE}\n\n{HOSTILE}")["id"]
    metadata = {"title": HOSTILE, "description": HOSTILE}
    pad = desk.call("scratch_create", metadata=metadata)["scratchpad"]["scratch_id"]
    cell = {"language": "html", "content": HOSTILE, "validate": True}
    desk.call("scratch_append_cell", scratch_id=pad, cell=cell)
    page = open_page()
    for path in (
        "/",
        "/tasks",
        f"/tasks/{task['task_id']}",
        "/notes",
        f"/notes/{note}",
        f"/notes/{note}/edit",
        "/pads",
        f"/pads/{pad}",
        "/journal",
        "/search?q=broken",
    ):
        page.goto(desk.origin + path)
        for link in page.locator("article a, main a[href^=javascript]").all():
            link.click()
        assert page.evaluate("window.broken") is None, path


def test_a_text_that_turns_its_direction_turns_nothing_beside_it(
    desk: Desk, open_page: Callable[..., Page]
) -> None:
    desk.call("add_task", title="to the \u202eleft", tags=["a \u202etag", "plain"])
    page = open_page()
    for path, text in (("/", "created"), ("/tasks/table", "plain")):
        page.goto(desk.origin + path)
        row = page.locator("tr", has_text="to the").first
        first, last = row.get_by_text(text, exact=True).evaluate(
            """element => [0, element.firstChild.length - 1].map((place) => {
                const letter = document.createRange();
                letter.setStart(element.firstChild, place);
                letter.setEnd(element.firstChild, place + 1);
                return letter.getBoundingClientRect().left;
            })"""
        )
        assert first < last, path


def test_a_search_whose_session_is_over_says_so(desk: Desk, open_page: Callable[..., Page]) -> None:
    desk.call("add_task", title="Count the bitterns")
    page = open_page()
    page.get_by_label("Search everything").fill("bitterns")
    expect(page.locator("#results")).to_contain_text("Count the bitterns")
    tab = page.context.new_page()
    tab.goto(desk.origin)
    tab.get_by_role("button", name="Log out").click()
    tab.wait_for_url(f"{desk.origin}/login")
    page.get_by_label("Search everything").fill("herons")
    expect(page.locator("#results")).to_have_text("Log in")


def test_logging_out_shows_nothing_more(desk: Desk, open_page: Callable[..., Page]) -> None:
    page = open_page()
    page.get_by_role("button", name="Log out").click()
    expect(page.locator("h1")).to_have_text("Log in")
    page.go_back()
    page.goto(f"{desk.origin}/tasks")
    expect(page.locator("h1")).to_have_text("Log in")


def test_a_link_of_another_site_leads_whom_it_should_and_logs_nobody_out(
    desk: Desk, open_page: Callable[..., Page]
) -> None:
    task = desk.call("add_task", title="linked from afar")["data"]["task_id"]
    page = open_page()
    link = f"{desk.origin}/tasks/{task}?from=afar"
    with pages() as port:
        tab = page.context.new_page()
        tab.goto(f"http://elsewhere.example:{port}/")
        tab.evaluate("link => document.body.innerHTML = `<a href='${link}'>a task</a>`", link)
        tab.get_by_role("link", name="a task").click()
        expect(tab.locator("h1")).to_have_text("linked from afar")
    page.goto(f"{desk.origin}/tasks")
    expect(page.locator("h1")).to_have_text("Tasks")


def test_a_long_text_that_was_sent_without_a_login_is_shown_after_it(
    desk: Desk, open_page: Callable[..., Page]
) -> None:
    page = open_page()
    page.goto(f"{desk.origin}/notes/new")
    text = " ".join(["heron"] * 60_000)
    page.get_by_label("Text, in Markdown").fill(text)
    tab = page.context.new_page()
    tab.goto(desk.origin)
    tab.get_by_role("button", name="Log out").click()
    tab.wait_for_url(f"{desk.origin}/login")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("then reload this page")
    tab.goto(desk.link())
    tab.wait_for_url(f"{desk.origin}/")
    page.reload()
    assert page.locator("pre").inner_text() == text
