"""People log in at an issuer that we did not write, oidc-provider, by the SDKs' own OAuth clients.

The issuer registers clients, asks for a login and for consent, insists on PKCE, and signs access
tokens for the resource that the client names.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from contextlib import closing, contextmanager
from typing import IO, TYPE_CHECKING, Any, Final, cast
from urllib.parse import urljoin

import httpx2
import pytest

from rolltop.server.oauth import InvalidToken, TokenIssuer
from tests.conformance.programs import HERE, NODE, environment, free_port
from tests.conformance.witness_clients import CLIENTS, target
from tests.server.apps import make_app
from tests.server.oauth_client import CALLBACK, Storage, who_am_i
from tests.server.processes import LEGACY, MODERN, PATIENCE, HttpServer, Lines
from tests.server.test_auth import Accounts, status
from tests.server.test_rate_limits import Clock

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

STEPS: Final = 12
"""Pages and redirects of one login are fewer."""
ALGORITHMS: Final = [
    *(f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)),
    "EdDSA",
    "Ed25519",
]
"""What it signs with, save post-quantum signatures."""


class Issuer:
    """A running issuer."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._orders = cast("IO[bytes]", process.stdin)
        self._said = Lines(cast("IO[bytes]", process.stdout))
        self.url = self._said.until(r"^http\S+$")[0]

    def order(self, line: str) -> None:
        """Let the issuer do what `issuer.mjs` says of the line."""
        self._orders.write(f"{line}\n".encode())
        self._orders.flush()
        self._said.until("^done$")

    def token(
        self,
        resource: str,
        scope: str = "read write",
        *,
        algorithm: str = "RS256",
        behind: int = 0,
    ) -> str:
        """Return a token for a new program; the issuer's clock is so many seconds behind."""
        self.order(f"sign {algorithm}")
        client = self._post(
            "reg",
            json={
                "grant_types": ["client_credentials"],
                "response_types": [],
                "redirect_uris": [],
                "token_endpoint_auth_method": "client_secret_post",
            },
        )
        asked = {
            "grant_type": "client_credentials",
            "client_id": client["client_id"],
            "client_secret": client["client_secret"],
            "resource": resource,
            "scope": scope,
        }
        self.order(f"behind {behind}")
        token = self._post("token", data=asked)["access_token"]
        self.order("behind 0")
        return token

    def _post(self, path: str, **body: Any) -> dict[str, Any]:
        answer = httpx2.post(f"{self.url.rstrip('/')}/{path}", timeout=PATIENCE, **body)
        assert answer.is_success, answer.text
        return answer.json()


@contextmanager
def issuing(folder: Path, path: str = "") -> Generator[Issuer]:
    """A running issuer with that path in its name."""
    with subprocess.Popen(
        [NODE, HERE / "issuer.mjs", path],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            yield Issuer(process)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Issuer]:
    """A running issuer whose name is its host alone."""
    with issuing(tmp_path_factory.mktemp("issuer")) as running:
        yield running


@contextmanager
def serving(folder: Path, issuer: Issuer) -> Generator[HttpServer]:
    """A server that takes the issuer's tokens and makes users by them."""
    port = free_port()
    settings = {
        "http__port": port,
        "http__public_url": f"http://127.0.0.1:{port}",
        "http__oauth_issuer": issuer.url,
        "http__jwt_create_users": "on",
        "http__wrong_token_limit": 100,
    }
    with HttpServer(folder, **settings) as server:
        yield server


def address(server: HttpServer) -> str:
    """The address that tokens have to be for."""
    return f"http://{server.host}/mcp"


def log_in(start: str) -> str:
    """Log in as ann and consent, as a browser would; return where the issuer sends it back to."""
    with httpx2.Client(timeout=PATIENCE) as browser:
        answer = browser.get(start)
        for _ in range(STEPS):
            if answer.is_redirect:
                place = urljoin(str(answer.url), answer.headers["location"])
                if place.startswith(CALLBACK):
                    return place
                answer = browser.get(place)
                continue
            form = re.search(r'(?s)action="([^"]+)".* name="prompt" value="(\w+)"', answer.text)
            assert form, answer.text
            filled = {"prompt": form[2], "login": "ann", "password": "any"}
            answer = browser.post(form[1], data=filled)
    raise AssertionError(f"no way back in {STEPS} steps: {answer.url}")


