"""A browser without a window: requests to an application, with its cookies."""

import asyncio
import re
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from starlette.types import ASGIApp

HOST: Final = "127.0.0.1:8123"


@dataclass(frozen=True)
class Answer:
    """The answer of the server."""

    status: int
    headers: list[tuple[str, str]]
    text: str

    def first_header(self, name: str) -> str:
        """The first header of a name."""
        return next((value for key, value in self.headers if key == name), "")


@dataclass
class Reader:
    """Somebody with a browser that runs no scripts."""

    app: ASGIApp
    cookies: dict[str, str] = field(default_factory=dict)
    language: str = "en"

    async def get(self, path: str, **headers: str) -> Answer:
        """The answer to a plain request."""
        return await self.ask("GET", path, b"", headers)

    async def read_page(self, path: str) -> str:
        """The text of a page that is there."""
        answer = await self.get(path)
        assert answer.status == 200, (path, answer.status, answer.text[:2_000])
        return answer.text

    async def post(self, path: str, form: dict[str, Any], **headers: str) -> Answer:
        """The answer to a form."""
        return await self.ask("POST", path, urlencode(form, doseq=True).encode(), headers)

    async def form_key(self) -> str:
        """The key that forms of this reader carry."""
        found = re.search(r'name="key" value="([0-9a-f]{64})"', (await self.get("/")).text)
        assert found is not None
        return found[1]

    async def send_verdict(self, verdict: str, of: list[str], **more: Any) -> Answer:
        """Send the form of a verdict."""
        key = await self.form_key()
        return await self.post("/decide", {"key": key, "verdict": verdict, "of": of, **more})

    async def ask(
        self, method: str, path: str, body: bytes, headers: dict[str, str], *, raw: bool = False
    ) -> Answer:
        """One request, as a server hands it on; what is `raw` is told byte by byte."""
        given = {"host": HOST, "accept-language": self.language, **headers}
        if self.cookies:
            given["cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        bare, _, query = path.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": bare,
            "raw_path": bare.encode(),
            "root_path": "",
            "query_string": query.encode("utf-8", "surrogatepass"),
            "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in given.items()],
            "server": ("127.0.0.1", 8123),
            "client": ("127.0.0.1", 50_000),
        }
        sent: list[dict[str, Any]] = []
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if not waiting:  # whoever has asked stays until it is answered
                await asyncio.Event().wait()
            return waiting.pop()

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        found = [(k.decode(), v.decode("latin-1")) for k, v in sent[0]["headers"]]
        for name, value in found:
            if name == "set-cookie":
                key, _, rest = value.partition("=")
                self.cookies[key] = rest.partition(";")[0]
        text = b"".join(each.get("body", b"") for each in sent[1:])
        return Answer(
            status=sent[0]["status"], headers=found, text=text.decode("latin-1" if raw else "utf-8")
        )
