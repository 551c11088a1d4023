"""Asking: one call of a tool of the canon toolset, in this process, by whoever sits here."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NoReturn

from canonry.app.serving import gateway_for
from canonry.app.settings import Settings
from canonry.app.stores import open_kept_store, open_store_to_look
from canonry.assistant import CANON
from canonry.gateway.principal import Principal
from canonry.gateway.replies import Result
from canonry.gateway.tool import Tool, Toolset
from canonry.values.errors import CanonryError
from canonry.values.ids import SpaceId

TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in CANON.tools}


def _raised(error: CanonryError, **_: object) -> NoReturn:
    """The dialect of the command line: the error itself, which the entry tells."""
    raise error


_PLAIN: Final[Toolset] = replace(CANON, dialect=_raised)


async def ask(settings: Settings, tool: Tool, arguments: Mapping[str, Any]) -> Result:
    """What the tool answers; the store is opened to look if the tool only reads.

    Raises:
        CanonryError: as the tool, and as opening the store.
    """
    person = the_operator(settings, "command-line")
    plain = replace(settings, contract_only=False, read_only=False, tools=None, rate_limit=None)
    opening = open_store_to_look(plain) if tool.read_only else open_kept_store(plain, existing=True)
    async with await opening as store:
        gateway = gateway_for(plain, store.canon, (_PLAIN,))
        gateway.audit.write_to(_unheard)
        return await gateway.call(tool.name, arguments, person)


def the_operator(settings: Settings, name: str) -> Principal:
    """Whoever sits here: the settings may say what the server's agents are, but they see all."""
    return Principal(
        agent_id=name,
        user=settings.user.lower() if settings.user else None,
        world=None if settings.world is None else SpaceId(settings.world.lower()),
        authorities=None,
        local=True,
    )


def _unheard(line: bytes) -> None:
    """The lines of a server's log say nothing to who reads the reply."""
