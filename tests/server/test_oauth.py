"""Tokens of an OpenID Connect issuer: who they let in, and how clients find where to get one."""

from __future__ import annotations

import asyncio
import base64
import hmac
import http.client
import json
import time
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from cryptography.hazmat.primitives import serialization

from rolltop.core import accounts, audit, workspaces
from rolltop.core.db import SYSTEM
from rolltop.core.errors import InvalidConfig, Unavailable
from rolltop.server.oauth import InvalidToken, TokenIssuer
from tests.server.apps import make_app
from tests.server.issuer import AUDIENCE, Issuer, Key
from tests.server.oauth_client import Storage, who_am_i
from tests.server.processes import MODERN, PATIENCE, HttpServer, free_port, rpc_request
from tests.server.test_auth import Accounts, status
from tests.server.test_rate_limits import Clock
from tests.server.test_workspaces import ask

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    """A running issuer."""
    with Issuer() as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Accounts]:
    """The accounts in the store below the test's folder."""
    made = Accounts(tmp_path)
    yield made
    made.database.close()


def serving(folder: Path, issuer: Issuer, **more: Any) -> HttpServer:
    """Return a server that takes the issuer's tokens and makes users by them."""
    settings = {
        "http__oauth_issuer": issuer.url,
        "http__public_url": AUDIENCE.removesuffix("/mcp"),
        "http__jwt_create_users": "on",
        **more,
    }
    return HttpServer(folder, **settings)


def who(server: HttpServer, token: str) -> Any:
    """Return whom the server takes the token's holder for."""
    return server.call("who_am_i", era=MODERN, token=token)["structuredContent"]


def test_clients_are_told_where_to_get_a_token(tmp_path: Path, issuer: Issuer) -> None:
    with serving(tmp_path, issuer) as server:
        for path in ("", "/mcp"):
            code, _, body = server.ask("GET", f"/.well-known/oauth-protected-resource{path}")
            assert code == 200
            assert json.loads(body)["authorization_servers"] == [issuer.url]
            assert json.loads(body)["resource"] == AUDIENCE
        body, headers = rpc_request("tools/list", era=MODERN)
        code, told, _ = server.ask("POST", "/mcp", body, headers)
        assert code == 401
        assert told["www-authenticate"] == (
            'Bearer resource_metadata="https://desk.example.org'
            '/.well-known/oauth-protected-resource/mcp", scope="read write"'
        )
        assert issuer.asked == []  # nothing was fetched before a token came
    with HttpServer(tmp_path) as server:
        assert server.ask("GET", "/.well-known/oauth-protected-resource")[0] == 404


def test_a_subject_is_one_user_from_the_first_call_on(
    tmp_path: Path, issuer: Issuer, store: Accounts
) -> None:
    with serving(tmp_path, issuer) as server:
        first = who(server, issuer.token())
        assert first["actor"] == "inspector"
        assert first["rights"] == ["read", "write"]
        assert who(server, issuer.token(email="new@example.org"))["user"] == first["user"]
        assert who(server, issuer.token(sub="ben-3"))["user"] != first["user"]
        assert server.ask("POST", "/mcp", *rpc_request("ping", era=MODERN))[0] == 401
        assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]
    emails = [user.email for user in store.database.read_sync(SYSTEM, accounts.list_users)]
    assert all(email.endswith("@127.0.0.1") for email in emails)


def test_only_a_verified_address_makes_somebody_a_user_who_is_there(
    tmp_path: Path, issuer: Issuer, store: Accounts
) -> None:
    ann = store.user("ann@example.org")
    with serving(tmp_path, issuer, http__jwt_create_users="off") as server:
        said = {"email": "Ann@Example.org"}
        taken = store.user("mark@example.org")
        kelvin = {"sub": "k", "email": "mar\u212a@example.org", "email_verified": True}
        assert taken
        for claims in (
            {},
            kelvin,
            said,
            said | {"email_verified": False},
            {"sub": "ann@example.org"},
        ):
            assert status(server, authorization=f"Bearer {issuer.token(**claims)}") == 403
        assert who(server, issuer.token(**said, email_verified=True))["user"] == ann
        assert who(server, issuer.token())["user"] == ann  # the subject is known now
        other = issuer.token(sub="x", email="eve@example.org", email_verified=True)
        assert status(server, authorization=f"Bearer {other}") == 403
    events = store.database.read_sync(SYSTEM, audit.list_events, 10)
    linked = [(one.actor, one.subject) for one in events if one.action == "user link"]
    assert linked == [(issuer.url, "ann@example.org")]


