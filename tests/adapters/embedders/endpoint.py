"""A local endpoint for embeddings: a real HTTP server whose answers a test writes down."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answering = Callable[[Mapping[str, Any]], bytes]


@dataclass
class Said:
    """The next answers of the server, in order, and the requests that it got; then it embeds.

    While `open` is not set it keeps every answer back, but to requests that it `lets_through`.
    `was_asked` is set by the first request.
    """

    open: threading.Event = field(default_factory=threading.Event)
    was_asked: threading.Event = field(default_factory=threading.Event)
    lets_through: Callable[[Mapping[str, Any]], bool] = lambda _: False
    dimensions: int = 3
    statuses: list[int] = field(default_factory=list)
    body: bytes | None = None
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    url: str = ""


def embedding_of(text: str) -> list[float]:
    """A vector of three numbers that tells texts apart."""
    return [float(len(text)), float(text.count("a")), 1.0]


def answer_to(request: Mapping[str, Any], dimensions: int = 3) -> bytes:
    """The vectors of a request, in an order that only `index` reveals."""
    texts, rest = request["input"], [0.0] * (dimensions - 3)
    data = [{"index": i, "embedding": embedding_of(text) + rest} for i, text in enumerate(texts)]
    return json.dumps({"object": "list", "data": data[::-1]}).encode()


def ranking_of(request: Mapping[str, Any]) -> bytes:
    """A reranker for which the longer text answers better, in the dialect of the request."""
    texts = request.get("texts", request.get("documents", ()))
    name = "score" if "texts" in request else "relevance_score"
    rows: list[Any] = [{"index": n, name: float(len(text))} for n, text in enumerate(texts)]
    rows.sort(key=lambda row: -row[name])
    return json.dumps(rows if "texts" in request else {"id": "1", "results": rows}).encode()


@contextmanager
def an_endpoint(port: int = 0, answer: Answering | None = None) -> Iterator[Said]:
    """Serve on a port of this machine, by default a free one; `answer` instead of vectors."""
    said = Said()
    said.open.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            request = json.loads(self.rfile.read(length))
            said.asked.append({"path": self.path, **request})
            said.keys.append(self.headers.get("Authorization"))
            said.was_asked.set()
            if not said.lets_through(request):
                said.open.wait()
            status = said.statuses.pop(0) if said.statuses else 200
            reported = answer(request) if answer else answer_to(request, said.dimensions)
            body = reported if said.body is None else said.body
            with suppress(ConnectionError):  # who asked may have gone
                self._answer(status, body)

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            return

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        said.url = f"http://127.0.0.1:{server.server_address[1]}/v1/"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield said
        finally:
            said.open.set()
            server.shutdown()
            thread.join()
