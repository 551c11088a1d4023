"""A local endpoint for language models: a real HTTP server whose answers a test writes down."""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Said:
    """The answers of the server, after these statuses, and the requests with their headers."""

    body: bytes = b"{}"
    statuses: list[int] = field(default_factory=list)
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    url: str = ""

    def answers(self, value: Any) -> None:
        """Answer with this value from now on."""
        self.body = json.dumps(value).encode()


@contextmanager
def an_endpoint() -> Iterator[Said]:
    """Serve on a free port of this machine."""
    said = Said()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said.asked.append({"path": self.path, **request})
            said.headers.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(said.statuses.pop(0) if said.statuses else 200)
            self.send_header("Content-Length", str(len(said.body)))
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(said.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        said.url = f"http://127.0.0.1:{server.server_address[1]}/v1/"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield said
        server.shutdown()
        thread.join()


def split_question(question: str) -> tuple[str, str]:
    """Return the text of a question outside its data marks, and the text between them."""
    first, _, rest = question.partition("\n")
    (mark,) = set(re.findall(r"data-[0-9a-f]{32}", first))
    opening, closing = f"<{mark}>\n", f"\n</{mark}>"
    assert rest.startswith(opening)
    assert rest.endswith(closing)
    inside = rest.removeprefix(opening).removesuffix(closing)
    assert mark not in inside
    return first, inside
