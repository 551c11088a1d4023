"""The world toolset: tools that change worlds, tools on what is known and said, and their order."""

import asyncio
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from typing_extensions import override

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.telemetry_names import EventName
from canonry.gateway.audit import AuditLine, CallCounter
from canonry.gateway.limits import PublishedRate
from canonry.gateway.offers import ContractFile, ease_tool
from canonry.gateway.replies import TEXT, DialectTable, Field, array, object_schema
from canonry.gateway.tables import present_arguments
from canonry.gateway.tool import Arguments, Reply, Tool, Toolset
from canonry.gateway.toolset_introduction import Face
from canonry.log.items.entities import Entity
from canonry.log.items.proposals import Proposal
from canonry.log.schemas.narrative import NAMES
from canonry.readmodels.edges import Direction
from canonry.recall.usecases.find_passages import FoundPassage
from canonry.values.errors import InvalidInput
from canonry.values.moments import render_instant
from canonry.world.domain import atlas
from canonry.world.domain.admission.safety import values_in
from canonry.world.domain.admission.schema import ID_PATTERN, POLICY_VERSION, envelope_schema
from canonry.world.domain.mechanics import RuleEntry, RuleKind, excerpt_of, roll_dice
from canonry.world.domain.narration.violations import POLICY_VERSION as NARRATION_POLICY
from canonry.world.models.services import WorldServices
from canonry.world.toolset import shapes, views
from canonry.world.toolset.contract import contract_tool, published
from canonry.world.toolset.views import REALM, TIE
from canonry.world.usecases import lore, speech
from canonry.world.usecases.building import create_part
from canonry.world.usecases.proposals.admission import list_proposals
from canonry.world.usecases.proposals.outcomes import outcome_of
from canonry.world.usecases.worlds import BoundWorld, WorldAt, bound_world

shapes.TABLE.kinds["new_exits"] = array(
    shapes.TABLE.make_object_kind("new_exit", atlas.Exit)
).with_keywords(maxItems=len(Direction))


def _part_tool(name: str, kind: Callable[..., atlas.AtlasPart], **more: bool) -> Tool:
    """A tool that creates a part of the world under a key that the builder may choose."""

    async def create(canon: Canon, caller: Caller, world: BoundWorld, **fields: Any) -> str:
        part = kind(**{"key": "", **fields})
        return await create_part(canon, caller, world, part, **more)

    return shapes.world_tool(name, create, shapes.ID)


async def _record_event(canon: Canon, caller: Caller, world: BoundWorld, **fields: Any) -> str:
    now = {"key": "", "description": "", "tick": world.now}
    return await create_part(canon, caller, world, atlas.Happening(**{**now, **fields}))


shapes.TABLE.kinds |= {
    "realm_told": Field({"$ref": "#/$defs/realm"}, REALM),
    "tie_told": Field({"$ref": "#/$defs/tie"}, TIE),
}
BUILDING_TOOLS: Final[tuple[Tool, ...]] = (
    *map(
        shapes.world_tool,
        ("get-realm-context", "create-tie", "remove-tie", "create-route", "remove-route"),
    ),
    _part_tool("create-location", atlas.Location),
    *map(shapes.world_tool, ("create-exit", "remove-exit")),
    _part_tool("create-realm", atlas.Realm),
    _part_tool("create-layer", atlas.Layer),
    _part_tool("create-character", atlas.Mover),
    _part_tool("create-player", atlas.Mover, player=True),
    shapes.world_tool("set-status"),
    _part_tool("create-item", atlas.Item),
    shapes.world_tool("record-event", _record_event, shapes.ID),
)


# Proposal tools. A refusal is a result. The envelope is advertised in full and judged by the first
# gate, not before.

PAGE: Final = 20  # a page that a model reads

_DECIDED: Final = shapes.TABLE.make_shape(
    "decided",
    outcome=lambda each: "accepted" if each.accepted else "rejected",
    policyVersion=lambda _: POLICY_VERSION,
)
_RECORDED: Final = shapes.TABLE.make_shape("recorded")


def _recorded(proposal: Proposal) -> Reply:
    decision = proposal.decision
    return _RECORDED(
        outcome_of(proposal),
        actionEnvelope=proposal.content.get("envelope"),
        proposedBy=proposal.proposed_by,
        decidedAt=proposal.created_at if decision is None else decision.decided_at,
    )


shapes.TABLE.kinds["recorded"] = Field(_RECORDED.schema, _recorded)
_PAGE: Final = shapes.TABLE.make_shape("page")


