"""Who gets in, and what the others see."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from rolltop.core import accounts, audit, logging, workspaces
from rolltop.core.db import SYSTEM
from tests.server.issuer import AUDIENCE, Issuer
from tests.web.visitor import HOST, Site, Visitor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CELL = {"language": "md", "content": "text"}
PAGES = ["/", "/search?q=secret", "/journal", "/journal/1", "/undo?operation=12345678"]


@pytest.fixture
def make_site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    made: list[Site] = []

    def make(**settings: Any) -> Site:
        made.append(Site(tmp_path, **settings))
        return made[-1]

    yield make
    for site in made:
        site.close()


def new_token(site: Site, *, read_only: bool = False) -> tuple[str, str]:
    """Return a token's plain text and its id."""
    user = site.app.database.write_sync(SYSTEM, accounts.ensure_default_user)
    plain, token = site.app.database.write_sync(
        SYSTEM, accounts.create_token, user.id, "laptop", None, read_only=read_only
    )
    return plain, token.id


@pytest.mark.parametrize("path", PAGES)
def test_without_a_login_a_page_says_how_to_get_one_and_nothing_else(site: Site, path: str) -> None:
    site.agent()("add_task", title="a secret")
    page = Visitor(site).get(path)
    assert page.status == 401
    assert "rolltop open --at http://127.0.0.1:8765" in page.text
    assert ("secret" in page.text, page.links()) == (False, ["#main", "/"])


def test_a_link_lets_in_once(site: Site) -> None:
    link = site.link()
    ann, bob = Visitor(site), Visitor(site)
    assert "You are logged in" in ann.get(link).text
    assert ann.get("/").status == 200
    page = bob.get(link)
    assert (page.status, "The link is used" in page.text) == (401, True)
    assert bob.get("/").status == 401
    again = ann.get(link)
    assert (again.status, again.headers["location"]) == (303, "/")


def test_who_asks_for_headers_alone_does_not_use_up_the_link(site: Site) -> None:
    link = site.link()
    assert site.ask("HEAD", link, {"Host": HOST})[0] == 401
    assert Visitor(site).get(link).status == 200


def test_the_cookie_is_for_this_site_alone_and_no_script_reads_it(ann: Visitor) -> None:
    cookie = ann.set_cookies[-1]
    assert cookie.startswith("rolltop_page_8765=")
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))


def test_what_another_site_leads_to_or_sends_ends_no_session(site: Site) -> None:
    from_elsewhere = {"Host": HOST, "Accept": "text/html", "Sec-Fetch-Site": "cross-site"}
    for path in ("/tasks", "/login"):
        status, headers, body = site.ask("GET", path, from_elsewhere)
        assert (status, "set-cookie" in dict(headers)) == (200, False)
        assert b'<meta http-equiv="refresh" content="0">' in body
    sent = {**from_elsewhere, "Origin": "http://localhost:3000"}
    status, headers, _ = site.ask("POST", "/tasks/add", sent, b"title=x")
    assert (status, "set-cookie" in dict(headers)) == (403, False)
    link = site.link()
    status, headers, _ = site.ask("GET", link, from_elsewhere)
    assert (status, "set-cookie" in dict(headers)) == (200, True)
    # Followed once more, from there: who is logged in by it would be told that it is used.
    status, headers, body = site.ask("GET", link, from_elsewhere)
    assert (status, "set-cookie" in dict(headers)) == (200, False)
    assert b'<meta http-equiv="refresh" content="0">' in body


@pytest.mark.parametrize(
    ("host", "origin", "is_own"),
    [
        ("localhost:443", "https://localhost", True),
        ("LocalHost:80", "http://localhost", True),
        ("localhost:443", "http://localhost", False),
        ("localhost", "https://localhost:8443", False),
    ],
)
def test_a_proxy_may_add_the_port_of_its_scheme_to_the_host(
    site: Site, host: str, origin: str, *, is_own: bool
) -> None:
    token, _id = new_token(site)
    headers = {"Host": host, "Origin": origin, "Accept": "text/html"}
    _, answered, body = site.ask("GET", "/login", headers)
    headers["Cookie"] = dict(answered)["set-cookie"].partition(";")[0]
    secret = re.findall(r'name="csrf" value="([^"]+)"', body.decode())[0]
    form = urlencode({"csrf": secret, "token": token}).encode()
    status, answered, _ = site.ask("POST", "/login", headers, form)
    assert (status, "set-cookie" in dict(answered)) == ((303, True) if is_own else (403, False))


