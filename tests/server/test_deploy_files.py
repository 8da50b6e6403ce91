"""The files that docs/deploy.md gives an operator: what they start is started here as they say."""

from __future__ import annotations

import http.client
import os
import re
import shlex
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
import yaml

from rolltop.core import accounts
from rolltop.core.db import SYSTEM, Database, row_security
from tests.forks import Forked
from tests.server.processes import LEGACY, PATIENCE, Lines, rpc_request

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.postgresql import PostgreSQLServer

PACKAGING = Path(__file__).parents[2] / "packaging"
PUBLIC_NAME = "desk.example.org"


def compose_services() -> dict[str, tuple[list[str], dict[str, str]]]:
    """Return arguments and environment of each server process of the compose file."""
    services = yaml.safe_load((PACKAGING / "compose.yaml").read_text())["services"]
    return {
        f"compose {name}": (shlex.split(service["command"]), service["environment"])
        for name, service in services.items()
        if service["image"] == "rolltop"
    }


def systemd_service() -> tuple[list[str], dict[str, str]]:
    """Return arguments and environment of the unit; its file of secrets has the names."""
    lines = [
        line.partition("=") for line in (PACKAGING / "rolltop.service").read_text().split("\n")
    ]
    (command,) = (value for key, _, value in lines if key == "ExecStart")
    environment = dict(value.split("=", 1) for key, _, value in lines if key == "Environment")
    return shlex.split(command)[1:], environment | {"ROLLTOP_HTTP_ALLOWED_HOSTS": PUBLIC_NAME}


def kubernetes_pod() -> tuple[list[str], dict[str, str]]:
    """Return arguments and environment of the container."""
    deployment, *_others = yaml.safe_load_all((PACKAGING / "kubernetes.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return container["args"], {one["name"]: one.get("value", "") for one in container["env"]}


STARTED = {**compose_services(), "systemd": systemd_service(), "kubernetes": kubernetes_pod()}


def environment_of(given: Mapping[str, str], folder: Path, store: str) -> dict[str, str]:
    """Return the file's environment with what the operator fills in."""
    own = {name: PUBLIC_NAME if "ALLOWED_HOSTS" in name else text for name, text in given.items()}
    kept = {name: text for name, text in os.environ.items() if not name.startswith("ROLLTOP")}
    places = {"HOME": str(folder), "ROLLTOP_DATA_DIR": str(folder), "ROLLTOP_DATABASE_URL": store}
    return {**kept, **own, **places, "ROLLTOP_HTTP_DRAIN_SECONDS": "0s"}


def ask(host: str, name: str, path: str, token: str = "") -> int:
    """Return the status of a request that calls the server by that name."""
    body, headers = rpc_request("tools/list", era=LEGACY)
    connection = http.client.HTTPConnection(host, timeout=PATIENCE)
    headers = {**headers, "Host": name, "Authorization": f"Bearer {token}"}
    try:
        connection.request("POST" if token else "GET", path, body if token else None, headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("file", STARTED)
def test_what_a_file_starts_serves_tokens_under_its_public_name(
    file: str, migrated_url: str, tmp_path: Path
) -> None:
    arguments, given = STARTED[file]
    command = [
        "-m",
        "rolltop",
        *(one.replace(":8765", ":0").replace(":8766", ":0") for one in arguments),
    ]
    environment = environment_of(given, tmp_path, migrated_url)
    with Forked(command, folder=tmp_path, environment=environment) as process:
        assert process.wait() == 2
        assert "the store holds none" in process.communicate()[1]
    database = Database(migrated_url)
    user = database.write_sync(SYSTEM, accounts.add_user, "ann@example.org")
    token, _row = database.write_sync(SYSTEM, accounts.create_token, user.id, "hers")
    database.close()
    with Forked(command, folder=tmp_path, environment=environment) as process:
        log = Lines(process.stderr)
        port = urlsplit(log.until(r"url\W+(http\S+)/mcp")[1]).port
        host = f"127.0.0.1:{port}"
        assert [ask(host, name, "/mcp", token) for name in (PUBLIC_NAME, "other.example")] == [
            200,
            421,
        ]
        assert ask(host, PUBLIC_NAME, "/mcp", "wrong") == 401
        assert ask(host, PUBLIC_NAME, "/ready") == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
        log.rest()
        assert not [line for line in log.seen if "Ignored" in line]


def test_nginx_of_the_compose_file_passes_on_to_its_processes() -> None:
    services = yaml.safe_load((PACKAGING / "compose.yaml").read_text())["services"]
    written = services["nginx"]["command"][2].partition(" > ")[0]
    shipped = PACKAGING.parent / "docs" / "nginx.conf"
    command = written.replace("/etc/rolltop/nginx.conf", shlex.quote(str(shipped)))
    program = ["/bin/sh", "-c", command]
    text = subprocess.run(program, check=True, capture_output=True, text=True).stdout
    published = services["nginx"]["ports"][0].partition(":")[2]
    assert re.findall(r"listen (\S+);", text) == [published]
    passed_on = re.findall(r"server (\S+) max_fails", text)
    assert passed_on == [arguments[-1] for arguments, _ in compose_services().values()]


def test_the_compose_file_makes_a_role_that_policies_hold_for(
    own_postgresql_server: PostgreSQLServer,
) -> None:
    server = own_postgresql_server
    content = yaml.safe_load((PACKAGING / "compose.yaml").read_text())["configs"]["role"]["content"]
    environment = {
        "PATH": f"{server.programs}:/usr/bin:/bin",
        "PGHOST": str(server.folder / "socket"),
        "POSTGRES_PASSWORD": "it's $HOME",
    }
    script = content.replace("$$", "$")  # as Compose reads it
    subprocess.run(["/bin/sh", "-c", script], check=True, env=environment, capture_output=True)
    url = f"{server.url('desk', 'desk')}&password=it%27s%20%24HOME"
    database = Database(url)
    database.write_sync(SYSTEM, accounts.add_user, "ann@example.org")
    assert database.read_sync(SYSTEM, lambda tx: row_security.is_enforced(tx.connection))
    database.close()
