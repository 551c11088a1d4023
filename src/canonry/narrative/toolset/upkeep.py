"""Upkeep tools: keeping what is canon in order as it grows; extensions, all of them write."""

from typing import Final

from canonry.canon.canonization.change_audience import change_audience
from canonry.canon.commands.entities import EntityUpdate, update_entity
from canonry.canon.commands.retcon_things import Retcon, Retconnable, list_dependents, retcon_thing
from canonry.canon.commands.transfer_quantity import QuantityTransfer, transfer_quantity
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import (
    BOOLEAN,
    INSTANT,
    NUMBER,
    OBJECT,
    TEXT,
    UUID,
    WORD,
    Shape,
    array,
    enum,
    given,
    nullable,
    obj,
)
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.entries import THING_KINDS
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Event, Fact, Relation
from canonry.log.items.scenes import StoryStatus
from canonry.narrative.toolset.arguments import (
    evidence_of,
    instant_of,
    optional_text,
    text_of,
    uuid_of,
    uuids_of,
)
from canonry.narrative.toolset.contract import writing_tool
from canonry.narrative.toolset.shapes import AUTHORITY, UUIDS
from canonry.narrative.usecases.stories import update_story
from canonry.values.audience import audience_in
from canonry.values.provenance import Authority

_UPDATED: Final = Shape(entity_id=UUID.of("id"), name=TEXT, aliases=array(TEXT), updated_at=INSTANT)


async def _update_entity(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    limits = canon.policy.limits
    update = EntityUpdate(
        name=optional_text(arguments, "name", limits.name),
        description=optional_text(arguments, "description", limits.description),
        properties=arguments.get("properties") or {},
    )
    updated = await update_entity(
        canon,
        caller,
        uuid_of(arguments, "entity_id"),
        update,
        authority=Authority(arguments["authority"]),
        evidence=evidence_of(arguments),
    )
    return _UPDATED(updated)


def says(thing: Retconnable) -> str:
    """What a thing of canon is, in words."""
    match thing:
        case Entity():
            return thing.name
        case Fact():
            return thing.statement
        case Event():
            return thing.title
        case Relation():
            return thing.rel_type


DEPENDENT: Final = Shape(
    id=UUID.of("thing.id"),
    kind=WORD.of(lambda each: THING_KINDS[type(each.thing)]),
    says=TEXT.of(lambda each: says(each.thing)),
    tie=WORD,
    rests_on=UUID,
    certain=BOOLEAN,
)
"""What rests on a thing; `certain`: it falls along, where asked, without being named."""

_RETCONNED: Final = Shape(
    id=UUID.of("thing.id"),
    kind=WORD,
    dry_run=given(BOOLEAN),
    dependents=array(DEPENDENT),
    dependents_truncated=BOOLEAN.of("more"),
    retconned=UUIDS.of("fallen"),
    resumed=UUIDS,
)


async def _retcon(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    thing_id, dry_run = uuid_of(arguments, "id"), bool(arguments["dry_run"])
    retcon = Retcon(
        reason=text_of(arguments, "reason", canon.policy.limits.description),
        along=bool(arguments["along"]),
        along_ids=uuids_of(arguments, "along_ids"),
        authority=Authority(arguments["authority"]),
        evidence=evidence_of(arguments) if "evidence_refs" in arguments else (),
    )
    if dry_run:
        found = await list_dependents(canon, caller, thing_id)
    else:
        found = await retcon_thing(canon, caller, thing_id, retcon)
    return _RETCONNED(found, dry_run=dry_run)


_TRANSFERRED: Final = Shape(
    from_quantity=NUMBER,
    to_quantity=NUMBER,
    from_relationship_id=nullable(UUID).of("from_relation"),
    to_relationship_id=UUID.of("to_relation"),
)
"""How much each has from then on, and the relations that say so."""


async def _transfer(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    transfer = QuantityTransfer(
        from_id=uuid_of(arguments, "from_entity_id"),
        to_id=uuid_of(arguments, "to_entity_id"),
        thing_id=uuid_of(arguments, "thing_entity_id"),
        quantity=arguments["quantity"],
        at=instant_of(arguments, "at"),
        authority=Authority(arguments["authority"]),
        evidence=evidence_of(arguments),
    )
    return _TRANSFERRED(await transfer_quantity(canon, caller, transfer))


_MOVED: Final = Shape(story_id=UUID.of("id"), status=WORD)


_AUDIENCE: Final = Shape(
    ids=UUIDS,
    audience=array(TEXT).of(lambda told: told.audience or ("everyone",)),
    changed_at=INSTANT.of("recorded_at"),
)


async def _set_audience(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    told = await change_audience(
        canon,
        caller,
        uuid_of(arguments, "id"),
        audience_in(arguments["audience"]),
        reason=text_of(arguments, "reason", canon.policy.limits.description),
        evidence=evidence_of(arguments) if "evidence_refs" in arguments else (),
    )
    return _AUDIENCE(told)


async def _update_story(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    status = StoryStatus(arguments["status"])
    return _MOVED(await update_story(canon, caller, uuid_of(arguments, "story_id"), status))


TOOLS: Final[tuple[Tool, ...]] = (
    writing_tool(
        "neo4j_update_entity",
        "Update entity",
        "Change an entity's name, description or properties. "
        "What was said before is kept, and former names still find it.",
        _update_entity,
        takes=obj(
            {"entity_id": UUID, "authority": AUTHORITY, "evidence_refs": array(TEXT)},
            {"name": TEXT, "description": TEXT, "properties": OBJECT},
        ),
        gives=_UPDATED,
        idempotent=True,
    ),
    writing_tool(
        "neo4j_retcon_thing",
        "Retcon thing",
        "Say that a fact, event, relation or entity never was. Lists what rests on it; "
        "dry_run only lists, along retcons what is certain, along_ids what is named.",
        _retcon,
        takes=obj(
            {"id": UUID, "reason": TEXT},
            {
                "dry_run": BOOLEAN.but(default=False),
                "along": BOOLEAN.but(default=False),
                "along_ids": array(UUID),
                "authority": AUTHORITY.but(default="system"),
                "evidence_refs": array(TEXT),
            },
        ),
        gives=_RETCONNED,
    ),
    writing_tool(
        "neo4j_transfer_quantity",
        "Transfer quantity",
        "Give a counted part of what somebody OWNS, like coins, to another. "
        "Nobody gives more than they have.",
        _transfer,
        takes=obj(
            {
                "from_entity_id": UUID,
                "to_entity_id": UUID,
                "thing_entity_id": UUID,
                "quantity": NUMBER,
                "authority": AUTHORITY,
                "evidence_refs": array(TEXT),
            },
            {"at": INSTANT},
        ),
        gives=_TRANSFERRED,
    ),
    writing_tool(
        "neo4j_update_story",
        "Update story",
        "Complete or abandon a story, or take it up again as active.",
        _update_story,
        takes=obj({"story_id": UUID, "status": enum("completed", "abandoned", "active")}),
        gives=_MOVED,
        idempotent=True,
    ),
    writing_tool(
        "neo4j_set_audience",
        "Set audience",
        "Reveal or hide a fact, event, relation, entity or source: 'everyone', 'gm', "
        "'character:<id>', 'player:<user>'.",
        _set_audience,
        takes=obj(
            {"id": UUID, "audience": array(TEXT), "reason": TEXT},
            {"evidence_refs": array(TEXT)},
        ),
        gives=_AUDIENCE,
        idempotent=True,
    ),
)
