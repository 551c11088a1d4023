"""`canonry serve`: the settings become a gateway over a store, behind stdio or HTTP."""

import asyncio
import json
import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from canonry.app.packages import is_installed, load_faces, load_toolsets
from canonry.app.settings import Settings
from canonry.cli.entry import complain, importing
from canonry.cli.inspecting import front
from canonry.cli.options import SettingsCommand, all_options, settings_from
from canonry.recall.usecases.recall import RecallServices
from canonry.server.options import BearerOptions, ErrorMode, HttpLimits, ServerOptions
from canonry.values.errors import InvalidInput

if TYPE_CHECKING:
    from canonry.server.stdio import OpenGateway

_MIB: Final = 1024 * 1024

EPILOG = """\
\b
A client that starts its own server, for one person:
  canonry serve
The same for an agent that may only read:
  canonry serve --agent-type Reader
Several clients over HTTP, on this machine:
  canonry serve --http 127.0.0.1:8000 --agent-type Contributor
A published contract, for one of its agents, or for several by one client:
  canonry serve --toolsets narrative --contract-only --agent-type Orchestrator
  canonry serve --toolsets narrative --trust-meta

\b
Each option is also a variable and a key of the settings file:
  --agent-type X    CANONRY_AGENT_TYPE=X    agent_type = "X"
  --auth-issuer X   CANONRY_AUTH_ISSUER=X   [auth] issuer = "X"
The numbers that decide what becomes canon stand in the file only:
  [policy.scoring] threshold = 0.5
"""


@click.command(cls=SettingsCommand, epilog=EPILOG)
@all_options
def serve(**given: Any) -> None:
    """Serve agents over standard input and output, or over HTTP with --http.

    The store is one folder; several servers may share it. What was answered is durable.
    """
    settings = settings_from(given)
    options = server_options(settings)
    address = settings.address()
    if address is None:
        if sys.stdin.isatty():
            _say_what_is_awaited()
        asyncio.run(_stdio(settings, options))
    else:
        asyncio.run(_http(settings, options, *address))


def _say_what_is_awaited() -> None:
    """A person has started it by hand, and would see nothing."""
    from canonry.cli.connecting.clients import launch  # noqa: PLC0415 - clients do not need it

    command = shlex.join(launch(sys.argv[0], sys.executable, sys.prefix))
    complain("waiting for an MCP client on standard input, which starts this itself; Ctrl-C ends")
    complain(f"to connect a client, run `{command} connect`")


async def _stdio(settings: Settings, options: ServerOptions) -> None:
    faces = load_faces(settings.toolsets)
    if settings.contract_only:
        faces = tuple(each.published() for each in faces)
    with importing():
        from canonry.server.stdio import serve_stdio  # noqa: PLC0415 - the SDK takes a second

    await serve_stdio(faces, partial(_open, settings), server_options=options)


async def _http(settings: Settings, options: ServerOptions, host: str, port: int) -> None:
    with importing():
        from canonry.server.http import (  # noqa: PLC0415 - the web stack takes a second
            require_protection,
            serve_http,
        )

    require_protection(host, options)
    has_pages = is_installed("inspector") and settings.http_inspector
    opened = await _open(settings)
    await serve_http(
        opened.gateway,
        opened.principal,
        host=host,
        port=port,
        server_options=options,
        close=opened.close,
        listening=lambda address: notice(f"serving {address}/mcp; it ends with Ctrl-C"),
        front=front if has_pages and "canon" in settings.toolsets else None,
    )


async def _open(settings: Settings) -> "OpenGateway":
    """The tools and the store; importing both takes longer than greeting a client."""
    with importing():
        from canonry.app.indexing import BackgroundIndexing  # noqa: PLC0415 - as below
        from canonry.app.recalling import recall_folder  # noqa: PLC0415 - as below
        from canonry.app.serving import advice_on, gateway_for, principal_for, served  # noqa: PLC0415 - loads the gateway
        from canonry.app.stores import open_sealed_store, open_store  # noqa: PLC0415 - as above
        from canonry.server.stdio import OpenGateway  # noqa: PLC0415 - loads the SDK

        toolsets = load_toolsets(settings.toolsets)
        if not settings.contract_only and is_installed("inspector"):
            from canonry.inspector.apps import with_apps  # noqa: PLC0415 - it can be left out

            toolsets = with_apps(toolsets)
        toolsets = served(settings, toolsets)
    principal = principal_for(settings)
    if (advice := advice_on(settings, toolsets)) is not None:
        notice(advice)
    only_reads = all(each.sealed for each in toolsets) and not settings.memory
    store = await (open_sealed_store(settings) if only_reads else open_store(settings))
    recall, close = store.canon.service(RecallServices).recall, store.close
    if recall is not None:
        indexing = BackgroundIndexing(store.canon, recall, recall_folder(settings), notice)
        indexing.start()

        async def stop() -> None:
            await indexing.stop()
            await store.close()

        close = stop
    gateway = gateway_for(settings, store.canon, toolsets)
    return OpenGateway(gateway=gateway, principal=principal, close=close)


def notice(message: str) -> None:
    """Tell the operator: in words on a terminal, else as one more structured line of the log."""
    if sys.stderr.isatty():
        complain(message)
    else:
        click.echo(json.dumps({"event": "notice", "message": message}), err=True)


def server_options(settings: Settings) -> ServerOptions:
    """How the server speaks, as the settings say."""
    mode: ErrorMode = "jsonrpc" if settings.error_mode == "jsonrpc" else "result"
    return ServerOptions(
        error_mode=mode,
        allow_unprotected=settings.http_public,
        allowed_hosts=settings.http_allowed_hosts,
        allowed_origins=settings.http_allowed_origins,
        trusted_proxies=settings.http_trusted_proxies,
        dialogue_seconds=settings.dialogue_seconds,
        public_url=settings.truth_public_url,
        limits=_limits(settings),
        bearer=_bearer(settings),
    )


def _limits(settings: Settings) -> HttpLimits:
    connections = max(1, int(settings.http_connections))
    each = settings.http_connections_each
    return HttpLimits(
        connections=connections,
        each_address=max(1, connections // 2 if each is None else int(each)),
        idle_seconds=settings.http_idle,
        each_principal=max(1, int(settings.http_sessions_each)),
        in_flight_bytes=int(settings.http_in_flight * _MIB),
    )


def _bearer(settings: Settings) -> BearerOptions | None:
    if settings.auth_issuer is None or settings.auth_audience is None:
        return None
    return BearerOptions(
        issuer=settings.auth_issuer,
        audience=settings.auth_audience,
        resource_url=settings.auth_resource_url or f"http://{settings.http}/mcp",
        key=read_key(settings),
        jwks_url=settings.auth_jwks_url,
        keys_seconds=settings.auth_keys_hours * 3_600,
        algorithms=settings.auth_algorithms,
        required_scopes=settings.auth_scopes,
        default_agent_type=settings.auth_default_agent_type,
        default_spaces=settings.auth_default_spaces,
    )


def read_key(settings: Settings) -> str | None:
    """The content of the key file, if one is set.

    Raises:
        InvalidInput: `settings.unreadable`.
    """
    if settings.auth_key_file is None:
        return None
    try:
        return settings.auth_key_file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        message = f"the key file {settings.auth_key_file} cannot be read: name one that can"
        raise InvalidInput("settings.unreadable", message, path="auth.key_file") from None
