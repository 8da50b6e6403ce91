"""The views of answers, in Chromium and in a host that the extension's own SDK makes."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from docx import Document as WordDocument
from playwright.sync_api import expect, sync_playwright

from tests.browsers.witness_chromium import FLAGS
from tests.browsers.witness_page import HOSTILE
from tests.server.processes import MODERN, HttpServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, FrameLocator, Locator, Page

    Show = Callable[..., FrameLocator]

HERE = Path(__file__).parent
DRAWN = ".diff, .asked, [role=alert]"
"""What a button of a change shows: lines, the question, or why not."""


class _Files(SimpleHTTPRequestHandler):
    """The host's page and the packages that it imports."""

    def log_message(self, format: str, *_: Any) -> None:  # noqa: A002  # as its class has it
        pass


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    files = partial(_Files, directory=HERE)
    with ThreadingHTTPServer(("127.0.0.1", 0), files) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://host.test:{site.server_address[1]}"
        site.shutdown()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tree")


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, origin: str, tree: Path
) -> Iterator[HttpServer]:
    settings = {"http.allowed_origins": origin, "retrieval.roots": f"docs={tree}"}
    with HttpServer(tmp_path_factory.mktemp("views"), **settings) as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser, origin: str, server: HttpServer) -> Iterator[Page]:
    """Return the host's page; nothing in it may fail, break out or ask another host."""
    page, faults = browser.new_page(viewport={"width": 800, "height": 900}), list[str]()
    own = (origin, server.url.replace("127.0.0.1", "localhost"), "data:", "about:")
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: faults.append(dialog.message))
    page.on("request", lambda request: request.url.startswith(own) or faults.append(request.url))
    page.on("console", lambda one: faults.append(one.text) if one.type == "error" else None)
    page.goto(f"{origin}/host/index.html")
    page.wait_for_function("window.isReady")
    yield page
    page.close()
    assert faults == []


@pytest.fixture
def show(page: Page, server: HttpServer) -> Show:
    """Return a function that calls a tool in the host and shows its answer in the tool's view."""

    def show_answer(tool: str, given: dict[str, Any] | None = None, **host: Any) -> FrameLocator:
        url = server.url.replace("127.0.0.1", "localhost")
        page.evaluate("window.show", {"url": url, "tool": tool, "given": given or {}, **host})
        return page.frame_locator("iframe")

    return show_answer


def call(server: HttpServer, name: str, **arguments: Any) -> Any:
    result = server.call(name, era=MODERN, **arguments)
    assert not result.get("isError"), result
    return result["structuredContent"]


def add_task(server: HttpServer, title: str, **fields: Any) -> str:
    return call(server, "add_task", title=title, **fields)["data"]["task_id"]


def read_task(server: HttpServer, task_id: str) -> Any:
    return call(server, "get_task", task_id=task_id)["data"]


def column(view: FrameLocator, name: str) -> Locator:
    return view.get_by_role("region", name=name, exact=True)


def violations(page: Page) -> list[str]:
    """List the violations that axe finds in the view, which the host's page holds in a frame."""
    [view] = [frame for frame in page.frames if frame.parent_frame]
    return [found["id"] for found in Axe().run(view).response["violations"]]


def test_a_hit_is_opened_by_the_host_and_shown_below(
    server: HttpServer, show: Show, page: Page
) -> None:
    text = "Kingfishers\n\nThey dive.\n" + 50 * "\nwater" + "\nAt dusk they rest."
    note = call(server, "note_save", text=text)
    web = {"from": note["uri"], "relation": "evidence", "to": "https://birds.example/kingfisher"}
    call(server, "desk_link", **web)
    view = show("desk_search", {"query": "dive", "project": "*"})
    hit = view.get_by_role("listitem").filter(has_text="They dive.")
    hit.get_by_role("button", name="Open Kingfishers").press("Enter")
    expect(hit).to_contain_text("At dusk they rest.")
    hit.get_by_role("button", name="Open https://birds.example").click()
    page.wait_for_function(f"window.opened.join() === '{web['to']}'")
    hit.get_by_role("button", name="Open Kingfishers").press("Enter")
    expect(hit).not_to_contain_text("At dusk they rest.")


