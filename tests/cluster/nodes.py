"""Three PostgreSQL nodes under Patroni, one etcd and HAProxy, as docs/scaling.md sets them up.

All on the loopback. One etcd, since it is databases that die here.
"""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import subprocess
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil
import psycopg
import yaml

from tests.browsers.conftest import free_port, wait_for
from tests.postgresql import OWNER, SUPERUSER, PostgreSQLServer, new_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

DOCS: Final = Path(__file__).parents[2] / "docs"
NAMES: Final = ("one", "two", "three")
PATIENCE: Final = 120.0
"""Seconds in which whatever is waited for has happened: three nodes start on two cores."""
_NOBODY: Final = 65534 if os.geteuid() == 0 else None  # PostgreSQL and Patroni refuse to be root
_PAUSE: Final = 0.3
_ANSWER: Final = 2.0  # seconds in which a node that is alive says what it is


class Node:
    """One node: Patroni, and the PostgreSQL that it runs."""

    def __init__(self, name: str, folder: Path, etcd: str, programs: Path) -> None:
        self.folder = folder / name
        self.folder.mkdir(mode=0o700)
        self.port, self.state_port = free_port(), free_port()
        settings: dict[str, Any] = yaml.safe_load((DOCS / "patroni.yml").read_text())
        address, state = f"127.0.0.1:{self.port}", f"127.0.0.1:{self.state_port}"
        settings["name"] = name
        settings["etcd3"]["hosts"] = [etcd]
        settings["restapi"] = {"listen": state, "connect_address": state}
        self._postgresql: dict[str, Any] = settings["postgresql"]
        self._postgresql |= {
            "listen": address,
            "connect_address": address,
            "data_dir": str(self.folder / "data"),
            "bin_dir": str(programs),
            "pgpass": str(self.folder / "pgpass"),
            "parameters": {"unix_socket_directories": str(self.folder), "shared_buffers": "32MB"},
        }
        self._conf = self.folder / "patroni.yml"
        self._conf.write_text(yaml.safe_dump(settings))
        self._log = self.folder / "log"
        self._log.touch()
        if _NOBODY is not None:
            for place in (self.folder, self._conf, self._log):
                os.chown(place, _NOBODY, _NOBODY)
        self._patroni: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start Patroni, which starts PostgreSQL as what it is to be now."""
        with self._log.open("ab") as log:
            self._patroni = subprocess.Popen(
                ["/usr/bin/patroni", str(self._conf)],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={"PATH": os.environ.get("PATH", ""), "HOME": str(self.folder), "LANG": "C"},
                user=_NOBODY,
                group=_NOBODY,
                extra_groups=None if _NOBODY is None else [],
            )

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal to every process of the node, as a machine takes them all with it."""
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        if number == signal.SIGKILL and self._patroni is not None:
            self._patroni.wait()

    def stop(self) -> None:
        """Kill it, and what it starts meanwhile."""
        while self._processes():
            self.send_signal(signal.SIGKILL)

    def says(self, state: str) -> bool:
        """Whether it is in a state: `primary`, `sync` (the second copy) or `replica`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.state_port, timeout=_ANSWER)
        try:
            connection.request("GET", f"/{state}")
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            return False
        else:
            return response.status == http.HTTPStatus.OK
        finally:
            connection.close()

    def password(self, user: str) -> str:
        """Return the password of `superuser` or `replication`."""
        return self._postgresql["authentication"][user]["password"]

    @property
    def last_words(self) -> str:
        """The end of what Patroni and PostgreSQL have said."""
        lines = self._log.read_text(errors="replace").splitlines()
        return "\n".join([line for line in lines if ": " in line[23:45]][-20:])

    def _processes(self) -> list[psutil.Process]:
        """Return all that runs in the node's folder: PostgreSQL's processes do so in its data."""
        found: list[psutil.Process] = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if Path(process.cwd()).is_relative_to(self.folder):
                    found.append(process)
        return found


class Cluster:
    """The nodes, and the one address at which the leader is found."""

    def __init__(self, nodes: Sequence[Node], port: int) -> None:
        self.nodes = nodes
        self.port = port
        self.url = f"postgresql://{OWNER}:secret@127.0.0.1:{port}/desk"

    def leader(self) -> Node | None:
        """Return the node that says that it leads."""
        return next((node for node in self.nodes if node.says("primary")), None)

    def wait_for_leader(self) -> Node:
        """Return the one leader once another node has all that it acknowledges, and all follow."""
        self.wait_until(self._is_whole, "three nodes that follow one leader")
        found = self.leader()
        assert found is not None
        return found

    def wait_until(self, condition: Callable[[], object], what: str) -> None:
        """Wait until the condition holds; fails with the nodes' last words."""
        end, pause = time.monotonic() + PATIENCE, threading.Event()
        while not condition():
            if time.monotonic() > end:
                raise AssertionError("\n\n".join([what, *(node.last_words for node in self.nodes)]))
            pause.wait(_PAUSE)

    def connect(self, database: str) -> psycopg.Connection:
        """Connect to the leader as a superuser."""
        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            dbname=database,
            user=SUPERUSER,
            password=self.nodes[0].password("superuser"),
            autocommit=True,
        )

    def _is_whole(self) -> bool:
        states = [
            (node.says("primary"), node.says("sync"), node.says("replica")) for node in self.nodes
        ]
        return sorted(states) == [
            (False, False, True),
            (False, True, True),
            (True, False, False),
        ]


