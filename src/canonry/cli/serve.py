"""`canonry serve` and `canonry inspect`: serve a store to agents and to browsers."""

import asyncio
import json
import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from canonry.app.load_settings import load_settings
from canonry.app.packages import is_installed, load_faces, load_toolsets
from canonry.app.settings import Settings
from canonry.cli.entry import print_errors, without_collection
from canonry.cli.options import SettingsCommand, all_options, settings_from, store_options
from canonry.cli.terminal import EXAMPLES
from canonry.recall.usecases.search_by_meaning import RecallServices
from canonry.server.options import BearerOptions, ErrorMode, HttpLimits, ServerOptions
from canonry.values.errors import InvalidInput

if TYPE_CHECKING:
    from canonry.gateway.call import Gateway
    from canonry.gateway.principal import Principal
    from canonry.inspector.sign_in import AuthMethod
    from canonry.server.http import Bearers
    from canonry.server.stdio import OpenGateway


@click.command(cls=SettingsCommand, epilog=EXAMPLES["inspect"])
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Default: a free port.")
@click.option("--read-only", is_flag=True, help="Show pages without decisions.")
@click.option("--browser", is_flag=True, help="Open the link in your browser.")
@store_options
def inspect(*, port: int, read_only: bool, browser: bool, **given: Any) -> None:
    """Browse the canon at any time in a browser of this machine, and decide proposals.

    It prints a link that works once and gives a browser your own rights.
    """
    settings = replace(settings_from(given), read_only=read_only)
    asyncio.run(_serve_inspector(settings, port, browser=browser))


def inspect_folder(folder: Path) -> None:
    """Serve the inspector of the store in `folder` until it is interrupted."""
    click.echo("\nTo see it in a browser:\n")
    asyncio.run(_serve_inspector(load_settings({"data": folder}), 0, browser=False))


async def _serve_inspector(settings: Settings, port: int, *, browser: bool) -> None:
    with without_collection():
        from canonry.app.serving import gateway_for, served_toolsets  # noqa: PLC0415 - as in serve
        from canonry.app.stores import open_store, open_store_to_read  # noqa: PLC0415 - as in serve
        from canonry.assistant import CANON  # noqa: PLC0415 - as in serve
        from canonry.cli.canon_commands import operator_principal  # noqa: PLC0415 - as in serve
        from canonry.inspector.app import inspector_app  # noqa: PLC0415 - as in serve
        from canonry.inspector.sign_in import OneLink, link_key  # noqa: PLC0415 - as in serve
        from canonry.server.http import LOCAL, local_pages, serve_app  # noqa: PLC0415 - as in serve

    plain = replace(settings, contract_only=False, tools=None, rate_limit=None)
    store = await (open_store_to_read(plain) if plain.read_only else open_store(plain))
    shown = served_toolsets(plain, (CANON,))
    gateway = gateway_for(replace(plain, log_level="warning"), store.canon, shown)
    key = link_key(store.canon.identities)
    auth = OneLink(principal=operator_principal(plain, "inspector"), key=key)

    def announce_link(address: str) -> None:
        link = f"{address}/enter?key={key}"
        click.echo(f"Open this link; it works once. Press Ctrl-C to stop.\n\n  {link}\n")
        if browser:
            click.launch(link)

    options, pages = ServerOptions(), inspector_app(gateway, auth)
    await serve_app(
        gateway,
        partial(local_pages, pages, options),
        address=(LOCAL, port),
        server_options=options,
        close=store.close,
        listening=announce_link,
    )


def inspector_front(gateway: "Gateway", principal: "Principal | None", verify: "Bearers") -> Any:
    """Return the inspector of a server; its modules are imported at the first request."""
    made: list[Any] = []

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if not made:
            made.append(await asyncio.to_thread(_guarded_inspector, gateway, principal, verify))
        await made[0](scope, receive, send)

    return answer


def _guarded_inspector(gateway: "Gateway", principal: "Principal | None", verify: "Bearers") -> Any:
    from canonry.inspector.app import inspector_app  # noqa: PLC0415 - few servers show pages
    from canonry.inspector.sign_in import TokenSignIn, Unlocked  # noqa: PLC0415 - as above

    auth: AuthMethod = (
        TokenSignIn(verify=verify) if principal is None else Unlocked(principal=principal)
    )
    return inspector_app(gateway, auth)


@click.command(cls=SettingsCommand, epilog=EXAMPLES["serve"])
@all_options
def serve(**given: Any) -> None:
    """Serve agents over standard input and output, or over HTTP with --http.

    The store is one folder, which several servers may share. A confirmed write is durable.
    """
    settings = settings_from(given)
    options = server_options(settings)
    address = settings.http_address()
    if address is None:
        if sys.stdin.isatty():
            from canonry.cli.connect.command import launch_command  # noqa: PLC0415 - clients do not need it

            command = shlex.join(launch_command(sys.argv[0], sys.executable, sys.prefix))
            print_errors("Waiting for an MCP client on standard input. Press Ctrl-C to stop.")
            print_errors(f"To connect a client, run `{command} connect`.")
        asyncio.run(_serve_stdio(settings, options))
    else:
        asyncio.run(_serve_http(settings, options, *address))