def test_a_search_says_what_was_not_searched(tree: Path, show: Show) -> None:
    moved = tree.rename(tree.with_name("moved"))
    view = show("desk_search", {"query": "zzqx"})
    expect(view.locator("#status")).to_contain_text("Nothing has these words")
    expect(view.locator("#status")).to_contain_text("Not every file was searched: Root directory")
    moved.rename(tree)


def test_a_long_cell_file_and_document_are_read_to_their_ends(
    server: HttpServer, tree: Path, show: Show
) -> None:
    lines = ["Cormorants", *(f"line {at} of wings in the wind" for at in range(6000))]
    text = "\n".join(lines)
    (tree / "birds.txt").write_text(text)
    document = WordDocument()
    document.add_paragraph(text)
    document.save(str(tree / "birds.docx"))
    cells = [{"language": "text", "content": text}]
    cell = call(server, "scratch_create", cells=cells)["scratchpad"]["cells"][0]["uri"]
    files = [f"rolltop://file/docs/birds.{kind}" for kind in ("txt", "docx")]
    for file in files:
        call(server, "desk_link", **{"from": cell, "relation": "evidence", "to": file})
    view = show("desk_search", {"query": "cormorants", "kinds": ["cell"], "project": "*"})
    hit = view.get_by_role("listitem")
    for uri in (cell, *files):
        opened = hit.get_by_role("listitem").filter(has_text=uri) if uri in files else hit
        view.get_by_role("button", name=f"Open {uri}").press("Enter")
        shown = opened.locator("pre").last
        for line in (3000, 5999):
            expect(shown).not_to_contain_text(f"line {line} of")
            opened.get_by_role("button", name="Read on").click()
            expect(shown).to_contain_text(f"line {line} of")
        assert shown.inner_text().split("\n") == lines
        expect(view.get_by_role("button", name="Read on")).to_have_count(0)


def test_a_task_is_completed_and_reopened_on_the_board(server: HttpServer, show: Show) -> None:
    first = add_task(server, "hatch", project="board", due_at="2026-12-31")
    add_task(server, "fledge", project="board", blocked_by=[first])
    held = add_task(server, "nest", project="board")
    call(server, "claim_task", task_id=held)
    view = show("list_tasks", {"project": "board"})
    for name, title in (("Ready", "hatch"), ("In work", "nest"), ("Blocked", "fledge")):
        expect(column(view, name).get_by_role("heading")).to_have_text(f"{name} 1")
        expect(column(view, name)).to_contain_text(title)
    expect(column(view, "Ready")).to_contain_text("due 2026-12-31")  # by every clock
    view.get_by_role("button", name="Complete hatch").press("Enter")
    expect(column(view, "Done").get_by_role("heading")).to_have_text("Done 1")
    expect(column(view, "Ready")).to_contain_text("fledge")
    assert read_task(server, first)["status"] == "completed"
    expect(view.get_by_role("button", name="Reopen hatch")).to_be_focused()
    view.get_by_role("button", name="Reopen hatch").press("Enter")
    expect(column(view, "Ready")).to_contain_text("hatch")
    assert read_task(server, first)["status"] == "pending"


def test_counts_say_that_there_are_more_until_all_are_there(server: HttpServer, show: Show) -> None:
    titles = [{"title": f"egg {number}", "project": "many"} for number in range(5)]
    tasks = call(server, "add_task", tasks=titles)["data"]
    waits = tasks[0]["task_id"]
    add_task(server, "brood", project="many", blocked_by=[waits])
    view = show("list_tasks", {"project": "many", "limit": 2})
    expect(column(view, "Blocked").get_by_role("heading")).to_have_text("Blocked 1+")
    expect(column(view, "Blocked")).to_contain_text("waits for egg 0")
    for shown in ("Ready 3+", "Ready 5"):
        view.get_by_role("button", name="Load more").click()
        expect(column(view, "Ready").get_by_role("heading")).to_have_text(shown)


