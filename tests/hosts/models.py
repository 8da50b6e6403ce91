"""Models that do as they are told, behind the APIs of three makers, on the loopback."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    Events = list[dict[str, Any]]

DONE: Final = "Done."
"""What a model says that has been told nothing more."""
_ANSWERS: Final = {"tool_result": "content", "custom_tool_call_output": "output"}


@dataclass(frozen=True)
class Call:
    """A call that a model asks for; `used_tokens` is what it says the conversation takes."""

    tool: str
    arguments: Mapping[str, object] | str
    used_tokens: int = 2


@dataclass
class Model:
    """A model that asks for these calls in order, one in each request that offers tools."""

    calls: list[Call]
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    address: str = ""

    def next_reply(self, request: dict[str, Any]) -> Call | str:
        """Keep a request and return what the model says to it."""
        self.requests.append(request)
        offers = request.get("tools") or "additional_tools" in json.dumps(request.get("input"))
        return self.calls.pop(0) if self.calls and offers else DONE


@contextmanager
def serving(speak: Callable[[Call | str], Events], *calls: Call) -> Generator[Model]:
    """Yield a model that listens on the loopback and answers in one maker's events."""
    model = Model([*calls])

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            events = speak(model.next_reply(json.loads(self.rfile.read(length))))
            body = "".join(map(_server_sent, events)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as inherited
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        model.address = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield model
        finally:
            server.shutdown()


def messages(reply: Call | str) -> Events:
    """Return a reply as Anthropic's Messages API streams it."""
    if isinstance(reply, str):
        block: dict[str, Any] = {"type": "text", "text": ""}
        delta, reason = {"type": "text_delta", "text": reply}, "end_turn"
    else:
        block = {"type": "tool_use", "id": f"toolu_{id(reply)}", "name": reply.tool, "input": {}}
        given = json.dumps(reply.arguments)
        delta, reason = {"type": "input_json_delta", "partial_json": given}, "tool_use"
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "witness"}
    empty: dict[str, Any] = {
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    stop = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_start", "message": {**message, **empty}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    ]


def responses(reply: Call | str) -> Events:
    """Return a reply as OpenAI's Responses API streams it."""
    if isinstance(reply, str):
        said = [{"type": "output_text", "text": reply}]
        item: dict[str, Any] = {"type": "message", "role": "assistant", "content": said}
    else:
        item = {"type": "custom_tool_call", "name": reply.tool, "input": reply.arguments}
        item["call_id"] = f"call_{id(reply)}"
    total = 2 if isinstance(reply, str) else reply.used_tokens
    usage = {"input_tokens": total - 1, "output_tokens": 1, "total_tokens": total}
    return [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": {"id": "i1", **item}},
        {"type": "response.completed", "response": {"id": "r1", "usage": usage}},
    ]


def contents(reply: Call | str) -> Events:
    """Return a reply as Gemini's API streams it."""
    part: dict[str, Any] = {"text": reply}
    if isinstance(reply, Call):
        part = {"functionCall": {"name": reply.tool, "args": reply.arguments}}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return [{"candidates": [candidate], "usageMetadata": usage}]


def answers_in(request: dict[str, Any]) -> list[str]:
    """Return the texts of the tools' answers in a request, whichever maker's."""
    return list(_find_answers(request))


def _server_sent(event: dict[str, Any]) -> str:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event)}\n\n"


def _find_answers(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        for one in cast("list[Any]", part):
            yield from _find_answers(one)
    if not isinstance(part, dict):
        return
    fields = cast("dict[str, Any]", part)
    answer = fields.get(_ANSWERS.get(str(fields.get("type")), ""))
    if answer is None:
        answer = fields.get("functionResponse", {}).get("response", {}).get("output")
    if answer is None:
        for one in fields.values():
            yield from _find_answers(one)
    else:
        blocks: list[dict[str, str]] = [{"text": answer}] if isinstance(answer, str) else answer
        yield "\n".join(block.get("text", "") for block in blocks)