def test_callers_at_once_at_their_first_login_are_one_user(
    tmp_path: Path, issuer: Issuer, store: Accounts
) -> None:
    async def ask_all(url: str) -> set[str]:
        params: dict[str, Any] = {"name": "who_am_i", "arguments": {}}
        body, headers = rpc_request("tools/call", params, era=MODERN)
        headers["authorization"] = f"Bearer {issuer.token()}"
        async with httpx2.AsyncClient(timeout=PATIENCE) as client:
            url = f"http://{url}/mcp"
            calls = [client.post(url, content=body, headers=headers) for _ in range(8)]
            answers = await asyncio.gather(*calls)
        return {answer.json()["result"]["structuredContent"]["user"] for answer in answers}

    with serving(tmp_path, issuer) as server:
        assert len(asyncio.run(ask_all(server.host))) == 1
    events = store.database.read_sync(SYSTEM, audit.list_events, 10)
    assert [event.action for event in events] == ["user add"]


def test_tokens_that_are_not_valid_here_let_nobody_in(tmp_path: Path, issuer: Issuer) -> None:
    now = int(time.time())
    stranger = Key("one")
    public = (
        issuer.keys[0]
        .secret.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    body = (
        base64.urlsafe_b64encode(
            json.dumps({"iss": issuer.url, "sub": "x", "aud": AUDIENCE, "exp": now + 99}).encode()
        )
        .decode()
        .rstrip("=")
    )

    def forged(algorithm: str, signature: str = "") -> str:
        header = json.dumps({"alg": algorithm, "kid": "one"}).encode()
        return f"{base64.urlsafe_b64encode(header).decode().rstrip('=')}.{body}.{signature}"

    signed = hmac.digest(public, forged("HS256").rstrip(".").encode(), "sha256")
    wrong = {
        "audience": issuer.token(aud="https://elsewhere.example/mcp"),
        "no audience": issuer.token(aud=None),
        "issuer": issuer.token(iss="https://elsewhere.example"),
        "expired": issuer.token(exp=now - 120),
        "no expiry": issuer.token(exp=None),
        "not yet": issuer.token(nbf=now + 600),
        "no subject": issuer.token(sub=None),
        "empty subject": issuer.token(sub=""),
        "key": issuer.token(stranger),
        "unknown key": issuer.token(Key("two")),
        "none": forged("none"),
        "HS256": forged("HS256", base64.urlsafe_b64encode(signed).decode().rstrip("=")),
        "no JWT": "a.b.c",
        "words": "swordfish",
        "scope": issuer.token(scope=5),
        "lone surrogate": issuer.token(sub="\ud800"),
        "NUL": issuer.token(sub="x\0y"),
        "no time": issuer.token(exp=10**400),
        "deep": f"{base64.urlsafe_b64encode(b'[' * 9000).decode()}.{body}.",
    }
    with serving(tmp_path, issuer, http__wrong_token_limit=100) as server:
        late = issuer.token(exp=int(time.time()) - 1)  # within what clocks may differ
        assert status(server, authorization=f"Bearer {late}") == 200
        several = issuer.token(aud=["https://elsewhere.example", AUDIENCE])
        assert status(server, authorization=f"Bearer {several}") == 200
        answers = {
            name: status(server, authorization=f"Bearer {token}") for name, token in wrong.items()
        }
        assert answers == dict.fromkeys(wrong, 401)
        server.process.terminate()
        assert server.ends() == 0
        server.stderr.rest()
        assert "swordfish" not in "\n".join(server.stderr.seen)


def test_a_scope_that_was_not_granted_is_missing(tmp_path: Path, issuer: Issuer) -> None:
    with serving(tmp_path, issuer) as server:
        reading = issuer.token(scope="openid read")
        assert who(server, reading)["rights"] == ["read"]
        body, headers = rpc_request(
            "tools/call", {"name": "add_task", "arguments": {"title": "x"}}, era=MODERN
        )
        headers["authorization"] = f"Bearer {reading}"
        code, told, _ = server.ask("POST", "/mcp", body, headers)
        assert code == 403
        assert 'error="insufficient_scope"' in told["www-authenticate"]
        assert 'scope="read write"' in told["www-authenticate"]
        assert "resource_metadata=" in told["www-authenticate"]
        for other in ("openid", "admin", "admin openid"):
            assert status(server, authorization=f"Bearer {issuer.token(scope=other)}") == 403
        assert who(server, issuer.token(scope="read admin"))["rights"] == ["read"]
        assert who(server, issuer.token(scope="write"))["rights"] == ["read", "write"]
        assert who(server, issuer.token(scope=None, scp=["read"]))["rights"] == ["read"]
        for none in ({"scope": ""}, {"scope": [None]}):
            assert status(server, authorization=f"Bearer {issuer.token(**none)}") == 403
        assert status(server, authorization=f"Bearer {issuer.token(scope=None)}") == 403


def test_a_token_without_scopes_is_for_all_where_the_issuer_knows_none_of_ours(
    tmp_path: Path, issuer: Issuer
) -> None:
    issuer.metadata = {"scopes_supported": ["openid", ["read"]]}
    with serving(tmp_path, issuer) as server:
        assert who(server, issuer.token(scope=None))["rights"] == ["read", "write"]
        assert status(server, authorization=f"Bearer {issuer.token(scope='openid')}") == 403


def test_an_issuer_out_of_reach_lets_nobody_in_and_tokens_of_the_store_pass(
    tmp_path: Path, store: Accounts
) -> None:
    with Issuer() as gone:
        token = gone.token()
    plain, _ = store.token(store.user("ada@example.org"))
    with serving(tmp_path, gone) as server:
        assert status(server, authorization=f"Bearer {token}") == 503
        assert status(server, authorization=f"Bearer {plain}") == 200


def test_a_subject_works_in_a_workspace_by_name(
    tmp_path: Path, issuer: Issuer, store: Accounts
) -> None:
    ann = store.user("ann@example.org")
    owner = store.user("owner@example.org")
    space = store.database.write_sync(SYSTEM, workspaces.create_workspace, "harbour", owner)
    store.database.write_sync(SYSTEM, workspaces.set_member, space.id, ann, "viewer")
    token = issuer.token(email="ann@example.org", email_verified=True)
    with serving(tmp_path, issuer) as server:
        assert ask(server, token, "note_list", "harbour")[0] == 200
        assert ask(server, token, "note_save", "harbour", text="x")[0] == 403
        assert ask(server, token, "note_list", "elsewhere")[0] == 403


def test_the_stream_of_an_expired_token_ends(tmp_path: Path, issuer: Issuer) -> None:
    params = {"notifications": {"resourceSubscriptions": ["rolltop://thing/one"]}}
    with serving(tmp_path, issuer) as server:
        code, left, text = 0, 58, b""
        while code != 200:  # a token that is over before it arrives
            body, headers = rpc_request("subscriptions/listen", params, era=MODERN)
            token = issuer.token(exp=int(time.time()) - left)
            left -= 1
            stream = http.client.HTTPConnection(server.host, timeout=PATIENCE)
            stream.request("POST", "/mcp", body, headers | {"authorization": f"Bearer {token}"})
            answer = stream.getresponse()
            code = answer.status
            text = answer.read()
            stream.close()
        assert b"acknowledged" in text
        assert b"complete" in text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_sdks_client_gets_in_knowing_the_address_alone(
    tmp_path: Path, issuer: Issuer, mode: Any
) -> None:
    backs: list[str] = []

    def log_in(address: str) -> str:
        backs.append(httpx2.get(address).headers["location"])
        return backs[-1]

    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with serving(tmp_path, issuer, http__public_url=url, http__port=port):
        seen = asyncio.run(who_am_i(f"{url}/mcp", mode, Storage(), log_in))
    assert seen["rights"] == ["read", "write"]
    assert seen["actor"] == "c1"
    assert len(backs) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"http.oauth_issuer": "https://login.example.org"},
        {"http.oauth_issuer": "http://login.example.org", "http.public_url": "https://d.example"},
        {"http.oauth_issuer": "https://login.example.org", "http.public_url": "http://d.example"},
        {"http.oauth_issuer": "login", "http.public_url": "https://d.example"},
        {
            "http.oauth_issuer": "https://login.example.org",
            "http.public_url": "https://d.example",
            "http.auth": "off",
        },
    ],
)
def test_settings_that_do_not_go_together_stop_the_start(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    from rolltop.server.http import serve  # noqa: PLC0415  # loads the web server

    app = make_app(tmp_path, http=True, **{"http.port": 0, **changes})
    with pytest.raises(InvalidConfig):
        serve(app)
    app.context.database.close()


def make_issuer(tmp_path: Path, issuer: Issuer, clock: Clock) -> TokenIssuer:
    """Return what a server knows of the issuer, with its own time."""
    changes = {"http.oauth_issuer": issuer.url, "http.public_url": "https://desk.example.org"}
    app = make_app(tmp_path, http=True, **changes)
    return TokenIssuer(app.context.settings, clock)


def test_new_keys_are_fetched_when_tokens_name_them_and_not_more_often_than_twice_a_minute(
    tmp_path: Path, issuer: Issuer
) -> None:
    clock = Clock()
    known = make_issuer(tmp_path, issuer, clock)
    asyncio.run(known.verify(issuer.token()))
    old, new = issuer.keys[0], Key("two", "RS256")
    issuer.keys[:] = [new]
    for _ in range(5):
        with pytest.raises(InvalidToken):
            asyncio.run(known.verify(issuer.token(new)))
    assert issuer.asked.count("/keys") == 1
    clock.now += 31
    assert asyncio.run(known.verify(issuer.token(new))).subject == issuer.subject
    with pytest.raises(InvalidToken):
        asyncio.run(known.verify(issuer.token(old)))
    assert issuer.asked.count("/keys") == 2


@pytest.mark.parametrize("names_key", [True, False])
def test_a_silent_issuer_keeps_nobody_waiting_whose_key_is_known(
    tmp_path: Path, issuer: Issuer, *, names_key: bool
) -> None:
    clock = Clock()
    issuer.names_keys = names_key
    known = make_issuer(tmp_path, issuer, clock)
    token, new = issuer.token(), Key("two")

    async def verify_all() -> str:
        await known.verify(token)
        issuer.metadata = {"jwks_uri": None}  # it fails once, when the keys are too old
        clock.now += 3601
        await known.verify(token)
        clock.now += 31
        issuer.metadata, issuer.keys[1:] = {}, [new]
        issuer.is_answering.clear()
        await known.verify(token)
        issuer.names_keys = True
        issuer.is_answering.set()  # nobody gave up on it: the keys come after all
        return (await known.verify(issuer.token(new))).subject

    assert asyncio.run(verify_all()) == issuer.subject


def test_who_gives_up_waiting_for_the_issuer_ends_no_fetch_of_keys(
    tmp_path: Path, issuer: Issuer
) -> None:
    known = make_issuer(tmp_path, issuer, Clock())
    issuer.is_answering.clear()

    async def verify_both() -> str:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await known.verify(issuer.token())
        issuer.is_answering.set()
        return (await known.verify(issuer.token())).subject

    assert asyncio.run(verify_both()) == issuer.subject


def test_a_new_key_in_the_only_one_s_place_is_found_where_tokens_name_none(
    tmp_path: Path, issuer: Issuer
) -> None:
    clock = Clock()
    issuer.names_keys = False
    known = make_issuer(tmp_path, issuer, clock)
    asyncio.run(known.verify(issuer.token()))
    issuer.keys[:] = [Key("two")]
    clock.now += 31
    assert asyncio.run(known.verify(issuer.token())).subject == issuer.subject


def test_a_key_signs_by_its_algorithm_or_if_it_names_none_by_any_of_its_kind(
    tmp_path: Path, issuer: Issuer
) -> None:
    free, bound, curve = Key("free", "RS512", is_bound=False), Key("bound", "RS512"), Key("curve")
    issuer.keys[:] = [free, bound, curve]
    known = make_issuer(tmp_path, issuer, Clock())
    for key, algorithm, passes in (
        (free, "RS512", True),
        (free, "PS256", True),
        (bound, "RS512", True),
        (bound, "RS256", False),
        (curve, "ES256", True),
    ):
        key.algorithm = algorithm
        token = issuer.token(key)
        if passes:
            assert asyncio.run(known.verify(token)).subject == issuer.subject
        else:
            with pytest.raises(InvalidToken):
                asyncio.run(known.verify(token))
    curve.id, curve.algorithm = "free", "ES256"  # of another kind than the key it names
    with pytest.raises(InvalidToken):
        asyncio.run(known.verify(issuer.token(curve)))


@pytest.mark.parametrize("path", ["", "/", "/realms/harbour"])
def test_the_metadata_may_be_where_issuers_of_oauth_alone_have_it(
    tmp_path: Path, issuer: Issuer, path: str
) -> None:
    issuer.metadata = {"jwks_uri": f"{issuer.url}/keys"}
    issuer.discovery = f"/.well-known/oauth-authorization-server{path.rstrip('/')}"
    issuer.url += path
    known = make_issuer(tmp_path, issuer, Clock())
    assert asyncio.run(known.verify(issuer.token())).subject == issuer.subject


def test_the_log_says_why_an_issuer_is_not_trusted(tmp_path: Path, issuer: Issuer) -> None:
    issuer.metadata = {"issuer": f"{issuer.url}/"}
    with serving(tmp_path, issuer) as server:
        assert status(server, authorization=f"Bearer {issuer.token()}") == 503
        server.stderr.until(r"not fetched.* why=.the metadata names another issuer")


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://elsewhere.example"},
        {"jwks_uri": "http://elsewhere.example/keys"},
        {"jwks_uri": None},
        {"padding": "x" * (2 << 20)},
    ],
)
def test_metadata_of_another_issuer_or_without_https_is_not_trusted(
    tmp_path: Path, issuer: Issuer, metadata: dict[str, Any]
) -> None:
    issuer.metadata = metadata
    known = make_issuer(tmp_path, issuer, Clock())
    with pytest.raises(Unavailable):
        asyncio.run(known.verify(issuer.token()))
    assert "/keys" not in issuer.asked