async def _serve_stdio(settings: Settings, options: ServerOptions) -> None:
    faces = load_faces(settings.toolsets)
    if settings.contract_only:
        faces = tuple(each.as_published() for each in faces)
    with without_collection():
        from canonry.server.stdio import serve_stdio  # noqa: PLC0415 - the SDK takes a second

    await serve_stdio(faces, partial(_open_gateway, settings), server_options=options)


async def _serve_http(settings: Settings, options: ServerOptions, host: str, port: int) -> None:
    with without_collection():
        from canonry.server.http import http_app, require_protection, serve_app  # noqa: PLC0415 - the web stack takes a second

    require_protection(host, options)
    shown = is_installed("inspector") and settings.http_inspector and "canon" in settings.toolsets
    opened = await _open_gateway(settings)
    app = partial(http_app, opened.gateway, opened.principal, host=host, server_options=options)
    await serve_app(
        opened.gateway,
        partial(app, front=inspector_front if shown else None),
        address=(host, port),
        server_options=options,
        close=opened.close,
        listening=lambda address: print_notice(f"Serving {address}/mcp until you press Ctrl-C."),
    )


async def _open_gateway(settings: Settings) -> "OpenGateway":
    """Open the tools and the store; their import takes longer than greeting a client."""
    with without_collection():
        from canonry.app import recall_models  # noqa: PLC0415 - as below
        from canonry.app.serving import advice_on, gateway_for, principal_for, served_toolsets  # noqa: PLC0415 - loads the gateway
        from canonry.app.stores import open_sealed_store, open_store  # noqa: PLC0415 - as above
        from canonry.canon.maintenance.reread_facts import count_unread, unread_note  # noqa: PLC0415 - as above
        from canonry.server.stdio import OpenGateway  # noqa: PLC0415 - loads the SDK

        toolsets = load_toolsets(settings.toolsets)
        if not settings.contract_only and is_installed("inspector"):
            from canonry.inspector.rendering import with_apps  # noqa: PLC0415 - an optional package

            toolsets = with_apps(toolsets)
        toolsets = served_toolsets(settings, toolsets)
    principal = principal_for(settings)
    if (advice := advice_on(settings, toolsets)) is not None:
        print_notice(advice)
    only_reads = all(each.sealed for each in toolsets) and not settings.memory
    store = await (open_sealed_store(settings) if only_reads else open_store(settings))
    if waiting := await count_unread(store.canon):
        print_notice(f"{unread_note(waiting)} Run `canonry upgrade`.")
    recall, close = store.canon.find_service(RecallServices).recall, store.close
    if recall is None and recall_models.lacks_meaning(settings):
        print_notice(f"{recall_models.WORDS_ONLY} {recall_models.INSTALL_MEANING}")
    if recall is not None:
        folder = recall_models.recall_folder(settings)
        indexing = recall_models.BackgroundIndexing(store.canon, recall, folder, print_notice)
        indexing.start_indexing()

        async def stop_all() -> None:
            await indexing.stop_indexing()
            await store.close()

        close = stop_all
    gateway = gateway_for(settings, store.canon, toolsets)
    return OpenGateway(gateway=gateway, principal=principal, close=close)


def print_notice(message: str) -> None:
    """Print a message on a terminal, or else write it as a line of the log."""
    if sys.stderr.isatty():
        print_errors(message)
    else:
        click.echo(json.dumps({"event": "notice", "message": message}), err=True)


def server_options(settings: Settings) -> ServerOptions:
    """Return the options of the server from the settings."""
    mode: ErrorMode = "jsonrpc" if settings.error_mode == "jsonrpc" else "result"
    connections = max(1, int(settings.http_connections))
    each = settings.http_connections_each
    return ServerOptions(
        error_mode=mode,
        allow_unprotected=settings.http_public,
        allowed_hosts=settings.http_allowed_hosts,
        allowed_origins=settings.http_allowed_origins,
        trusted_proxies=settings.http_trusted_proxies,
        dialogue_seconds=settings.dialogue_seconds,
        public_url=settings.truth_public_url,
        limits=HttpLimits(
            connections=connections,
            each_address=max(1, connections // 2 if each is None else int(each)),
            idle_seconds=settings.http_idle,
            each_principal=max(1, int(settings.http_sessions_each)),
            in_flight_bytes=int(settings.http_in_flight * 1024 * 1024),
        ),
        bearer=_bearer_options(settings),
    )


def _bearer_options(settings: Settings) -> BearerOptions | None:
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
    """Return the content of the key file, if one is set.

    Raises:
        InvalidInput: `settings.unreadable`.
    """
    if settings.auth_key_file is None:
        return None
    try:
        return settings.auth_key_file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        message = f"The key file {settings.auth_key_file} cannot be read. Check auth.key_file."
        raise InvalidInput("settings.unreadable", message, path="auth.key_file") from None