def test_a_host_may_be_allowed_with_its_port(make_site: Callable[..., Site]) -> None:
    site = make_site(**{"http.allowed_hosts": ["desk.example.org:443"]})
    sent = {"Host": "desk.example.org:443", "Origin": "https://desk.example.org"}
    assert site.ask("POST", "/notes/new", sent, b"text=x")[0] == 401


def test_a_token_is_exchanged_for_a_session_that_ends_with_it(site: Site) -> None:
    plain, token_id = new_token(site)
    ann = Visitor(site)
    form = ann.get("/").form("/login")
    page = ann.submit(form, token="rt_made_up")  # noqa: S106  # none
    assert (page.status, "unknown, expired or revoked" in page.text) == (401, True)
    form = page.form("/login")
    assert ann.submit(form, token=plain).status == 200
    assert plain not in "".join(ann.set_cookies)
    user = site.app.database.write_sync(SYSTEM, accounts.ensure_default_user)
    site.app.database.write_sync(SYSTEM, accounts.revoke_token, user.id, token_id)
    assert ann.get("/").status == 401


@pytest.mark.usefixtures("logging_restored")
def test_the_log_says_who_logged_in_and_who_was_refused(site: Site, tmp_path: Path) -> None:
    log = tmp_path / "log"
    logging.configure(file=log)
    link = site.link()
    for _ in range(2):
        Visitor(site).get(link)
    plain, token_id = new_token(site)
    ann = Visitor(site)
    form = ann.get("/").form("/login")
    for token in ("guessed-secret", plain):
        ann.submit(form, token=token)
    lines = [line for line in log.read_text().splitlines() if "log" in line.partition(" pid=")[0]]
    assert [line.split('"')[1] for line in lines] == [
        "logged in",
        "login refused",
        "login refused",
        "logged in",
    ]
    assert f"token_id={token_id}" in lines[-1]
    for secret in ("guessed-secret", plain, link.partition("=")[2]):
        assert secret not in log.read_text()
    kept = site.app.database.read_sync(SYSTEM, audit.list_events, 10)
    entered = ("default@localhost", "login", "the page, from 127.0.0.1")
    assert [(event.actor, event.action, event.subject) for event in kept] == [entered] * 2


def test_wrong_tokens_are_limited_at_the_login_too(make_site: Callable[..., Site]) -> None:
    site = make_site(http__wrong_token_limit=2)
    plain, _ = new_token(site)
    ann = Visitor(site)
    form = ann.get("/").form("/login")
    assert ann.submit(form, token=plain).status == 200
    stranger = Visitor(site)
    form = stranger.get("/").form("/login")
    for number in range(2):
        assert stranger.submit(form, token=f"rt_{number}").status == 401
    page = stranger.submit(form, token="rt_3")  # noqa: S106  # none
    assert (page.status, "Too many wrong tokens" in page.text) == (429, True)
    assert int(page.headers["retry-after"]) > 0
    assert ann.get("/").status == 200


def test_a_token_of_the_issuer_is_told_from_a_wrong_one(make_site: Callable[..., Site]) -> None:
    with Issuer() as issuer:
        given = {"http__oauth_issuer": issuer.url, "http__wrong_token_limit": 1}
        ann = Visitor(make_site(**given, http__public_url=AUDIENCE.removesuffix("/mcp")))
        form = ann.get("/").form("/login")
        for _ in range(2):
            page = ann.submit(form, token=issuer.token())
            assert (page.status, "rolltop token create EMAIL" in page.text) == (401, True)
            assert "Tokens of the issuer are for clients" in page.text
            form = page.form("/login")
        assert ann.submit(form, token="wrong").status == 401  # noqa: S106  # none
        assert ann.submit(form, token="wrong").status == 429  # noqa: S106  # none