def test_who_brings_a_good_token_is_not_kept_out_by_wrong_ones_from_the_same_address(
    tmp_path: Path, issuer: Issuer
) -> None:
    with serving(tmp_path, issuer, http__wrong_token_limit=2) as server:
        codes = [status(server, authorization=f"Bearer a.b.{n}") for n in range(4)]
        assert codes == [401, 401, 429, 429]
        assert status(server, authorization=f"Bearer {issuer.token()}") == 200
        expired = issuer.token(exp=int(time.time()) - 3600)  # its client has to hear that
        assert status(server, authorization=f"Bearer {expired}") == 401


def test_an_address_that_cannot_be_kept_is_none(tmp_path: Path, issuer: Issuer) -> None:
    with serving(tmp_path, issuer) as server:
        for number, email in enumerate(("no address", f"{'x' * 300}@example.org", "a@b\0")):
            token = issuer.token(sub=f"s{number}", email=email, email_verified=True)
            assert who(server, token)["rights"] == ["read", "write"]


def test_the_stream_of_somebody_who_left_ends(
    tmp_path: Path, issuer: Issuer, store: Accounts
) -> None:
    ann = store.user("ann@example.org")
    owner = store.user("owner@example.org")
    space = store.database.write_sync(SYSTEM, workspaces.create_workspace, "harbour", owner)
    store.database.write_sync(SYSTEM, workspaces.set_member, space.id, ann, "viewer")
    token = issuer.token(email="ann@example.org", email_verified=True)
    params = {"notifications": {"resourceSubscriptions": ["rolltop://thing/one"]}}
    with serving(tmp_path, issuer) as server:
        body, headers = rpc_request("subscriptions/listen", params, era=MODERN)
        headers |= {"authorization": f"Bearer {token}", "rolltop-workspace": "harbour"}
        stream = http.client.HTTPConnection(server.host, timeout=PATIENCE)
        stream.request("POST", "/mcp", body, headers)
        answer = stream.getresponse()
        assert b"acknowledged" in answer.readline() + answer.readline()
        store.database.write_sync(SYSTEM, workspaces.remove_member, space.id, ann)
        assert b"complete" in answer.read()
        stream.close()
