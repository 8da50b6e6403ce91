"""What /metrics tells, and whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rolltop.server.asgi_responses import Rejection
from rolltop.server.metrics import Metrics
from tests.server.apps import make_app
from tests.server.processes import HttpServer

if TYPE_CHECKING:
    from pathlib import Path


def samples(server: HttpServer, **headers: str) -> dict[tuple[str, ...], float]:
    """Return the value of each sample, by its name and the values of its labels in their order."""
    status, given, body = server.ask("GET", "/metrics", headers=headers)
    assert status == 200
    assert given["content-type"].startswith("text/plain")
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def test_calls_are_counted_by_tool_and_outcome_and_say_nothing_of_users(tmp_path: Path) -> None:
    with HttpServer(tmp_path) as server:
        before = samples(server)
        server.call("add_task", title="secret plan")
        for _ in range(2):
            server.call("get_task", task_id="secret")
        server.ask("POST", "/mcp", b"{}", {"content-type": "text/plain"})
        after = samples(server)
        assert after["rolltop_calls_total", "ok", "add_task"] == 1
        assert sum(v for k, v in after.items() if k[0] == "rolltop_calls_total") == 3
        assert ("rolltop_calls_total", "ok", "get_task") not in after
        assert after["rolltop_call_seconds_count", "add_task"] == 1
        assert after["rolltop_http_responses_total", "415"] == 1
        assert after["rolltop_http_responses_total", "200"] > 3
        assert after["rolltop_calls_in_flight",] == 0
        assert ("rolltop_database_transactions",) in after
        assert before["rolltop_streams",] == 0
        assert after["process_resident_memory_bytes",] > 1e6
        assert b"secret" not in server.ask("GET", "/metrics")[2]


def test_errors_are_counted_by_code_and_pads_as_the_store_holds_them(tmp_path: Path) -> None:
    limits = {"scratch__max_scratchpads": 2, "scratch__eviction_policy": "discard"}
    with HttpServer(tmp_path, **limits) as server:
        for number in range(3):
            cells = [{"language": "text", "content": "kept"}] * (number + 1)
            assert not server.call("scratch_create", cells=cells)["isError"]
        server.call("scratch_read", scratch_id="0" * 8)
        held = samples(server)
        assert held["rolltop_scratchpads",] == 2
        assert held["rolltop_cells",] == 5
        assert held["rolltop_evictions_total", "discard"] == 1
        assert held["rolltop_errors_total", "NOT_FOUND", "scratch_read"] == 1
        assert {key for key in held if key[0] == "rolltop_errors_total"} == {
            ("rolltop_errors_total", "NOT_FOUND", "scratch_read")
        }
        assert held["rolltop_uptime_seconds",] > 0


def test_calls_that_never_came_to_their_tool_are_counted(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    url = "postgresql://nobody@127.0.0.1:1/nowhere?connect_timeout=1"
    with HttpServer(tmp_path, database_url=url, http__auth="off") as server:
        assert server.call("list_tasks")["structuredContent"]["code"] == "UNAVAILABLE"
        held = samples(server)
        assert held["rolltop_calls_total", "UNAVAILABLE", "list_tasks"] == 1
        assert held["rolltop_errors_total", "UNAVAILABLE", "list_tasks"] == 1


def test_the_journal_and_the_indexes_are_measured(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    with HttpServer(tmp_path, retrieval__roots=f"docs={folder}") as server:
        server.call("list_tasks")  # the store is made by then
        assert samples(server)["rolltop_journal_entries",] == 0
        for _ in range(2):
            server.call("add_task", title="plan")
        held = samples(server)
        assert held["rolltop_journal_entries",] == 2
        assert held["rolltop_journal_age_seconds",] >= 0
        assert held["rolltop_index_waiting_files",] == 0
        assert held["rolltop_index_bytes",] >= 0
    with HttpServer(tmp_path, retrieval__index="false") as server:
        assert ("rolltop_index_bytes",) not in samples(server)


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Forwarded-Proto"])
def test_without_a_token_of_its_own_it_is_read_on_this_machine_only(
    tmp_path: Path, header: str
) -> None:
    with HttpServer(tmp_path, http__bearer_token="for-calls") as server:  # noqa: S106  # none
        assert samples(server)
        status, _, body = server.ask("GET", "/metrics", headers={header: "203.0.113.7"})
        assert (status, b"http.metrics_token" in body) == (403, True)
        assert server.ask("POST", "/metrics", b"")[0] == 405
    with HttpServer(tmp_path, http__allowed_hosts="desk.example.org") as server:
        named = {"Host": "desk.example.org"}
        assert server.ask("GET", "/metrics", headers=named)[0] == 403


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("127.0.0.1", None),
        ("::1", None),
        ("::ffff:127.0.0.1", None),  # of a socket for both kinds of addresses
        ("::ffff:203.0.113.7", 403),
        ("203.0.113.7", 403),
    ],
)
def test_this_machine_is_known_by_each_form_of_its_address(
    tmp_path: Path, address: str, status: int | None
) -> None:
    scope = {"type": "http", "headers": [(b"host", b"localhost")], "client": (address, 40_000)}
    refused = None
    try:
        Metrics(make_app(tmp_path)).check_reader(scope)
    except Rejection as rejection:
        refused = rejection.response.status_code
    assert refused == status


def test_its_token_is_not_that_of_calls(tmp_path: Path) -> None:
    with HttpServer(tmp_path, http__bearer_token="calls", http__metrics_token="metrics") as server:  # noqa: S106
        assert server.ask("GET", "/metrics")[0] == 401
        assert server.ask("GET", "/metrics", headers={"authorization": "Bearer calls"})[0] == 401
        assert samples(server, authorization="Bearer metrics", **{"x-forwarded-for": "203.0.113.7"})


def test_wrong_tokens_are_limited_there_too(tmp_path: Path) -> None:
    given = {"http__metrics_token": "metrics", "http__wrong_token_limit": 2}
    wrong = {"authorization": "Bearer wrong"}
    with HttpServer(tmp_path, **given) as server:
        asked = [server.ask("GET", "/metrics", headers=wrong)[0] for _ in range(3)]
        assert asked == [401, 401, 429]
        assert server.ask("GET", "/metrics")[0] == 401
        assert samples(server, authorization="Bearer metrics")
