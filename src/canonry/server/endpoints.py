"""One path of the protocol: the SDK's application, with our bounds on bodies and sessions in it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from canonry.gateway.call import Gateway
from canonry.server.bodies import InFlight, RequestBodies
from canonry.server.options import ServerOptions
from canonry.server.sessions import Sessions

if TYPE_CHECKING:
    from canonry.server.identity import BearerVerifier

_ENVELOPE: Final = 1 << 20
"""Room for what a request says beside the arguments that its tool bounds."""

_GUARDED_ALREADY: Final = TransportSecuritySettings(enable_dns_rebinding_protection=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What all paths of a server count together."""

    sessions: Sessions
    flight: InFlight

    @classmethod
    def of(cls, options: ServerOptions, body_bytes: int) -> Self:
        """Nothing yet; the largest body alone never is too much."""
        limits = options.limits
        return cls(
            sessions=Sessions(limits), flight=InFlight(max(limits.in_flight_bytes, body_bytes))
        )


def mcp_app(
    path: str,
    server: Server,
    *,
    verifier: "BearerVerifier | None",
    options: ServerOptions,
    body_bytes: int,
    shared: Shared,
) -> Starlette:
    """The application that serves `server` under `path`."""
    auth = None
    if options.bearer is not None:
        from canonry.server.identity import auth_settings  # noqa: PLC0415 - needs PyJWT

        auth = auth_settings(options.bearer)
    app = server.streamable_http_app(
        streamable_http_path=path,
        max_sessions=None,  # counted by us, for each caller
        transport_security=_GUARDED_ALREADY,
        auth=auth,
        token_verifier=verifier,
    )
    manager = server.session_manager
    bodies = RequestBodies(manager.asgi_app.app, body_bytes, shared.flight)
    bounded: Any = shared.sessions.around(bodies)
    manager.asgi_app = bounded  # typed as the SDK's own bound on bodies, whose place this takes
    return app


def largest_body(gateway: Gateway, options: ServerOptions) -> int:
    """The largest body: as set, or as a tool that takes files needs it, with room for the rest."""
    own = (offer.thing.limits for offer in gateway.catalogue.tools.values())
    largest = max((each.characters for each in own if each is not None), default=0)
    return max(options.body_bytes, largest + _ENVELOPE)
