"""stdio: every line gets an answer, stdout carries nothing else, and the end comes in time."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from sqlcipher3 import dbapi2 as sqlite3

from tests.server.processes import (
    LEGACY,
    MODERN,
    ClockedStdioServer,
    DeafStdioServer,
    StdioServer,
    handshake,
    modern_meta,
)

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN_AT_ONCE = 64
"""Requests: many times what may be in flight."""
LIMITS = """
from rolltop.server import shutdown, stdio
limits = stdio.GRACE_SECONDS, stdio.REFUSE_REST_SECONDS, stdio.EXIT_LIMIT
print(*limits, stdio.EXIT_LIMIT + shutdown._WATCHDOG_MARGIN_SECONDS)
"""


def end_beside_a_stuck_thread(server: StdioServer, how: str | signal.Signals) -> None:
    """Ask for the end while a call cannot be ended; it is answered that it was broken off."""
    server.let_time_pass()
    server.send("tools/call", {"name": "stuck", "arguments": {}}, id="stuck")
    server.send("tools/call", {"name": "say", "arguments": {"text": "x"}}, id="after")
    assert server.answer()["id"] == "after"
    if isinstance(how, signal.Signals):
        server.process.send_signal(how)
    else:
        server.stdin.close()
    broken_off = server.answer()
    assert broken_off["id"] == "stuck"
    assert broken_off["result"]["structuredContent"]["code"] == "UNAVAILABLE"


def refusal(server: StdioServer, line: bytes | str) -> tuple[Any, int]:
    """Return id and code of the error that a line is answered with."""
    server.send_line(line)
    answer = server.answer()
    assert answer["error"]["message"]
    return answer["id"], answer["error"]["code"]


def test_every_malformed_line_is_answered_and_the_connection_lives_on(tmp_path: Path) -> None:
    call = '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}'
    with StdioServer(tmp_path) as server:
        server.initialize()
        assert refusal(server, "garbage") == (None, -32700)
        assert refusal(server, '{"jsonrpc":"2.0","id":1') == (None, -32700)
        assert refusal(server, "[" * 100_000 + "]" * 100_000) == (None, -32700)
        assert refusal(server, '{"a":' * 100_000) == (None, -32700)
        assert refusal(server, "1" * 5000) == (None, -32700)
        assert refusal(server, call % (7, '{"name":"say","arguments":{"text":NaN}}')) == (7, -32700)
        assert refusal(server, call.encode() % (b"8", b'{"name":"\xff"}')) == (8, -32700)
        assert refusal(server, "[]") == (None, -32600)
        assert refusal(server, '"text"') == (None, -32600)
        assert refusal(server, "null") == (None, -32600)
        assert refusal(server, "{}") == (None, -32600)
        assert refusal(server, '{"jsonrpc":"2.0","id":9}') == (9, -32600)
        assert refusal(server, '{"jsonrpc":"1.0","id":"ten","method":"ping"}') == ("ten", -32600)
        assert refusal(server, '{"id":11,"method":"ping"}') == (11, -32600)
        assert refusal(server, '{"jsonrpc":"2.0","id":null,"method":"ping"}') == (None, -32600)
        assert refusal(server, '{"jsonrpc":"2.0","id":1.5,"method":"ping"}') == (None, -32600)
        assert refusal(server, '{"jsonrpc":"2.0","id":true,"method":"ping"}') == (None, -32600)
        assert refusal(server, '{"jsonrpc":"2.0","id":12,"method":4}') == (12, -32600)
        assert refusal(server, call % (13, "[1]")) == (13, -32600)
        assert refusal(server, '{"jsonrpc":"2.0","id":14,"result":7}') == (None, -32600)
        assert refusal(server, '{"jsonrpc":"2.0","id":15,"method":"\\ud800"}') == (15, -32601)
        server.send_line('{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}')
        assert server.answer() == {"jsonrpc": "2.0", "id": "\ud800", "result": {}}
        assert refusal(server, '{"jsonrpc":"2.0","id":16,"method":"no/such"}') == (16, -32601)
        assert server.call("say", text="still here")["structuredContent"]["said"]


def test_a_refused_line_is_logged_by_its_code_and_never_by_its_words(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as server:
        assert refusal(server, '{"my": "private words"') == (None, -32700)
        server.stderr.until(r"line refused.* code=-32700")
        assert refusal(server, '{"my": "private words"}') == (None, -32600)
        server.stderr.until(r"line refused.* code=-32600")
        assert not any("private" in line for line in server.stderr.seen)


def test_each_entry_of_a_batch_that_waits_for_an_answer_gets_one(tmp_path: Path) -> None:
    entries = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in (1, 2)]
    with StdioServer(tmp_path) as server:
        server.send_line(json.dumps([*entries, {"jsonrpc": "2.0", "method": "x"}]))
        answers = [server.answer(), server.answer()]
        assert [(a["id"], a["error"]["code"]) for a in answers] == [(1, -32600), (2, -32600)]


def test_blank_lines_notifications_and_responses_are_no_requests(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as server:
        server.initialize()
        server.send_line("")
        server.send_line("   \t")
        server.send("notifications/whatever", {"a": 1})
        server.send_line('{"jsonrpc":"2.0","id":5,"result":{}}')
        assert server.request("ping")["result"] == {}


def test_a_long_line_is_served_and_one_over_the_limit_is_refused(tmp_path: Path) -> None:
    with StdioServer(tmp_path, max_result_tokens=0) as server:
        server.initialize()
        text = "word " * 400_000
        assert server.call("say", text=text)["structuredContent"]["said"].startswith(text)
        message = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"%s"}}'
        assert refusal(server, message % (b"x" * (64 << 20))) == (None, -32600)
        assert server.request("ping")["result"] == {}


def test_a_line_without_its_end_is_still_read_when_stdin_ends(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as server:
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": handshake()}
        server.stdin.write(json.dumps(message).encode())
        server.stdin.close()
        assert server.answer()["id"] == 1
        assert server.ends() == 0


@pytest.mark.parametrize("early", [True, False])
def test_the_other_eras_requests_are_refused(tmp_path: Path, *, early: bool) -> None:
    with StdioServer(tmp_path) as server:
        if early:
            assert "result" in server.request("server/discover", {"_meta": modern_meta()})
            assert server.request("initialize", handshake())["error"]["code"] == -32022
        else:
            server.initialize()
            answer = server.request("tools/list", {"_meta": modern_meta()})
            assert answer["error"]["code"] == -32600


def test_calls_that_came_before_stdin_ended_are_answered(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as server:
        server.initialize()
        server.call("list_tasks")  # the store is open; what is left of the end is for answers
        for number in range(20):
            server.send("tools/call", {"name": "add_task", "arguments": {"title": "x"}}, id=number)
        server.stdin.close()
        lines = [json.loads(line) for line in server.stdout.rest()]
        assert server.ends() == 0
    answered = {line["id"]: line for line in lines}
    assert set(answered) == set(range(20))
    assert not any(answered[n]["result"]["isError"] for n in range(20))


def test_an_end_is_promised_within_two_seconds() -> None:
    """By these limits, which are as long as can be elsewhere in the tests."""
    told = subprocess.check_output([sys.executable, "-c", LIMITS], text=True)
    grace, refusal_of_the_rest, own_exit, by_force = map(float, told.split())
    assert grace < refusal_of_the_rest < own_exit < by_force < 2


@pytest.mark.parametrize("how", ["end of stdin", signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_ends_in_time_with_a_stuck_thread(tmp_path: Path, how: str | signal.Signals) -> None:
    with ClockedStdioServer(tmp_path) as server:
        server.initialize()
        assert not server.call("add_task", title="kept")["isError"]
        end_beside_a_stuck_thread(server, how)
        assert server.ends() == 0
        assert any("stopped" in line for line in server.stderr.rest())
    store = tmp_path / "data" / "desk.db"
    wal = store.with_name("desk.db-wal")
    assert not wal.exists() or wal.stat().st_size == 0
    with sqlite3.connect(store) as connection:
        assert connection.execute("SELECT title FROM tasks").fetchall() == [("kept",)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_server_ends_at_once(tmp_path: Path, number: signal.Signals) -> None:
    with StdioServer(tmp_path) as server:
        server.stderr.until("started")
        server.process.send_signal(number)
        assert server.ends() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_did_not_wake_the_loop_is_sent_again(
    tmp_path: Path, number: signal.Signals
) -> None:
    with DeafStdioServer(tmp_path) as server:
        server.initialize()
        server.process.send_signal(number)
        assert server.ends() == 0
        assert any("stopped" in line for line in server.stderr.rest())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_ends_in_time_while_a_thread_holds_the_interpreter(
    tmp_path: Path, number: signal.Signals
) -> None:
    with StdioServer(tmp_path, {"rolltop.server.stdio:EXIT_LIMIT": 0.2}) as server:
        server.initialize()
        server.call("who_am_i")
        server.send("tools/call", {"name": "hold_interpreter", "arguments": {}}, id="held")
        server.stderr.until("held")
        server.process.send_signal(number)
        assert server.ends() == -signal.SIGKILL


def test_a_call_in_flight_is_answered_and_a_new_one_is_told_that_the_server_stops(
    tmp_path: Path,
) -> None:
    with ClockedStdioServer(tmp_path) as server:
        server.initialize()
        server.call("who_am_i")
        server.send("tools/call", {"name": "wait_for_cancel", "arguments": {}}, id="waiting")
        assert server.request("ping")["result"] == {}
        server.process.send_signal(signal.SIGTERM)
        server.stderr.until("stopping")
        refused = server.call("say", text="late")
        assert refused["isError"]
        assert refused["structuredContent"]["code"] == "UNAVAILABLE"
        listed = server.request("resources/templates/list")
        assert listed["error"]["data"]["code"] == "UNAVAILABLE"
        server.let_time_pass()
        broken_off = server.answer()
        assert broken_off["id"] == "waiting"
        assert broken_off["result"]["isError"]
        assert broken_off["result"]["structuredContent"]["code"] == "UNAVAILABLE"
        assert server.ends() == 0


def test_all_that_was_written_before_the_signal_is_answered_as_it_asked(tmp_path: Path) -> None:
    call = {"method": "tools/call", "params": {"name": "say", "arguments": {"text": "x"}}}
    asked = [
        {"jsonrpc": "2.0", "id": number, **({"method": "ping"} if number % 2 else call)}
        for number in range(WRITTEN_AT_ONCE)
    ]
    # Few threads, and so few calls at once: the rest waits in the pipe when the signal comes.
    with StdioServer(tmp_path, threads=2) as server:
        server.initialize()
        server.call("who_am_i")
        server.send_line("\n".join(map(json.dumps, asked)))
        server.process.send_signal(signal.SIGTERM)
        lines = [json.loads(line) for line in server.stdout.rest()]
        assert server.ends() == 0
    assert {line["id"] for line in lines} == set(range(WRITTEN_AT_ONCE))
    for line in lines:
        result = line["result"]
        assert not result.get("isError") or result["structuredContent"]["code"] == "UNAVAILABLE"


@pytest.mark.parametrize("era", [LEGACY, MODERN])
def test_calls_that_come_while_it_stops_are_told_so_to_the_last(tmp_path: Path, era: str) -> None:
    params: dict[str, Any] = {"name": "say", "arguments": {"text": "x"}}
    with ClockedStdioServer(tmp_path, {"rolltop.server.app:_EXPIRED_CALLS_GRACE": 0.1}) as server:
        if era == LEGACY:
            server.initialize()
        else:
            params["_meta"] = modern_meta()
        assert not server.request("tools/call", params)["result"]["isError"]
        server.process.send_signal(signal.SIGTERM)
        with suppress(BrokenPipeError):
            for number in range(5000):
                server.send("tools/call", params, id=f"late {number}")
                if number == 100:
                    server.let_time_pass()
        lines = [json.loads(line) for line in server.stdout.rest()]
        assert server.ends() == 0
    assert {line["id"] for line in lines} == {f"late {n}" for n in range(len(lines))}
    for line in lines:
        result = line["result"]
        assert not result["isError"] or result["structuredContent"]["code"] == "UNAVAILABLE"
        assert result.get("resultType") == (None if era == LEGACY else "complete")


def test_each_of_many_calls_gets_an_answer_though_stdin_ended_long_before(tmp_path: Path) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": name}}
        for number, name in enumerate(["wait_for_cancel"] * 500 + ["who_am_i"])
    ]
    with ClockedStdioServer(tmp_path) as server:
        server.initialize()
        server.call("who_am_i")
        server.let_time_pass()
        server.send_line("\n".join(map(json.dumps, calls)))
        server.stdin.close()
        lines = [json.loads(line) for line in server.stdout.rest()]
        assert server.ends() == 0
    assert sorted(line["id"] for line in lines) == list(range(501))
    for line in lines:
        result = line["result"]
        assert not result["isError"] or result["structuredContent"]["code"] == "UNAVAILABLE"


def test_each_call_gets_an_answer_though_the_loop_that_answers_is_stuck(tmp_path: Path) -> None:
    limits = {"REFUSE_REST_SECONDS": 0.0, "EXIT_LIMIT": 1.9}
    limits = {f"rolltop.server.stdio:{name}": seconds for name, seconds in limits.items()}
    with StdioServer(tmp_path, limits) as server:
        server.initialize()
        server.call("who_am_i")
        for number in range(3):
            server.send("tools/call", {"name": "wait_for_cancel", "arguments": {}}, id=number)
        server.send("tools/call", {"name": "hold_loop", "arguments": {}}, id=3)
        server.stdin.close()
        lines = [json.loads(line) for line in server.stdout.rest()]
        assert server.ends() == 0
    assert sorted(line["id"] for line in lines) == [0, 1, 2, 3]
    assert {line["result"]["structuredContent"]["code"] for line in lines} == {"UNAVAILABLE"}


def test_a_loop_that_is_late_gives_calls_no_more_time_than_they_had(tmp_path: Path) -> None:
    with ClockedStdioServer(tmp_path) as server:
        server.initialize()
        server.call("who_am_i")
        server.let_time_pass()
        server.send("tools/call", {"name": "wait_for_cancel", "arguments": {}}, id="waiting")
        server.stdin.close()
        (answer,) = [json.loads(line) for line in server.stdout.rest()]
        assert server.ends() == 0
        assert any("stopped" in line for line in server.stderr.rest())
    assert answer["id"] == "waiting"
    assert answer["result"]["structuredContent"]["code"] == "UNAVAILABLE"


def test_it_ends_when_nobody_reads_its_answers_any_more(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as server:
        server.initialize()
        server.stdout.leave()
        server.request("ping")
        server.stdout.left()
        server.send("ping", id="nobody reads this")
        assert server.ends() == 0


def test_kill_nine_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as server:
        server.initialize()
        added = server.call("add_task", title="kept")["structuredContent"]["data"]
        server.process.kill()
    with StdioServer(tmp_path) as server:
        server.initialize()
        listed = server.call("list_tasks")["structuredContent"]["data"]
    assert [task["task_id"] for task in listed] == [added["task_id"]]


def test_two_clients_share_one_store(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as one, StdioServer(tmp_path) as other:
        one.initialize()
        other.initialize()
        assert not one.call("add_task", title="from one")["isError"]
        assert not other.call("add_task", title="from the other")["isError"]
        listed = one.call("list_tasks")["structuredContent"]["data"]
        assert {task["title"] for task in listed} == {"from one", "from the other"}


def test_stdout_carries_protocol_only(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as server:
        server.initialize()
        server.call("say", text="x")
        server.request("tools/list")
        server.send_line("garbage")
        server.stdin.close()
        server.ends()
        server.stdout.rest()
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in server.stdout.seen)


def test_calls_that_never_came_to_their_tool_are_logged_too(tmp_path: Path) -> None:
    with StdioServer(tmp_path, database_url="postgresql://nobody@127.0.0.1:1/desk") as server:
        server.initialize()
        failed = server.call("list_tasks")
        assert failed["structuredContent"]["code"] == "UNAVAILABLE"
        told = r" call .*request_id=2 tool=list_tasks .*outcome=error code=UNAVAIL.*127\.0\.0\.1"
        server.stderr.until(told)
        unread = server.request("resources/read", {"uri": "rolltop://note/12345678"})
        assert unread["error"]["data"]["code"] == "UNAVAILABLE"
        for answer in (failed, unread):  # where the database is, is for the log
            assert "there is no connection" in str(answer)
            assert "127.0.0.1" not in str(answer)
        server.stderr.until(r' call .*request_id=3 tool="resource note" .*code=UNAVAILABLE reason=')
        unknown = server.request("tools/call", {"name": "my_private_words"})
        assert unknown["error"]["code"] == -32602
        server.stderr.until(r" call .*request_id=4 .*outcome=error code=UNKNOWN_TOOL")
        assert not any("private" in line for line in server.stderr.seen)


def test_who_calls_is_logged_also_where_the_tool_need_not_know(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as server:
        server.initialize()
        server.call("list_tasks")
        server.stderr.until(r"tool=list_tasks user_id=\S+")
    with StdioServer(tmp_path) as server:
        server.initialize()
        while server.call("repo_list_dir")["isError"]:  # until the store is open: it has no root
            if re.search("user_id=", server.stderr.until("tool=repo_list_dir.*")[0]):
                break


def test_what_needs_no_store_is_answered_while_it_is_out_of_reach(tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    (shelf / "a.md").write_text("# Harbour\n\nThe storm.\n", encoding="utf-8")
    unreached = {"database_url": "postgresql://nobody@127.0.0.1:1/desk"}
    with StdioServer(tmp_path, retrieval__roots=f"docs={shelf}", **unreached) as server:
        server.initialize()
        assert server.call("list_tasks")["structuredContent"]["code"] == "UNAVAILABLE"
        found = server.call("repo_search", query="storm")["structuredContent"]
        assert [hit["path"] for hit in found["result"]] == ["a.md"]
        read = server.call("smart_read", path="a.md")["structuredContent"]
        assert "The storm." in read["content"]
        resource = server.request("resources/read", {"uri": "rolltop://file/docs/a.md"})
        assert "The storm." in resource["result"]["contents"][0]["text"]
        typed = {"name": "path", "value": ""}
        known = {"type": "ref/resource", "uri": "rolltop://file/{root}/{+path}{#lines}"}
        completed = server.request("completion/complete", {"ref": known, "argument": typed})
        assert "error" not in completed


def test_progress_is_told_in_order_and_never_after_the_answer(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as server:
        server.initialize()
        call = {"name": "take_steps", "arguments": {"steps": 500}}
        begun = time.monotonic()
        server.send("tools/call", {**call, "_meta": {"progressToken": "t"}}, id="walk")
        notes: list[dict[str, Any]] = []
        while "id" not in (message := server.answer()):
            notes.append(message)
        tenths = 10 * (time.monotonic() - begun)
        assert message["result"]["structuredContent"] == {"steps": 500}
        values = [note["params"]["progress"] for note in notes]
        assert values == sorted(set(values))
        assert values[-1] == 500
        assert len(values) <= 2 + tenths  # the first at once, and the last with the answer
        assert notes[-1]["params"] == {
            "progressToken": "t",
            "progress": 500.0,
            "total": 500.0,
            "message": "step 500",
        }


def test_without_a_progress_token_nothing_is_told(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as server:
        server.initialize()
        assert server.call("take_steps", steps=50)["structuredContent"] == {"steps": 50}


def test_a_cancelled_call_stops_and_gets_no_answer(tmp_path: Path) -> None:
    with StdioServer(tmp_path) as server:
        server.initialize()
        server.call("who_am_i")
        server.request("resources/subscribe", {"uri": "rolltop://thing/cancelled"})
        server.send("tools/call", {"name": "wait_for_cancel", "arguments": {}}, id="waiting")
        assert server.request("ping")["result"] == {}
        server.send("notifications/cancelled", {"requestId": "waiting"})
        assert server.answer()["method"] == "notifications/resources/updated"
        assert server.request("ping")["result"] == {}
        server.stdin.close()
        assert server.ends() == 0
        assert server.stdout.rest() == []


def test_changes_reach_a_modern_stream_that_ends_first_when_the_server_stops(
    tmp_path: Path,
) -> None:
    uri = "rolltop://thing/one"
    with StdioServer(tmp_path) as server:
        params = {"_meta": modern_meta(), "notifications": {"resourceSubscriptions": [uri]}}
        server.send("subscriptions/listen", params, id="stream")
        assert server.answer()["method"] == "notifications/subscriptions/acknowledged"
        for thing in ("two", "one"):
            arguments = {"name": "announce", "arguments": {"thing": thing}, "_meta": modern_meta()}
            server.send("tools/call", arguments, id=thing)
        seen = [server.answer() for _ in range(3)]
        changes = [m["params"]["uri"] for m in seen if "method" in m]
        assert changes == [uri]
        server.process.send_signal(signal.SIGTERM)
        last = server.answer()
        assert last["id"] == "stream"
        assert last["result"]["resultType"] == "complete"
        assert server.ends() == 0


def test_the_start_stops_for_a_user_the_store_does_not_know(tmp_path: Path) -> None:
    with StdioServer(tmp_path, user="ada@example.org") as server:
        assert server.ends() == 2
        assert any("rolltop user add ada@example.org" in line for line in server.stderr.rest())
        assert server.stdout.rest() == []


def test_a_store_that_is_refused_ends_the_server(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "desk.db").write_bytes(b"this is no database at all" * 100)
    with StdioServer(tmp_path) as server:
        server.request("initialize", handshake())
        assert server.ends() == 1
        assert any("desk.db" in line for line in server.stderr.rest())


def test_a_store_of_another_key_ends_the_server_as_a_wrong_setting_does(tmp_path: Path) -> None:
    keys = {"db_encryption_kdf_iterations": 10_000}
    with StdioServer(tmp_path, db_encryption_key="one", **keys) as server:
        server.initialize()
        server.request("tools/call", {"name": "list_tasks", "arguments": {}})
        server.stdin.close()
        assert server.ends() == 0
    before = (tmp_path / "data" / "desk.db").read_bytes()
    with StdioServer(tmp_path, db_encryption_key="two", **keys) as server:
        server.request("initialize", handshake())
        assert server.ends() == 2
        (line,) = [line for line in server.stderr.rest() if "DB_ENCRYPTION_KEY" in line]
        assert "two" not in line
    assert (tmp_path / "data" / "desk.db").read_bytes() == before
