"""`canonry inspect`: the pages of the inspector on one store, for who starts it and nobody else."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from canonry.app.settings import Settings, load_settings
from canonry.cli.entry import importing
from canonry.cli.options import settings_from, store_options
from canonry.server.options import ServerOptions

if TYPE_CHECKING:
    from canonry.gateway.call import Gateway
    from canonry.gateway.principal import Principal
    from canonry.inspector.doors import Door
    from canonry.server.http import Bearers

EPILOG = """\
\b
Examples:
  canonry inspect
  canonry inspect --data ./saltmere --port 8123
  canonry inspect --read-only --browser
"""


@click.command(epilog=EPILOG)
@click.option("--port", type=click.IntRange(0, 65_535), default=0, help="Else any that is free.")
@click.option("--read-only", is_flag=True, help="Look, and decide nothing.")
@click.option("--browser", is_flag=True, help="Open the link in the browser of this machine.")
@store_options
def inspect(*, port: int, read_only: bool, browser: bool, **given: Any) -> None:
    """Look at the canon in a browser of this machine, move through time, and decide what waits.

    It prints a link that works once; whoever opened it sees and decides what you may.
    """
    settings = replace(settings_from(given), read_only=read_only)
    asyncio.run(_inspect(settings, port, browser=browser))


def inspect_folder(folder: Path) -> None:
    """The same on the store in a folder, until it is interrupted."""
    click.echo("\nTo look at it in a browser:\n")
    asyncio.run(_inspect(load_settings({"data": folder}), 0, browser=False))


async def _inspect(settings: Settings, port: int, *, browser: bool) -> None:
    with importing():
        from canonry.app.serving import gateway_for, served  # noqa: PLC0415 - as in serve
        from canonry.app.stores import open_store, open_store_to_look  # noqa: PLC0415 - as in serve
        from canonry.assistant import CANON  # noqa: PLC0415 - as in serve
        from canonry.cli.people import the_operator  # noqa: PLC0415 - as in serve
        from canonry.inspector.app import inspector_app  # noqa: PLC0415 - as in serve
        from canonry.inspector.doors import OneLink, link_key  # noqa: PLC0415 - as in serve
        from canonry.server.http import serve_pages  # noqa: PLC0415 - as in serve

    plain = replace(settings, contract_only=False, tools=None, rate_limit=None)
    store = await (open_store_to_look(plain) if plain.read_only else open_store(plain))
    shown = served(plain, (CANON,))
    gateway = gateway_for(replace(plain, log_level="warning"), store.canon, shown)
    key = link_key(store.canon.identities)
    door = OneLink(principal=the_operator(plain, "inspector"), key=key)

    def told(address: str) -> None:
        link = f"{address}/enter?key={key}"
        click.echo(f"open this link, which works once; it ends with Ctrl-C:\n\n  {link}\n")
        if browser:
            click.launch(link)

    await serve_pages(
        gateway,
        inspector_app(gateway, door),
        port=port,
        server_options=ServerOptions(),
        close=store.close,
        listening=told,
    )


def front(gateway: "Gateway", principal: "Principal | None", bearers: "Bearers") -> Any:
    """The pages beside the protocol of a server; they are imported when somebody first comes."""
    made: list[Any] = []

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if not made:
            made.append(await asyncio.to_thread(_behind_door, gateway, principal, bearers))
        await made[0](scope, receive, send)

    return answer


def _behind_door(gateway: "Gateway", principal: "Principal | None", bearers: "Bearers") -> Any:
    from canonry.inspector.app import inspector_app  # noqa: PLC0415 - few servers are looked at
    from canonry.inspector.doors import TokenDesk, Unlocked  # noqa: PLC0415 - as above

    door: Door = TokenDesk(verify=bearers) if principal is None else Unlocked(principal=principal)
    return inspector_app(gateway, door)
