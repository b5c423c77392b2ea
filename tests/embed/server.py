"""A server on this machine that speaks two vendors' embedding protocols, and misbehaves when told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, dict[str, str], Any]
"""Status, headers, body (JSON, or bytes as they are)."""

DIMENSIONS = 8


def vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """The vector this server gives a text."""
    digest = blake2b(text.encode(), digest_size=dimensions).digest()
    return [byte / 255 + 0.01 for byte in digest]


@dataclass
class Service:
    """The server's state: what was asked, what is to go wrong (one reply a request), and its limits."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    replies: list[Reply | None] = field(default_factory=list)
    max_batch: int = 2048
    poison: str | None = None
    change: Callable[[dict[str, Any]], Any] = lambda body: body
    slow: threading.Barrier | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, path: str, asked: dict[str, Any]) -> Reply:
        """The reply to one request."""
        with self.lock:
            self.requests.append(asked)
            planned = self.replies.pop(0) if self.replies else None
        if planned is not None:
            return planned
        if self.slow is not None:
            self.slow.wait(10)
        texts = asked["input"] if path.endswith("/embeddings") else asked["texts"]
        if len(texts) > self.max_batch:
            return 400, {}, {"error": {"message": f"at most {self.max_batch} inputs"}}
        if self.poison is not None and any(self.poison in text for text in texts):
            return 400, {}, {"error": {"message": "bad input"}}
        body = _openai(asked, texts) if path.endswith("/embeddings") else _cohere(asked, texts)
        return 200, {}, self.change(body)


def _openai(asked: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    dimensions = asked.get("dimensions", DIMENSIONS)
    rows = [
        {"object": "embedding", "index": place, "embedding": vector(text, dimensions)}
        for place, text in enumerate(texts)
    ]
    tokens = sum(len(text.split()) for text in texts)
    return {
        "object": "list",
        "model": asked["model"],
        "data": rows[::-1],  # the order of the answer is told by its indexes alone
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _cohere(asked: dict[str, Any], texts: list[str]) -> dict[str, Any]:
    dimensions = asked.get("output_dimension", 1024)
    return {
        "id": "1",
        "response_type": "embeddings_by_type",
        "texts": texts,
        "embeddings": {"float": [(vector(text) * 192)[:dimensions] for text in texts]},
        "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": sum(map(len, texts))}},
    }


@contextmanager
def serving() -> Iterator[Service]:
    """A running service; its ``url`` is what clients connect to."""
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            service.headers.append(dict(self.headers.items()))
            status, headers, body = service.answer(self.path, asked)
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