def test_what_changed_meanwhile_is_told_and_shown(server: HttpServer, show: Show) -> None:
    task = add_task(server, "moult", project="stale")
    view = show("list_tasks", {"project": "stale"})
    call(server, "update_task", task_id=task, title="moult in August")
    view.get_by_role("button", name="Complete moult").click()
    expect(view.get_by_role("alert")).to_contain_text("the task is at version 2")
    assert read_task(server, task)["status"] == "pending"
    view.get_by_role("button", name="Complete moult in August").click()
    expect(column(view, "Done")).to_contain_text("moult in August")


def test_a_change_shows_its_lines_and_is_taken_back(server: HttpServer, show: Show) -> None:
    note = call(server, "note_save", text="one\ntwo\nthree\n")
    call(server, "note_save", id=note["id"], local_version=1, text="one\n2\nthree\nfour\n")
    view = show("desk_history", {"uri": note["uri"]})
    change = view.get_by_role("listitem").first
    change.get_by_role("button", name="Lines").press("Enter")
    expect(change.locator(".diff")).to_have_text(" one\n-two\n+2\n three\n+four\n")
    expect(change.locator(".removed")).to_have_text("-two\n")
    change.get_by_role("button", name="Undo").press("Enter")
    expect(change).to_contain_text("These would be put back as they were")
    assert call(server, "note_get", id=note["id"])["text"] == "one\n2\nthree\nfour\n"
    expect(view.get_by_role("button", name="Undo now")).to_be_focused()
    view.get_by_role("button", name="Undo now").press("Enter")
    expect(change).to_contain_text("undone by")
    assert call(server, "note_get", id=note["id"])["text"] == "one\ntwo\nthree\n"


def test_a_host_that_refuses_is_named(server: HttpServer, show: Show) -> None:
    task = add_task(server, "preen", project="refused")
    for host, said in (
        ({"refuses": True}, "The host refused complete_task"),
        ({"capabilities": {}}, "This host lets its views call no tools"),
    ):
        view = show("list_tasks", {"project": "refused"}, **host)
        view.get_by_role("button", name="Complete preen").click()
        expect(view.get_by_role("alert")).to_contain_text(said)
    assert read_task(server, task)["status"] == "pending"
    view = show("list_tasks", {"limit": 1, "cursor": "none"})
    expect(view.get_by_role("alert")).to_contain_text("cursor")


def test_no_text_runs_and_axe_finds_nothing(server: HttpServer, show: Show, page: Page) -> None:
    title = HOSTILE[:200]
    task = add_task(server, title, description=HOSTILE, tags=[HOSTILE[:50]], project="hostile")
    add_task(server, f"waits {title[:150]}", project="hostile", blocked_by=[task])
    call(server, "claim_task", task_id=task)
    note = call(server, "note_save", text=f"{HOSTILE}\n\nbroken", tags=[HOSTILE[:50]])
    call(
        server,
        "desk_link",
        **{"from": note["uri"], "relation": "relates", "to": f"rolltop://task/{task}"},
    )
    dark = {"theme": "dark", "styles": {"variables": {"--color-background-primary": "#000"}}}
    press_all = "all => all.forEach(one => one.click())"
    for tool, given, buttons, shown in (
        ("desk_search", {"query": "broken"}, ".hits > li > button", ".opened"),
        ("list_tasks", {"project": "hostile"}, f"[data-task='{task}'] button", "[role=alert]"),
        ("desk_history", {"uri": note["uri"]}, ".hits button", DRAWN),
        ("desk_history", {"uri": f"rolltop://task/{task}"}, ".hits button", DRAWN),
    ):
        for context in ({}, dark):
            view = show(tool, given, hostContext=context)
            expect(view.locator(buttons).first).to_be_visible()
            count = view.locator(buttons).count()
            view.locator(buttons).evaluate_all(press_all)
            expect(view.locator(shown)).to_have_count(count)
            expect(view.locator("main")).to_contain_text("window.broken=1")
            assert violations(page) == [], tool
            assert view.locator("#view").locator("img, svg, script, a").count() == 0
            body = view.locator("body")
            assert body.evaluate("() => window.broken") is None
            colour = body.evaluate("e => getComputedStyle(e).backgroundColor")
            assert colour == ("rgb(0, 0, 0)" if context else "rgb(255, 255, 255)")
            height = page.locator("iframe").evaluate("e => e.clientHeight")
            assert height >= body.evaluate("e => e.scrollHeight")