def _plain_schema(schema: Any) -> Any:
    """A schema without titles, descriptions and nulls: names say enough, and each caller lists it.

    That null is as good as nothing holds for every argument.
    """
    if isinstance(schema, list):
        return [_plain_schema(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "anyOf" in schema and schema.get("default", ...) is None:
        return _plain_schema(schema["anyOf"][0])
    if schema.get("pattern") == ID_PATTERN:
        return {"type": "string", "format": "uuid"}
    named = isinstance(schema.get("type"), str) or "enum" in schema
    reported = {"title", "description", "default"} if named else set()
    return {name: _plain_schema(each) for name, each in schema.items() if name not in reported}


_ENVELOPE, _DEFINITIONS = envelope_schema()
_PROPOSED: Final = {
    **object_schema({"playerId": shapes.KEY, "actionEnvelope": Field(_plain_schema(_ENVELOPE))}),
    "$defs": {name: _plain_schema(part) for name, part in _DEFINITIONS.items()},
}
_ACCEPTED: Final = object_schema({"playerId": shapes.KEY}, {"actionEnvelope": Field({})})


async def _list(
    canon: Canon,
    world: BoundWorld,
    only_by: str | None,
    cursor: str = "0",
    limit: int = PAGE,
    **wanted: Any,
) -> Reply:
    if not (cursor.isascii() and cursor.isdigit()):
        raise InvalidInput("cursor.malformed", "take the nextCursor of a page", path="/cursor")
    found, following = await list_proposals(
        canon, world, limit=limit, start=int(cursor), only_by=only_by, **wanted
    )
    return _PAGE(proposals=found, nextCursor=None if following is None else str(following))


PROPOSALS_TOOLS: Final[tuple[Tool, ...]] = (
    replace(shapes.world_tool("propose-action"), input_schema=_PROPOSED, accepted_schema=_ACCEPTED),
    *map(shapes.world_tool, ("enqueue-world-event", "get-proposal")),
    shapes.world_tool("list-proposals", _list, Field(_PAGE.schema)),
    shapes.world_tool("withdraw-proposal"),
)


_TEXT_MAX: Final = 512  # longer texts are cut and listed: bounds a reply
_SNIPPET_MAX: Final = 200  # a snippet only has to be recognised
_K: Final = 5
_HIDDEN: Final = frozenset({"embeddings", "hidden"})
_MARKUP: Final = re.compile(r"<[^<>]*>|[*_`#|]+")
_ANY_FACT: Final = object_schema({}, {"factId": Field({})})
"""A fact without an id, or with one that is no text, is one that there is not: null."""
_SPACE: Final = re.compile(r"\s+")


async def _get_fact(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    name = shapes.name_of(arguments, "factId")
    found = None if name is None else await lore.get_canonical_fact(canon, world, name)
    return None if found is None else _show_fact(found)


async def _search_lore(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    asked = shapes.number_of(arguments, "k")
    world = await bound_world(canon, caller)
    limit = shapes.clamp_value(_K if asked is None else asked, 1, shapes.FOUND_MAX)
    found = await lore.search_lore(
        canon, world, arguments["query"][: canon.policy.limits.query], limit
    )
    return [_show_hit(*each) for each in found]


async def _record_lore(
    canon: Canon, caller: Caller, world: BoundWorld, key: str, **new: Any
) -> tuple[str, int]:
    return key, await lore.record_lore(canon, caller, world, key, **new)


def _show_fact(found: lore.CanonicalFact) -> dict[str, Any]:
    cuts: list[dict[str, Any]] = []
    fields = {name: value for name, value in found.fields.items() if name not in _HIDDEN}
    archived = found.observation.fields.get("properties.archived")
    shown = {
        "id": found.observation.id,
        "type": found.entity.properties["lore_type"],
        "factId": found.entity.properties["key"],
        "version": found.version,
        "createdUtc": render_instant(found.first.recorded_at),
        "updatedUtc": render_instant(found.observation.recorded_at) if found.version > 1 else None,
        "archivedUtc": render_instant(found.observation.recorded_at) if archived else None,
        "fields": _cut_texts(fields, "fields", cuts),
        "embeddingsOmitted": True if len(fields) < len(found.fields) else None,
        "fieldTruncations": cuts or None,
    }
    return {name: value for name, value in shown.items() if value is not None}


def _cut_texts(value: Any, path: str, cuts: list[dict[str, Any]]) -> Any:
    """Return the value with long texts cut and listed in `cuts`."""
    match value:
        case str() if len(value) > _TEXT_MAX:
            cuts.append({"path": path, "originalLength": len(value)})
            return value[:_TEXT_MAX]
        case Mapping():
            return {name: _cut_texts(part, f"{path}.{name}", cuts) for name, part in value.items()}
        case list() | tuple():
            return [_cut_texts(part, f"{path}[{i}]", cuts) for i, part in enumerate(value)]
        case _:
            return value


def _show_hit(entity: Entity, found: FoundPassage) -> dict[str, Any]:
    own = entity.properties
    return {
        "factId": own["key"],
        "type": own["lore_type"],
        "score": round(found.score, 6),
        "snippet": _best_snippet(own.get("fields", {}), found.terms),
        "version": int(own["version"]),
        "why": {"words": list(found.terms), "meaning": found.why.meaning > 0},
    }


def _best_snippet(fields: Mapping[str, Any], terms: tuple[str, ...]) -> str:
    """Return the text that matches best, from its first match on."""
    shown = {name: value for name, value in fields.items() if name not in _HIDDEN}
    prose = {name: value for name, value in shown.items() if name not in NAMES}  # a name says least
    texts = [text for v in prose.values() for text in _visible_texts(v)] or _visible_texts(shown)
    plain = [_plain_text(text) for text in texts]
    best = max(plain, key=lambda e: (sum(t in e.casefold() for t in terms), len(e)), default="")
    if len(best) <= _SNIPPET_MAX:
        return best
    offsets = [at for term in terms if (at := best.casefold().find(term)) >= 0]
    start = min(max(0, min(offsets, default=0) - 40), len(best) - _SNIPPET_MAX)
    return best[start : start + _SNIPPET_MAX].strip()


def _visible_texts(value: Any) -> list[str]:
    found = values_in(value, "")
    return [str(each) for path, each in found if _HIDDEN.isdisjoint(path.split("/"))]


def _plain_text(text: str) -> str:
    """The text without markup and control characters, on one line."""
    bare = "".join(
        " " if unicodedata.category(character).startswith("C") else character
        for character in _MARKUP.sub(" ", text)
    )
    return _SPACE.sub(" ", bare).strip()


LORE_TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool("get-canonical-fact", _get_fact, accepts=_ANY_FACT),
    contract_tool("search-lore", _search_lore),
    shapes.world_tool(
        "get-fact-version", lore.get_canonical_fact, Field({"$ref": "#/$defs/fact"}, _show_fact)
    ),
    shapes.world_tool("record-lore", _record_lore, shapes.TABLE.make_shape("recorded_lore")),
)


shapes.TABLE.kinds["arc_constraints"] = shapes.TABLE.make_object_kind(
    "arc_wishes", partial(speech.WantedArc, seed="")
)
_WISHES: Final = shapes.TABLE.list_readings(shapes.TABLE.tools["generate-arc"]["takes"])
_PLANNED: Final = shapes.TABLE.make_shape("planned")


async def _generate_arc(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    wishes = present_arguments(_WISHES, arguments)
    wanted = wishes.get("constraints") or speech.WantedArc(seed="")
    arc, proposal = await speech.generate_arc(canon, world, replace(wanted, seed=arguments["seed"]))
    return _PLANNED(arc, proposal=proposal)


ARCS_TOOLS: Final[tuple[Tool, ...]] = (
    shapes.reading_tool("generate-arc", _generate_arc, _PLANNED.schema),
)


_SPAN: Final = shapes.TABLE.make_shape("span")
shapes.TABLE.kinds["span_shown"] = Field(_SPAN.schema)
_VIOLATION: Final = shapes.TABLE.make_shape("violation")
shapes.TABLE.kinds["violations"] = Field(array(_VIOLATION).schema)
_CHECKED: Final = shapes.TABLE.make_shape(
    "checked",
    verdict=lambda found: "violates" if found else "ok",
    policyVersion=lambda _: NARRATION_POLICY,
)


async def _check_text(
    then: WorldAt, text: str, player_id: str | None = None, location: str | None = None
) -> Reply:
    found = await speech.check_narration(then, text, player_id, location)
    shown = [_VIOLATION(each, span=_SPAN(each, text=text[each.start : each.end])) for each in found]
    return _CHECKED(found, violations=shown)


_REF: Final = shapes.TABLE.make_shape("ref")
shapes.TABLE.kinds["ref_told"] = Field({"$ref": "#/$defs/ref"}, _REF)
_READ: Final = shapes.TABLE.make_shape("read_frames")
shapes.TABLE.make_shape("moderated", verdict=lambda found: "ok" if found.allowed else "flagged")


_PREVIEW: Final = 240
_ENTRY: Final = shapes.TABLE.make_shape("rule_entry")
_FOUND: Final = shapes.TABLE.make_shape("found_rule")
_ROLLED: Final = shapes.TABLE.make_shape("rolled")
shapes.TABLE.kinds["shown_rule"] = Field(_ENTRY.schema)
_CASTABLE: Final = shapes.TABLE.make_shape(
    "castable", verdict=lambda found: "no" if found.reasons else "yes"
)


async def _lookup_rule(canon: Canon, _caller: Caller, arguments: Arguments) -> Reply:
    found = await lore.lookup_rule(canon, RuleKind(arguments["kind"]), arguments["name"])
    return None if found is None else _show_rule(canon, found)


def _show_rule(canon: Canon, entry: RuleEntry) -> Reply:
    return _ENTRY(entry, attribution=lore.rulebook_of(canon).attribution)


async def _search_rules(canon: Canon, _caller: Caller, arguments: Arguments) -> Reply:
    kind = RuleKind(arguments["kind"]) if "kind" in arguments else None
    limit = min(int(arguments.get("limit", _K)), shapes.FOUND_MAX)
    query = arguments["query"]
    found = await asyncio.to_thread(lore.rulebook_of(canon).search_entries, query, kind, limit)
    return {
        "results": [_FOUND(each, snippet=excerpt_of(each, query, _PREVIEW)) for each in found],
        "attribution": lore.rulebook_of(canon).attribution,
    }


async def _roll_dice(_canon: Canon, _caller: Caller, arguments: Arguments) -> Reply:
    return _ROLLED(roll_dice(arguments["expression"], arguments["seed"]))


async def _can_cast(then: WorldAt, player: str, spell: str) -> Reply:
    found = await lore.can_cast_here(then, player, spell)
    rules = None if found.rules is None else _show_rule(then.canon, found.rules)
    return _CASTABLE(found, rules=rules)


TOOLS: Final[tuple[Tool, ...]] = (
    shapes.world_tool(
        "parse-to-action-frame",
        speech.parse_to_action_frame,
        Field({**_READ.schema, "$defs": {"ref": _REF.schema}}, _READ),
    ),
    *map(shapes.world_tool, ("classify-intent", "moderate-content")),
    shapes.world_tool("check-narration", _check_text, Field(_CHECKED.schema)),
    shapes.reading_tool("lookup-rule", _lookup_rule, _ENTRY.schema),
    shapes.reading_tool(
        "search-rules",
        _search_rules,
        object_schema({"results": array(_FOUND), "attribution": TEXT}),
    ),
    shapes.reading_tool("roll-dice", _roll_dice, _ROLLED.schema),
    shapes.world_tool("can-cast-here", _can_cast, Field(_CASTABLE.schema)),
)


class TelemetryCounter(CallCounter):
    """Counts that a call was made, whether it was allowed, and how it failed."""

    @override
    def count_call(self, canon: Canon, line: AuditLine) -> None:
        if line.kind != "call":
            return
        now, telemetry = canon.clock.now(), canon.find_service(WorldServices).telemetry
        telemetry.record_event(EventName.TOOL_INVOKED, now)
        telemetry.record_event(
            EventName.TOOL_DENIED if line.denied else EventName.TOOL_ALLOWED, now
        )
        if line.code == "limits.rate":
            telemetry.record_event(EventName.TOOL_THROTTLED, now)
        elif line.code != "ok" and not line.denied:
            telemetry.record_event(EventName.TOOL_FAILED, now)


_DIALECT: Final = DialectTable.read_table(__package__)

EXACT: Final[tuple[Tool, ...]] = (
    *views.TOOLS,
    *LORE_TOOLS,
    *BUILDING_TOOLS,
    *map(shapes.world_tool, ("move", "transfer-item", "advance-clock")),
    *TOOLS,
    *PROPOSALS_TOOLS,
    *views.VIEWS_TOOLS,
    *ARCS_TOOLS,
)
"""The tools with the whole schemas of their replies, which the tests hold every reply against."""

FACE: Final = Face.read_face(__package__)
WORLD: Final = Toolset(
    **FACE.to_fields(),
    agent_types=frozenset(published()["agentTypes"]),
    dialect=_DIALECT.error_envelope,
    rates=tuple(PublishedRate(**each) for each in published()["rates"]),
    tools=tuple(map(ease_tool, EXACT)),
    resources=views.RESOURCES,
    completions=views.COMPLETIONS,
    descriptions=ContractFile("canonry.world.toolset.contract", "words.json").read_contract(),
    web_routes="canonry.world.web.api:WorldRoutes",
)
