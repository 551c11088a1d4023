"""An issuer of tokens: a real HTTP server of keys, which fails in the ways that servers fail."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

Mode = Literal["answers", "refuses", "hangs", "drips", "junk", "empty", "redirects"]


@dataclass
class Issuer:
    """The behaviour of the issuer, its keys by their ids, and the number of requests."""

    mode: Mode = "answers"
    keys: dict[str, ec.EllipticCurvePrivateKey] = field(default_factory=dict)
    asked: int = 0
    url: str = ""
    ended: threading.Event = field(default_factory=threading.Event)

    def rotate_key(self, key_id: str) -> None:
        """Sign with another key from now on, and publish no other."""
        self.keys = {key_id: ec.generate_private_key(ec.SECP256R1())}

    def published_keys(self) -> bytes:
        """The set of keys."""
        rows = [
            {**public_key(key), "kid": key_id, "use": "sig", "alg": "ES256"}
            for key_id, key in self.keys.items()
        ]
        return json.dumps({"keys": rows}).encode()

    def sign_token(self, claims: Mapping[str, Any], key_id: str) -> str:
        """A token that is signed with one of the keys, or with one that is not published."""
        key = self.keys.get(key_id) or ec.generate_private_key(ec.SECP256R1())
        return jwt.encode(dict(claims), key, algorithm="ES256", headers={"kid": key_id})


def public_key(key: ec.EllipticCurvePrivateKey) -> dict[str, Any]:
    made: dict[str, Any] = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return made


@contextmanager
def an_issuer() -> Iterator[Issuer]:
    """Serve keys on a free port of this machine."""
    issuer = Issuer()
    issuer.rotate_key("one")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            issuer.asked += 1
            with suppress(ConnectionError):
                self._answer(issuer.mode)

        def _answer(self, mode: Mode) -> None:
            if mode == "hangs":
                issuer.ended.wait()
                return
            status = {"refuses": 503, "redirects": 302}.get(mode, 200)
            junk = {"junk": b"<html>Sign in</html>", "empty": b'{"keys": []}', "drips": b" " * 99}
            body = junk.get(mode, issuer.published_keys())
            self.send_response(status)
            self.send_header("Location", "http://127.0.0.1:9/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for each in body if mode == "drips" else ():
                self.wfile.write(bytes((each,)))
                if issuer.ended.wait(0.3):
                    return
            if mode != "drips":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer.url = f"http://127.0.0.1:{server.server_address[1]}/keys"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield issuer
        finally:
            issuer.ended.set()
            server.shutdown()
            thread.join()
