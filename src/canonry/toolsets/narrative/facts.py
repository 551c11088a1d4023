"""Fact tools: create, query by interval, retcon."""

from typing import Any, Final

from canonry.domain.errors import InvalidInput
from canonry.domain.provenance import Authority, CanonLevel
from canonry.domain.things.facts import FactDraft
from canonry.domain.time import parse_instant, render_instant
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.toolsets.narrative.contract import contract_tool
from canonry.toolsets.narrative.replies.present import FACT, listing, present_fact
from canonry.toolsets.narrative.replies.schemas import (
    AUTHORITY,
    INSTANT,
    TEXT,
    UUID,
    array,
    nullable,
    obj,
)
from canonry.toolsets.narrative.requests.arguments import (
    evidence_of,
    instant_of,
    limit_of,
    offset_of,
    optional_text,
    optional_uuid,
    text_of,
    uuid_of,
    uuids_of,
)
from canonry.toolsets.narrative.requests.backings import KEEPER, backing_of, created, created_schema
from canonry.toolsets.narrative.requests.pages import QUERY_MAX
from canonry.usecases.graph.create_fact import NewFact, create_fact
from canonry.usecases.graph.retcon_fact import retcon_fact
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.queries.query_facts import FactQuery, query_facts

_DURATION_MAX: Final = 10_000 * 366 * 86_400
"""Ten thousand years in seconds: past the end of all dates that can be written."""


async def _create(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    new = NewFact(
        statement=text_of(arguments, "statement", canon.policy.limits.statement),
        involved=uuids_of(arguments, "involved_entity_ids", minimum=1),
        time_ref=instant_of(arguments, "time_ref"),
        duration=_duration(arguments),
    )
    receipt = await create_fact(canon, caller, backing_of(arguments), new)
    return created(receipt, FactDraft, "fact_id")


def _duration(arguments: Arguments) -> int | None:
    value = arguments.get("duration")
    if value is None:
        return None
    if not 0 <= value <= _DURATION_MAX:
        message = f"/duration is in seconds, between 0 and {_DURATION_MAX}"
        raise InvalidInput("duration.out-of-range", message, path="/duration")
    return int(value)


async def _query(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    level, authority = arguments.get("canon_level"), arguments.get("authority")
    range_ = arguments.get("time_range") or {}
    start, end = (
        parse_instant(range_[name], path=f"/time_range/{name}") if name in range_ else None
        for name in ("start", "end")
    )
    query = FactQuery(
        start=start,
        end=end,
        level=None if level is None else CanonLevel(level),
        authority=None if authority is None else Authority(authority),
        limit=limit_of(arguments, default=50, maximum=QUERY_MAX),
        offset=offset_of(arguments),
    )
    page = await query_facts(
        canon,
        caller,
        query,
        universe_id=optional_uuid(arguments, "universe_id"),
        entity_id=optional_uuid(arguments, "entity_id"),
    )
    shown: list[Any] = [present_fact(fact) for fact in page.items]
    return {"facts": shown, "total": page.total}


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
    replacements = receipt.made(FactDraft)
    return {
        "fact_id": fact_id,
        "canon_level": CanonLevel.RETCONNED.value,
        "replacement_fact_id": replacements[0].id if replacements else None,
        "retconned_at": render_instant(receipt.recorded_at),
    }


TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool(
        "neo4j_create_fact",
        title="Create fact",
        description=(
            "Create a canonical fact about entities, with evidence. "
            "It holds from time_ref for duration seconds, or always."
        ),
        output_schema=created_schema("fact_id"),
        run=_create,
        read_only=False,
    ),
    contract_tool(
        "neo4j_query_facts",
        title="Query facts",
        description=(
            "Find facts whose interval overlaps a time range, by entity, level or authority; "
            "timeless facts match every range."
        ),
        output_schema=listing("facts", FACT),
        run=_query,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        name="neo4j_retcon_fact",
        title="Retcon fact",
        description="Say that a fact never was true, and what is true instead; both are kept.",
        input_schema=obj(
            {"fact_id": UUID, "reason": TEXT},
            {
                "replacement_statement": TEXT,
                "authority": {**AUTHORITY, "default": "system"},
                "evidence_refs": array(TEXT),
            },
        ),
        output_schema=obj(
            {
                "fact_id": UUID,
                "canon_level": TEXT,
                "replacement_fact_id": nullable(UUID),
                "retconned_at": INSTANT,
            }
        ),
        roles=KEEPER,
        run=_retcon,
        read_only=False,
        extension=True,
    ),
)
