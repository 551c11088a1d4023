"""`canonry token`: print a bearer token for a server with its own secret."""

from dataclasses import replace
from typing import Any, Final

import click

from canonry.app.packages import load_toolsets
from canonry.app.serving import advice_on
from canonry.app.settings import Settings
from canonry.app.system import SystemClock
from canonry.cli.options import command_from, settings_from, token_options
from canonry.cli.serve import server_options
from canonry.gateway.principal import Principal, is_name
from canonry.log.items.sources import user_id_of
from canonry.values.errors import InvalidInput
from canonry.values.ids import SpaceId, is_uuid
from canonry.values.moments import SECOND
from canonry.values.provenance import Authority

_DAY: Final = 86_400
_DAYS_MAX: Final = 3_660  # a lost token shall become useless at some time
_TYPES: Final = {
    "authorities": click.Choice([each.value for each in Authority]),
    "days": click.FloatRange(0, _DAYS_MAX, min_open=True),
}


@command_from("token", settings=token_options, types=_TYPES)
def token(
    *,
    name: str,
    agent_type: str,
    authorities: tuple[str, ...],
    no_authority: bool,
    spaces: tuple[str, ...],
    characters: tuple[str, ...],
    world: str | None,
    user: str | None,
    days: float,
    **given: Any,
) -> None:
    """Print a bearer token for the agent NAME, signed by the secret in auth.key_file.

    Anybody with the token has its rights until it expires. To revoke it, change the secret.
    """
    settings = settings_from(given)
    options = server_options(settings).bearer
    if options is None:
        message = (
            "This server verifies no tokens. Set auth.issuer, auth.audience, auth.key_file and "
            "auth.algorithms to the values of `canonry serve`."
        )
        raise InvalidInput("token.unverified", message, path="auth.issuer")
    from canonry.server.identity import mint_token  # noqa: PLC0415 - the SDK takes a second

    if not is_name(name):
        raise click.UsageError("NAME takes 1 to 128 characters without control characters.")
    if not all(map(is_uuid, (*spaces, *characters, *((world,) if world else ())))):
        raise click.UsageError("--space, --character and --world take UUIDs.")
    usual = _usual_authorities(settings, agent_type)
    granted = frozenset(map(Authority, authorities)) or usual
    who = Principal(
        agent_id=name,
        agent_type=agent_type,
        user=user_id_of(user or name),
        spaces=frozenset(SpaceId(each.lower()) for each in spaces) or None,
        world=None if world is None else SpaceId(world.lower()),
        authorities=frozenset() if no_authority else granted,
        characters=frozenset(each.lower() for each in characters),
    )
    now, seconds = SystemClock().now() // SECOND, max(1, int(days * _DAY))
    click.echo(mint_token(who, options, now=now, seconds=seconds))
    click.echo(f"Token for {name}, agent type {agent_type}, valid for {days:g} days.", err=True)


def _usual_authorities(settings: Settings, agent_type: str) -> frozenset[Authority]:
    """Return the default authorities of an agent type; refuse an unknown one."""
    toolsets = load_toolsets(settings.toolsets)
    advice_on(replace(settings, agent_type=(agent_type,)), toolsets)
    keeps = any(agent_type in each.masters for each in toolsets)
    return frozenset(Authority) - (frozenset() if keeps else {Authority.GM})