def test_a_token_is_not_called_wrong_while_its_issuer_is_out_of_reach(
    make_site: Callable[..., Site],
) -> None:
    with Issuer() as issuer:
        token = issuer.token()
        given = {"http__oauth_issuer": issuer.url}
        ann = Visitor(make_site(**given, http__public_url=AUDIENCE.removesuffix("/mcp")))
    page = ann.submit(ann.get("/").form("/login"), token=token)
    assert (page.status, "expired" in page.text) == (503, False)


def test_a_sessions_requests_count_for_its_token(
    make_site: Callable[..., Site], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    logging.configure(file=log)
    site = make_site(http__rate_limit=4)
    ann, bob = Visitor(site), Visitor(site)
    ids: list[str] = []
    for visitor in (ann, bob):
        plain, token_id = new_token(site)
        ids.append(token_id)
        visitor.submit(visitor.get("/").form("/login"), token=plain)
    pages = [ann.get("/notes") for _ in range(4)]
    assert (pages[0].status, pages[-1].status) == (200, 429)
    assert "4 requests a minute" in pages[-1].text
    assert int(pages[-1].headers["retry-after"]) > 0
    refused = [line for line in log.read_text().splitlines() if "request refused" in line]
    assert "status=429" in refused[-1]
    user = site.app.database.write_sync(SYSTEM, accounts.ensure_default_user).id
    assert f"address=127.0.0.1 path=other user_id={user} token_id={ids[0]}" in refused[-1]
    assert bob.get("/notes").status == 200


def test_a_link_is_worth_nothing_where_a_token_is_needed(make_site: Callable[..., Site]) -> None:
    site = make_site()
    ann = Visitor(site)
    ann.log_in()
    new_token(site)
    for visitor in (ann, Visitor(site)):
        assert visitor.get(site.link()).status == 401
        assert "Token" in visitor.get("/").text
    own = make_site(trusts_links=True)  # as `rolltop open` serves
    assert Visitor(own).log_in().status == 200


def test_a_link_to_a_workspace_is_its_makers_and_of_use_there_alone(
    make_site: Callable[..., Site],
) -> None:
    ann, bob = "ann@example.org", "bob@example.org"
    database = make_site().app.database
    ids = [database.write_sync(SYSTEM, accounts.add_user, email).id for email in (ann, bob)]
    space = database.write_sync(SYSTEM, workspaces.create_workspace, "harbour", ids[0]).id
    database.write_sync(SYSTEM, workspaces.set_member, space, ids[1], "editor")
    own, shared = make_site(user=ann), make_site(user=ann, workspace="harbour")
    link, visitor = shared.link(), Visitor(shared)
    assert [Visitor(own).get(link).status, visitor.get(own.link()).status] == [401, 401]
    assert visitor.get(link).status == 200, "it was not used up"
    (entered,) = database.read_sync(SYSTEM, audit.list_events, 1)
    assert (entered.actor, entered.action) == (ann, "login")
    shared.agent(space)("add_task", title="buoys")
    assert "buoys" in visitor.get("/").text
    visitor.site = make_site(user=bob, workspace="harbour")
    assert "buoys" not in visitor.get("/").text


def test_the_token_in_the_settings_lets_in_until_it_is_changed(
    make_site: Callable[..., Site],
) -> None:
    ann = Visitor(make_site(http__bearer_token="old-secret"))  # noqa: S106  # none
    assert ann.submit(ann.get("/").form("/login"), token="old-secret").status == 200  # noqa: S106
    ann.site = make_site(http__bearer_token="old-secret")  # noqa: S106
    assert ann.get("/").status == 200
    ann.site = make_site(http__bearer_token="new-secret")  # noqa: S106
    assert ann.get("/").status == 401


def test_logging_out_ends_the_session_for_whoever_has_its_cookie(ann: Visitor) -> None:
    thief = Visitor(ann.site)
    thief.cookies = dict(ann.cookies)
    assert thief.get("/").status == 200
    page = ann.submit(ann.get("/").form("/logout"))
    assert page.status == 401
    assert [visitor.get("/").status for visitor in (ann, thief)] == [401, 401]


def test_a_token_to_read_with_shows_all_and_changes_nothing(site: Site) -> None:
    site.agent()("add_task", title="a task")
    plain, _ = new_token(site, read_only=True)
    ann = Visitor(site)
    page = ann.submit(ann.get("/").form("/login"), token=plain)
    assert "a task" in page.text
    assert [form.action for form in page.forms if form.method == "post"] == ["/logout"]
    assert not [link for link in page.links() if link.startswith("/undo")]
    assert ann.get("/undo?since=0&actor=claude").status == 404


def test_who_may_only_read_sees_the_trash_and_no_editor(site: Site) -> None:
    agent = site.agent()
    task_id = agent("add_task", title="a lost task")["data"]["task_id"]
    agent("delete_task", task_id=task_id)
    note_id = agent("note_save", text="a lost note")["id"]
    agent("note_manage", action="trash", id=note_id, local_version=1)
    lost, pad = (
        agent("scratch_create", metadata={"title": title}, cells=[CELL])["scratchpad"]
        for title in ("a lost pad", "a pad")
    )
    agent("scratch_delete", scratch_id=lost["scratch_id"])
    plain, _ = new_token(site, read_only=True)
    ann = Visitor(site)
    ann.submit(ann.get("/").form("/login"), token=plain)
    trash = ann.get("/trash")
    for title in ("a lost task", "a lost note", "a lost pad"):
        assert title in trash.text
    assert [form.action for form in trash.forms if form.method == "post"] == ["/logout"]
    assert ann.get("/trash?pads=nowhere").status == 400
    path = f"/pads/{pad['scratch_id']}"
    assert ann.get(path).status == 200
    editors = ("/notes/new", f"{path}/new", f"{path}/cells/{pad['cells'][0]['cell_id']}")
    assert [ann.get(editor).status for editor in editors] == [404] * 3


def test_what_somebody_typed_who_may_only_read_since_then_is_shown(site: Site) -> None:
    write = site.app.database.write_sync
    owner, member = (write(SYSTEM, accounts.add_user, f"{name}@example.org").id for name in "ab")
    space = write(SYSTEM, workspaces.create_workspace, "harbour", owner).id
    write(SYSTEM, workspaces.set_member, space, member, "editor")
    plain, _ = write(SYSTEM, accounts.create_token, member, "laptop", workspace_names=["harbour"])
    ben = Visitor(site)
    ben.submit(ben.get("/").form("/login"), token=plain)
    page = ben.submit(ben.get("/tasks").form("/tasks/add"), title="Buy milk")
    form = next(form for form in page.forms if "description" in form.fields)
    write(SYSTEM, workspaces.set_member, space, member, "viewer")
    page = ben.submit(form, description="three litres", action="save")
    assert (page.status, "may only read" in page.text) == (404, True)
    assert page.form(form.action).fields["description"] == "three litres"


def test_a_form_of_another_page_is_refused(ann: Visitor) -> None:
    form = ann.get("/").form("/logout")
    other = Visitor(ann.site)
    other.log_in()
    theirs = other.get("/").form("/logout")
    for csrf, origin in (
        ("", "http://127.0.0.1:8765"),
        (theirs.fields["csrf"], "http://127.0.0.1:8765"),
        (form.fields["csrf"], "http://evil.example"),
        (form.fields["csrf"], "http://127.0.0.1:9999"),
        (form.fields["csrf"], "null"),
    ):
        page = ann.submit(form, {"Origin": origin}, csrf=csrf)
        assert (page.status, "not of this session" in page.text) == (403, True)
    assert ann.get("/").status == 200
    assert ann.submit(form, {"Origin": "http://127.0.0.1:8765"}).status == 401


def test_a_token_that_was_typed_is_not_shown(site: Site) -> None:
    new_token(site)
    stranger = Visitor(site)
    login = stranger.get("/login").form("/login")
    page = stranger.submit(login, token="rt_secret", csrf="")  # noqa: S106  # none
    assert (page.status, "rt_secret" in page.body) == (403, False)


def test_a_stranger_may_not_send_large_forms(site: Site) -> None:
    stranger = Visitor(site)
    form = stranger.get("/login").forms
    assert form == []  # there is nothing to send without a token
    new_token(site)
    login = stranger.get("/login").form("/login")
    assert stranger.submit(login, token="x" * 20_000).status == 413
