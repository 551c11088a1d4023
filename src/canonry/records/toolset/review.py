"""Review tools: values that can be read in several ways, and sources that should not be."""

from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import BOOLEAN, COUNT, OBJECT, TEXT, UUID, Shape, array, given, nullable
from canonry.gateway.tool import Arguments, Reply, Run
from canonry.records.toolset.arguments import optional_text, source_of, text_of
from canonry.records.toolset.shapes import ANYTHING, first_of
from canonry.records.usecases.review.list_unclear import list_unclear
from canonry.records.usecases.review.settle_values import settle_values
from canonry.records.usecases.withdrawing.withdraw_source import withdraw_source

EXAMPLE: Final = Shape(
    entity_id=UUID.of("entity.id"),
    value=ANYTHING.of("unclear.fragment.value"),
    readings=OBJECT.of("unclear.readings"),
)
OPEN: Final = Shape(
    source_id=nullable(UUID),
    entity_type=TEXT,
    field=TEXT.of("name"),
    reason=TEXT,
    count=COUNT,
    examples=array(EXAMPLE),
)
_LISTED: Final = Shape(unclear=given(array(OPEN)), truncated=given(BOOLEAN))
_SETTLED: Final = Shape(settled=COUNT, left=COUNT)
_WITHDRAWN: Final = Shape(
    withdrawn=given(BOOLEAN),
    sources=first_of(UUID, "sources"),
    observations=COUNT,
    relationships=COUNT.of("relations"),
    gone=first_of(UUID, "gone"),
    changed=first_of(UUID, "changed"),
    total_entities=COUNT.of(lambda done: len(done.gone) + len(done.changed)),
)


async def _list(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    found, more = await list_unclear(canon, caller, optional_text(arguments, "entity_type"))
    return _LISTED(None, unclear=found, truncated=more)


async def _settle(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    done = await settle_values(
        canon,
        caller,
        arguments.get("user_id"),
        source_id=source_of(arguments),
        name=text_of(arguments, "field"),
        notation=arguments["read_as"],
    )
    return _SETTLED(done)


async def _withdraw(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    dry_run = bool(arguments["dry_run"])
    done = await withdraw_source(
        canon,
        caller,
        arguments.get("user_id"),
        source_of(arguments),
        reason=optional_text(arguments, "reason") or "withdrawn by the user",
        dry_run=dry_run,
    )
    return _WITHDRAWN(done, withdrawn=not dry_run)


RUNS: Final[dict[str, Run]] = {
    "list_unclear_values": _list,
    "settle_unclear_values": _settle,
    "withdraw_source": _withdraw,
}
"""By the names of their tools."""
