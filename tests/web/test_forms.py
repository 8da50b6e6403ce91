"""Forms and addresses as no page of ours makes them, and texts that nobody changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rolltop.web.form_texts import restore_line_breaks

if TYPE_CHECKING:
    from tests.web.visitor import Form, Site, Visitor

DIGITS = "9" * 5000
MIB = 1 << 20


class Sender:
    """Sends parts of a body as long as somebody takes them, then leaves."""

    def __init__(self, part: bytes, count: int) -> None:
        self.part, self.count, self.taken = part, count, 0

    async def __call__(self) -> Any:
        if self.taken == self.count:
            return {"type": "http.disconnect"}
        self.taken += 1
        return {"type": "http.request", "body": self.part, "more_body": True}


def send_parts(ann: Visitor, sender: Sender, length: int | None = None) -> tuple[int, str]:
    """Return status and text of the answer to a form that arrives in parts."""
    headers = ann.own_headers()
    if length is not None:
        headers["Content-Length"] = str(length)
    status, _, body = ann.site.ask("POST", "/notes/new", headers, receive=sender)
    return status, body.decode()


def test_a_form_that_says_it_is_too_large_is_not_read(ann: Visitor) -> None:
    sender = Sender(b"x", 10)
    status, text = send_parts(ann, sender, 4 * MIB + 1)
    assert (status, sender.taken, "at most 4194304 bytes" in text) == (413, 0, True)


def test_a_form_is_read_no_further_than_its_limit(ann: Visitor) -> None:
    sender = Sender(b"x" * MIB, 32)
    assert send_parts(ann, sender)[0] == 413
    assert sender.taken == 5


def test_a_form_that_ends_early_is_refused(ann: Visitor) -> None:
    status, text = send_parts(ann, Sender(b"abc", 1), 100)
    assert (status, "ended early" in text) == (400, True)


def test_a_text_of_a_mebibyte_fits_a_form(ann: Visitor) -> None:
    form = ann.get("/notes/new").form("/notes/new")
    text = "\u00e9" * (MIB // 2)
    page = ann.submit(form, text=text, action="preview")
    assert (page.status, page.form("/notes/new").fields["text"] == text) == (200, True)


def test_a_form_of_too_many_fields_is_refused(ann: Visitor) -> None:
    form = ann.get("/notes/new").form("/notes/new")
    form.fields |= {f"x{number}": "1" for number in range(1000)}
    assert ann.submit(form, text="a").status == 400


TYPED = "many <b>words</b>\nof mine"


@pytest.fixture
def form(site: Site, ann: Visitor) -> Form:
    """Return the form of a note that Ann has begun to edit."""
    path = f"/notes/{site.agent()('note_save', text='old text', tags=['heron'])['id']}/edit"
    return ann.get(path).form(path)


def test_a_form_of_an_older_session_shows_what_was_typed(ann: Visitor, form: Form) -> None:
    ann.log_in()
    page = ann.submit(form, text=TYPED)
    assert (page.status, "not of this session" in page.text) == (403, True)
    assert (TYPED in page.text, "heron" in page.text) == (True, False)
    assert ("b", {}) not in page.elements
    elsewhere = ann.submit(form, {"Origin": "http://evil.example"}, text=TYPED)
    assert (elsewhere.status, TYPED in elsewhere.text) == (403, False)


@pytest.mark.parametrize("keeps_cookie", [True, False])
def test_a_form_of_a_session_that_is_over_shows_what_was_typed(
    ann: Visitor, form: Form, *, keeps_cookie: bool
) -> None:
    cookies = dict(ann.cookies)
    ann.submit(ann.get("/").form("/logout"))
    ann.cookies = cookies if keeps_cookie else {}
    page = ann.submit(form, text=TYPED)
    assert page.status == 401
    for shown in ("rolltop open --at", "Nothing was saved", TYPED):
        assert shown in page.text
    elsewhere = ann.submit(form, {"Origin": "http://evil.example"}, text=TYPED)
    assert (elsewhere.status, TYPED in elsewhere.text) == (403, False)


def test_a_long_form_is_shown_once_one_is_logged_in_again(ann: Visitor, form: Form) -> None:
    ann.submit(ann.get("/").form("/logout"))
    text = TYPED * 1000
    page = ann.submit(form, text=text)
    assert (page.status, "not logged in" in page.text) == (413, True)
    ann.log_in()
    assert text in ann.submit(form, text=text).text


@pytest.mark.parametrize("digits", [DIGITS, "9" * 30, "\u0663" * 19])
def test_numbers_without_end_are_no_pages(site: Site, ann: Visitor, digits: str) -> None:
    agent = site.agent()
    note_id = agent("note_save", text="a")["id"]
    task_id = agent("add_task", title="a")["data"]["task_id"]
    pad = agent("scratch_create", cells=[{"language": "md", "content": "a"}])["scratchpad"]
    cell = f"/pads/{pad['scratch_id']}/cells/{pad['cells'][0]['cell_id']}"
    if digits.isascii():
        assert ann.get(f"/journal/{digits}").status in {400, 404}
        assert ann.get(f"/notes/{note_id}?version={digits}").status in {400, 404}
        assert ann.get(f"/notes/{note_id}/versions?old={digits}&new=1").status in {400, 404}
    for path, field in (
        (f"/tasks/{task_id}", "version"),
        (f"/tasks/{task_id}", "priority"),
        (cell, "version"),
    ):
        form = ann.get(path).forms[-1]
        form.fields[field] = digits
        assert ann.submit(form, action="save").status == 400, (path, field)
    path = f"/notes/{note_id}/edit"
    assert ann.submit(ann.get(path).form(path), version=digits, action="save").status == 400


def test_a_name_without_end_is_no_file_of_the_page(ann: Visitor) -> None:
    assert ann.get(f"/static/{'x' * 5000}.css").status == 404
    assert ann.get("/static/..").status == 404
    assert ann.get("/static/page.css").status == 200


@pytest.mark.parametrize("text", ["one\r\ntwo\r\n", "a\rb\nc", "\r\n\n\r", "plain\n"])
def test_a_cell_and_a_description_that_nobody_changed_stay(
    site: Site, ann: Visitor, text: str
) -> None:
    agent = site.agent()
    pad = agent("scratch_create", cells=[{"language": "text", "content": text}])["scratchpad"]
    path = f"/pads/{pad['scratch_id']}/cells/{pad['cells'][0]['cell_id']}"
    assert ann.submit(ann.get(path).form(path)).status == 200
    read = agent("scratch_read", scratch_id=pad["scratch_id"])["scratchpad"]
    assert read["cells"][0]["content"] == text
    task = agent("add_task", title="a", description=text)["data"]
    path = f"/tasks/{task['task_id']}"
    assert ann.submit(ann.get(path).forms[-1], title="b", action="save").status == 200
    saved = agent("get_task", task_id=task["task_id"])["data"]
    assert (saved["title"], saved.get("description")) == ("b", task.get("description"))


def test_lines_that_nobody_changed_keep_their_ends(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    note_id = agent("note_save", text="one\r\ntwo\nthree\rfour\r\n")["id"]
    path = f"/notes/{note_id}/edit"
    form = ann.get(path).form(path)
    ann.submit(form, text="one\ntwo\nnew\nthree\nfour\nlast", action="save")
    assert agent("note_get", id=note_id)["text"] == "one\r\ntwo\nnew\r\nthree\rfour\r\nlast"
    assert restore_line_breaks("", "a\r\nb") == ""
    assert restore_line_breaks("a", "a\r\n") == "a"
    assert restore_line_breaks("b\na\n", "a\r\n") == "b\r\na\r\n"


def test_tags_that_nobody_changed_stay(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    note_id = agent("note_save", text="a", tags=["one\u2028two", "a\x0bb"])["id"]
    kept = agent("note_get", id=note_id)["tags"]
    assert len(kept) == 2
    path = f"/notes/{note_id}/edit"
    form = ann.get(path).form(path)
    ann.submit(form, text="b", tags=form.fields["tags"] + "\n new ", action="save")
    assert sorted(agent("note_get", id=note_id)["tags"]) == sorted([*kept, "new"])
