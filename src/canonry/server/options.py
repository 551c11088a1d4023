"""Options of the transports and of bearer tokens."""

from dataclasses import dataclass, field
from typing import Final, Literal

LOOPBACK: Final = ("127.0.0.1", "::1")
ErrorMode = Literal["result", "jsonrpc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerOptions:
    """Settings of the verification of bearer tokens over HTTP.

    Give either `key` (a PEM public key, or a shared secret with an HS algorithm) or `jwks_url`,
    whose keys are fetched every `refresh_seconds` and trusted for `keys_seconds` after that.
    `resource_url` is the address at which clients reach the server. `default_agent_type` and
    `default_spaces` (ids, or `*` for all) replace claims that a token lacks.
    """

    issuer: str
    audience: str
    resource_url: str
    key: str | None = None
    jwks_url: str | None = None
    keys_seconds: float = 86_400.0
    refresh_seconds: float = 300.0
    algorithms: tuple[str, ...] = ("RS256", "ES256", "EdDSA")
    required_scopes: tuple[str, ...] = ()
    default_agent_type: str | None = None
    default_spaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """Limits for connections and callers of an HTTP server.

    `each_address` bounds the connections from one address, `each_principal` the sessions of one
    caller, `in_flight_bytes` the bodies of its requests that are being answered.
    A body has `body_seconds`, and one more second for each `body_rate` bytes that have arrived. An
    answer is abandoned after `answer_seconds` in which the client read nothing of it.
    """

    connections: int = 1_000
    each_address: int = 500
    head_bytes: int = 64 * 1024
    head_seconds: float = 10.0
    body_seconds: float = 20.0
    body_rate: int = 4 * 1024
    idle_seconds: float = 60.0
    answer_seconds: float = 30.0
    sessions: int = 10_000
    each_principal: int = 1_000
    in_flight_bytes: int = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Settings of the server's transports.

    `error_mode` says whether a failed call is a tool result with `isError`, which a model can
    read, or a JSON-RPC error with the same code, message and data. `allow_unprotected` permits
    an address beyond this machine without bearer tokens. Clients fetch files from `public_url`,
    or else from the served address. The headers `X-Forwarded-Proto` and `X-Forwarded-For` of
    `trusted_proxies` (addresses and networks) are believed. A character has `dialogue_seconds`
    to speak. `drain_seconds` bounds how long calls in flight may still run when the client
    leaves a stdio server.
    """

    error_mode: ErrorMode = "result"
    drain_seconds: float = 0.6
    shutdown_seconds: float = 2.0
    body_bytes: int = 64 * 1024 * 1024
    allow_unprotected: bool = False
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    public_url: str | None = None
    trusted_proxies: tuple[str, ...] = LOOPBACK
    dialogue_seconds: float = 2.5
    limits: HttpLimits = field(default_factory=HttpLimits)
    bearer: BearerOptions | None = field(default=None)


SECRET_BYTES: Final = {"HS256": 32, "HS384": 48, "HS512": 64}
"""The least bytes of a shared secret, by RFC 7518, section 3.2."""

EVERY_SPACE: Final = "*"
"""Stands for all spaces in a token."""

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "ES256K", "EdDSA"),
    *SECRET_BYTES,
)
