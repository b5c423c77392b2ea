"""A server on this machine that speaks the vendors' protocols, as their own libraries expect them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Answer = Callable[[dict[str, Any]], Any]


@dataclass
class Server:
    """What was asked, and what is answered by path: a JSON value, ``(status, value)``, or a list of event lines."""

    url: str
    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)


def message(*content: dict[str, Any]) -> dict[str, Any]:
    """An answer of the Anthropic messages API."""
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "small",
        "content": list(content),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 30, "output_tokens": 12},
    }


def completion(content: str) -> dict[str, Any]:
    """An answer of the OpenAI chat API."""
    message = {"role": "assistant", "content": content}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "small",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }


@pytest.fixture
def server() -> Iterator[Server]:
    """The server; it listens on the loopback interface while the test runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            answer = state.answers[self.path](body)
            status, value = answer if isinstance(answer, tuple) else (200, answer)
            if isinstance(value, list):
                data, kind = "".join(f"{line}\n" for line in value).encode(), "text/event-stream"
            else:
                data, kind = json.dumps(value).encode(), "application/json"
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state = Server(f"http://127.0.0.1:{httpd.server_address[1]}")
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield state
    httpd.shutdown()
    httpd.server_close()