@contextmanager
def running_cluster() -> Generator[Cluster]:
    """Run three nodes with an empty database `desk`, whose owner is no superuser."""
    folder = new_folder()
    with ExitStack() as opened:
        opened.callback(shutil.rmtree, folder, ignore_errors=True)
        etcd = opened.enter_context(_running_etcd(folder))
        programs = PostgreSQLServer(folder).programs
        nodes = [Node(name, folder, etcd, programs) for name in NAMES]
        for node in nodes:
            opened.callback(node.stop)
            node.start()
        port = opened.enter_context(_running_haproxy(folder, nodes))
        cluster = Cluster(nodes, port)
        cluster.wait_for_leader()
        cluster.wait_until(lambda: _answers(cluster), "a leader behind HAProxy")
        with cluster.connect("postgres") as connection:
            connection.execute(f"CREATE ROLE {OWNER} LOGIN PASSWORD 'secret'")
            connection.execute(f"CREATE DATABASE desk OWNER {OWNER}")
        yield cluster


def _answers(cluster: Cluster) -> bool:
    try:
        cluster.connect("postgres").close()
    except psycopg.OperationalError:
        return False
    return True


@contextmanager
def _running_etcd(folder: Path) -> Generator[str]:
    host, peers = f"127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
    options = {
        "name": "one",
        "data-dir": folder / "etcd",
        "listen-client-urls": f"http://{host}",
        "advertise-client-urls": f"http://{host}",
        "listen-peer-urls": peers,
        "initial-advertise-peer-urls": peers,
        "initial-cluster": f"one={peers}",
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    with _running(["/usr/bin/etcd", *arguments], folder / "etcd.log"):
        wait_for(host)
        yield host


@contextmanager
def _running_haproxy(folder: Path, nodes: Sequence[Node]) -> Generator[int]:
    port = free_port()
    text = (DOCS / "haproxy.cfg").read_text().replace("127.0.0.1:5000", f"127.0.0.1:{port}")
    for number, node in enumerate(nodes, start=1):
        address = f"127.0.0.1:{node.port} port {node.state_port}"
        text = text.replace(f"10.0.0.1{number}:5432", address)
    conf = folder / "haproxy.cfg"
    conf.write_text(text)
    with _running(["/usr/sbin/haproxy", "-db", "-f", str(conf)], folder / "haproxy.log"):
        wait_for(f"127.0.0.1:{port}")
        yield port


@contextmanager
def _running(command: Sequence[str], log: Path) -> Generator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            yield
        finally:
            process.kill()
            process.wait()
