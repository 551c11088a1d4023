"""A model that speaks: a real server of chat completions whose answers a test writes down."""

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Model:
    """The answers of the server, one for each request; the last one repeats."""

    answers: list[Any] = field(default_factory=list)
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    wait: float = 0.0
    url: str = ""

    def set_answers(self, *answers: Any) -> None:
        """Answer so from now on."""
        self.answers = list(answers)


def in_words(text: str) -> dict[str, Any]:
    """An answer in words."""
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return {"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage}


def answer_of(say: str, narration: str = "", changes: Any = ()) -> dict[str, Any]:
    """An answer in the form that was asked for."""
    return in_words(json.dumps({"say": say, "narration": narration, "changes": list(changes)}))


def answer_calls(*calls: tuple[str, Any]) -> dict[str, Any]:
    """An answer that asks for tools."""
    found = [
        {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given)},
        }
        for number, (name, given) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": found}
    return {"choices": [{"message": message}]}


@contextmanager
def a_model() -> Iterator[Model]:
    """A server of chat completions on a free port of this machine."""
    model = Model()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            model.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            if model.wait:
                time.sleep(model.wait)
            answer = model.answers.pop(0) if len(model.answers) > 1 else model.answers[0]
            status = answer if isinstance(answer, int) else 200
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                return  # nobody waits for it any more

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        model.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield model
        server.shutdown()
        thread.join()
