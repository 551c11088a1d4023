"""Fact tools: create, query by interval, retcon."""

from collections.abc import Iterator
from typing import Any, Final

from canonry.canon.commands.create_fact import NewFact, create_fact
from canonry.canon.commands.retcon_fact import retcon_fact
from canonry.canon.queries.query_facts import FactQuery, query_facts
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Receipt
from canonry.gateway.shapes import (
    INSTANT,
    TEXT,
    UUID,
    WORD,
    Shape,
    array,
    given,
    nullable,
    obj,
)
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.entries import FactRetconned
from canonry.log.items.facts import FactDraft
from canonry.narrative.toolset.arguments import (
    DETAIL,
    backing_of,
    evidence_of,
    instant_of,
    optional_of,
    optional_text,
    optional_uuid,
    page_of,
    text_of,
    uuid_of,
    uuids_of,
)
from canonry.narrative.toolset.contract import contract_tool, writing_tool
from canonry.narrative.toolset.rows import Listing, RowShape
from canonry.narrative.toolset.shapes import AUDIENCE, AUTHORITY, FACT, canon_created, created
from canonry.values.errors import InvalidInput
from canonry.values.provenance import Authority, CanonLevel
from canonry.values.time import parse_instant

_DURATION_MAX: Final = 10_000 * 366 * 86_400
"""Ten thousand years in seconds: past the end of all dates that can be written."""
_CREATED: Final = canon_created("fact_id")
FACT_ROW: Final = RowShape(
    FACT,
    *("fact_id", "statement", "time_ref", "until", "involved_entity_ids", "canon_level"),
    *("authority", "time_words", "superseded_by"),
)
_FACTS: Final = Listing("facts", FACT_ROW)
_RETCONNED: Final = Shape(
    fact_id=given(UUID),
    canon_level=WORD.of(lambda _: CanonLevel.RETCONNED),
    replacement_fact_id=given(nullable(UUID)),
    retconned_at=INSTANT.of("recorded_at"),
)


def _ids(receipt: Receipt[Any]) -> Iterator[str]:
    return (str(fact.id) for fact in receipt.made(FactDraft))


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    new = NewFact(
        statement=text_of(arguments, "statement", canon.policy.limits.statement),
        involved=uuids_of(arguments, "involved_entity_ids", minimum=1),
        time_ref=instant_of(arguments, "time_ref"),
        duration=_duration(arguments),
    )
    receipt = await create_fact(canon, caller, backing_of(arguments), new)
    return created(_CREATED, receipt, FactDraft)


def _duration(arguments: Arguments) -> int | None:
    value = arguments.get("duration")
    if value is None:
        return None
    if not 0 <= value <= _DURATION_MAX:
        message = f"/duration is in seconds, between 0 and {_DURATION_MAX}"
        raise InvalidInput("duration.out-of-range", message, path="/duration")
    return int(value)


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    range_ = arguments.get("time_range") or {}
    start, end = (
        parse_instant(range_[name], path=f"/time_range/{name}") if name in range_ else None
        for name in ("start", "end")
    )
    query = FactQuery(
        start=start,
        end=end,
        level=optional_of(arguments, "canon_level", CanonLevel),
        authority=optional_of(arguments, "authority", Authority),
        **page_of(arguments),
    )
    page = await query_facts(
        canon,
        caller,
        query,
        universe_id=optional_uuid(arguments, "universe_id"),
        entity_id=optional_uuid(arguments, "entity_id"),
    )
    return await _FACTS(canon, caller, page, arguments)


async def _retcon(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits, fact_id = canon.policy.limits, uuid_of(arguments, "fact_id")
    receipt = await retcon_fact(
        canon,
        caller,
        fact_id,
        reason=text_of(arguments, "reason", limits.description),
        replacement=optional_text(arguments, "replacement_statement", limits.statement),
        authority=Authority(arguments["authority"]),
        evidence=evidence_of(arguments) if "evidence_refs" in arguments else (),
    )
    instead = next(
        entry.replaced_by
        for entry in receipt.entries
        if isinstance(entry, FactRetconned) and entry.fact_id == fact_id
    )
    return _RETCONNED(receipt, fact_id=fact_id, replacement_fact_id=instead)


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "neo4j_create_fact",
        "Create fact",
        "Create a canonical fact about entities, with evidence. "
        "It holds from time_ref for duration seconds, or always.",
        _create,
        gives=_CREATED,
        also={"audience": AUDIENCE},
    ),
    contract_tool(
        "neo4j_query_facts",
        "Query facts",
        "Find facts whose interval overlaps a time range, by entity, level or authority; "
        "timeless facts match every range.",
        _query,
        gives=_FACTS.gives,
        reads=True,
        also=DETAIL,
    ),
    writing_tool(
        "neo4j_retcon_fact",
        "Retcon fact",
        "Say that a fact never was true, and what is true instead; both are kept.",
        _retcon,
        takes=obj(
            {"fact_id": UUID, "reason": TEXT},
            {
                "replacement_statement": TEXT,
                "authority": AUTHORITY.but(default="system"),
                "evidence_refs": array(TEXT),
            },
        ),
        gives=_RETCONNED,
    ),
)