def use_typescript(client: str, mode: str, server: HttpServer, folder: Path) -> dict[str, Any]:
    """What `who_am_i` answers a TypeScript client after a login."""
    given = target(client, mode, url=address(server), login=True)
    calls = json.dumps([{"name": "who_am_i", "arguments": {}}])
    with subprocess.Popen(
        [NODE, HERE / "clients" / f"{client}.mjs", given, calls],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        said = Lines(cast("IO[bytes]", process.stdout))
        back = log_in(said.until(r"^http\S+$")[0])
        orders = cast("IO[bytes]", process.stdin)
        orders.write(f"{back}\n".encode())
        orders.flush()
        (result,) = json.loads(said.until(r'^\{"tools".*$')[0])["results"]
    return result["result"]["structuredContent"]


def use_python(mode: str, issuer: Issuer, folder: Path) -> None:
    """Get in by the Python SDK's client, as the user whose address the issuer has verified."""
    store, storage = Accounts(folder), Storage()
    with closing(store.database), serving(folder, issuer) as server:
        ann = store.user("ann@example.org")
        seen = asyncio.run(who_am_i(address(server), mode, storage, log_in))
    assert storage.client is not None
    assert seen["user"] == ann
    assert seen["actor"] == storage.client.client_id
    assert seen["rights"] == ["read", "write"]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_python_sdks_client_gets_in_knowing_the_address_alone(
    tmp_path: Path, issuer: Issuer, mode: str
) -> None:
    use_python(mode, issuer, tmp_path)


@pytest.mark.parametrize("path", ["/", "/realms/harbour"])
def test_an_issuer_may_have_a_path_in_its_name(tmp_path: Path, path: str) -> None:
    with issuing(tmp_path, path) as issuer:
        use_python("auto", issuer, tmp_path)


@pytest.mark.parametrize(("client", "mode"), CLIENTS)
def test_the_typescript_sdks_clients_get_in_knowing_the_address_alone(
    tmp_path: Path, issuer: Issuer, client: str, mode: str
) -> None:
    with serving(tmp_path, issuer) as server:
        seen = use_typescript(client, mode, server, tmp_path)
    assert seen["rights"] == ["read", "write"]


def test_of_its_tokens_those_for_this_server_pass_while_they_are_valid(
    tmp_path: Path, issuer: Issuer
) -> None:
    with serving(tmp_path, issuer) as server:
        here = address(server)
        good, reading = issuer.token(here), issuer.token(here, "read")
        head, body, signature = good.split(".")
        passing = [good, reading, issuer.token(here, behind=330), issuer.token(here, behind=-30)]
        refused = {
            "expired": issuer.token(here, behind=420),
            "for another": issuer.token("https://elsewhere.example/mcp"),
            "for the host alone": issuer.token(here.removesuffix("/mcp")),
            "other words": ".".join([head, body, reading.split(".")[2]]),
            "tampered": f"{head}.{body}.{signature[:9]}{'AB'[signature[9] == 'A']}{signature[10:]}",
        }
        assert [status(server, authorization=f"Bearer {one}") for one in passing] == [200] * 4
        nothing = issuer.token(here, "openid")  # a token without a claim of scopes
        assert status(server, authorization=f"Bearer {nothing}") == 403
        answers = {
            why: status(server, authorization=f"Bearer {one}") for why, one in refused.items()
        }
        assert answers == dict.fromkeys(refused, 401)
        rights = [
            server.call("who_am_i", era=era, token=one)["structuredContent"]["rights"]
            for era in (LEGACY, MODERN)
            for one in (good, reading)
        ]
        assert rights == [["read", "write"], ["read"]] * 2


def known(folder: Path, issuer: Issuer, clock: Clock) -> TokenIssuer:
    """What a server knows of the issuer, with its own time."""
    changes = {"http.oauth_issuer": issuer.url, "http.public_url": "https://desk.example.org"}
    return TokenIssuer(make_app(folder, http=True, **changes).context.settings, clock)


def test_every_algorithm_of_its_tokens_is_understood(tmp_path: Path, issuer: Issuer) -> None:
    server = known(tmp_path, issuer, Clock())
    for algorithm in ALGORITHMS:
        token = issuer.token(server.resource, algorithm=algorithm)
        assert asyncio.run(server.verify(token)).scopes == {"read", "write"}


def test_its_keys_may_change_any_day(tmp_path: Path, issuer: Issuer) -> None:
    clock = Clock()
    server = known(tmp_path, issuer, clock)
    old = issuer.token(server.resource)
    asyncio.run(server.verify(old))
    issuer.order("rotate")
    new = issuer.token(server.resource)
    with pytest.raises(InvalidToken):  # nobody makes the server ask for keys at any rate
        asyncio.run(server.verify(new))
    clock.now += 31
    for token in (new, old):
        asyncio.run(server.verify(token))
    issuer.order("forget")
    clock.now += 3601
    asyncio.run(server.verify(new))
    with pytest.raises(InvalidToken):
        asyncio.run(server.verify(old))
