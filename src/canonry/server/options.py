"""What an operator may decide about the transports; every value has a safe default."""

from dataclasses import dataclass, field
from typing import Literal

ErrorMode = Literal["result", "jsonrpc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerOptions:
    """How bearer tokens over HTTP are verified, and which claims say what.

    Either `key` (a PEM public key, or a shared secret with an HS algorithm) or `jwks_url`.
    `resource_url` is the address under which clients reach the server.
    """

    issuer: str
    audience: str
    resource_url: str
    key: str | None = None
    jwks_url: str | None = None
    algorithms: tuple[str, ...] = ("RS256", "ES256", "EdDSA")
    required_scopes: tuple[str, ...] = ()
    agent_id_claim: str = "sub"
    agent_type_claim: str = "agent_type"
    spaces_claim: str = "spaces"
    world_claim: str = "world"
    authorities_claim: str = "authorities"
    user_claim: str = "user_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """How the server speaks.

    `error_mode` says whether a failed call is a tool result with `isError`, which a model can
    read, or a JSON-RPC error with the same code, message and data. `allow_unprotected` permits
    an address beyond this machine without bearer tokens. `public_url` is where clients fetch files,
    unless that is the address that is served. `drain_seconds` bounds how long calls
    in flight may still run when the client leaves a stdio server.
    """

    error_mode: ErrorMode = "result"
    tracing: bool = False
    drain_seconds: float = 0.6
    shutdown_seconds: float = 2.0
    body_bytes: int = 64 * 1024 * 1024
    allow_unprotected: bool = False
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    public_url: str | None = None
    bearer: BearerOptions | None = field(default=None)
