"""The world toolset: tools on what is known and said, and all tools in their order."""

import asyncio
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from typing_extensions import override

from canonry.canon.session.ai_words import EventName
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.audit import AuditLine, CallCounter
from canonry.gateway.catalogue import ContractFile, eased
from canonry.gateway.limits import PublishedRate
from canonry.gateway.replies import TEXT, DialectTable, Field, array, obj
from canonry.gateway.tables import present_arguments
from canonry.gateway.tool import Arguments, Reply, Tool, Toolset
from canonry.log.items.entities import Entity
from canonry.log.schemas.narrative import NAMES
from canonry.recall.usecases.find_passages import FoundPassage
from canonry.values.moments import render_instant
from canonry.world.domain.admission.safety import values_in
from canonry.world.domain.mechanics import RuleEntry, RuleKind, excerpt_of, roll
from canonry.world.domain.narration.violations import POLICY_VERSION
from canonry.world.models.services import WorldServices, moderate_content
from canonry.world.toolset import FACE, building, views
from canonry.world.toolset.contract import contract_tool, published
from canonry.world.toolset.shapes import (
    FOUND_MAX,
    TABLE,
    clamped,
    name_of,
    number_of,
    reading_tool,
    world_tool,
)
from canonry.world.usecases.lore import (
    CanonicalFact,
    can_cast_here,
    get_canonical_fact,
    lookup_rule,
    record_lore,
    rulebook_of,
    search_lore,
)
from canonry.world.usecases.speech import (
    WantedArc,
    check_narration,
    generate_arc,
    parse_to_action_frame,
    read_speech,
)
from canonry.world.usecases.worlds import BoundWorld, WorldAt, bound_world

_TEXT_MAX: Final = 512
_SNIPPET_MAX: Final = 200
_K: Final = 5
_HIDDEN: Final = frozenset({"embeddings", "hidden"})
_MARKUP: Final = re.compile(r"<[^<>]*>|[*_`#|]+")
_ANY_FACT: Final = obj({}, {"factId": Field({})})
"""A fact without an id, or with one that is no text, is one that there is not: null."""
_SPACE: Final = re.compile(r"\s+")


async def _get_fact(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    name = name_of(arguments, "factId")
    found = None if name is None else await get_canonical_fact(canon, world, name)
    return None if found is None else _fact(found)


async def _search_lore(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    asked = number_of(arguments, "k")
    world = await bound_world(canon, caller)
    limit = clamped(_K if asked is None else asked, 1, FOUND_MAX)
    found = await search_lore(canon, world, arguments["query"][: canon.policy.limits.query], limit)
    return [_hit(*each) for each in found]


async def _record(
    canon: Canon, caller: Caller, world: BoundWorld, key: str, **new: Any
) -> tuple[str, int]:
    return key, await record_lore(canon, caller, world, key, **new)


def _fact(found: CanonicalFact) -> dict[str, Any]:
    cuts: list[dict[str, Any]] = []
    fields = {name: value for name, value in found.fields.items() if name not in _HIDDEN}
    archived = found.said.fields.get("properties.archived")
    shown = {
        "id": found.said.id,
        "type": found.entity.properties["lore_type"],
        "factId": found.entity.properties["key"],
        "version": found.version,
        "createdUtc": render_instant(found.first.recorded_at),
        "updatedUtc": render_instant(found.said.recorded_at) if found.version > 1 else None,
        "archivedUtc": render_instant(found.said.recorded_at) if archived else None,
        "fields": _cut(fields, "fields", cuts),
        "embeddingsOmitted": True if len(fields) < len(found.fields) else None,
        "fieldTruncations": cuts or None,
    }
    return {name: value for name, value in shown.items() if value is not None}


def _cut(value: Any, path: str, cuts: list[dict[str, Any]]) -> Any:
    """Return the value with long texts cut and listed in `cuts`."""
    match value:
        case str() if len(value) > _TEXT_MAX:
            cuts.append({"path": path, "originalLength": len(value)})
            return value[:_TEXT_MAX]
        case Mapping():
            return {name: _cut(part, f"{path}.{name}", cuts) for name, part in value.items()}
        case list() | tuple():
            return [_cut(part, f"{path}[{i}]", cuts) for i, part in enumerate(value)]
        case _:
            return value


def _hit(entity: Entity, found: FoundPassage) -> dict[str, Any]:
    own = entity.properties
    return {
        "factId": own["key"],
        "type": own["lore_type"],
        "score": round(found.score, 6),
        "snippet": _snippet(own.get("fields", {}), found.terms),
        "version": int(own["version"]),
        "why": {"words": list(found.terms), "meaning": found.why.meaning > 0},
    }


def _snippet(fields: Mapping[str, Any], terms: tuple[str, ...]) -> str:
    """Return the text that matches best, from its first match on."""
    shown = {name: value for name, value in fields.items() if name not in _HIDDEN}
    prose = {name: value for name, value in shown.items() if name not in NAMES}  # a name says least
    texts = [text for value in prose.values() for text in _in(value)] or _in(shown)
    plain = [_plain(text) for text in texts]
    best = max(
        plain, key=lambda text: (sum(t in text.casefold() for t in terms), len(text)), default=""
    )
    if len(best) <= _SNIPPET_MAX:
        return best
    places = [at for term in terms if (at := best.casefold().find(term)) >= 0]
    start = min(max(0, min(places, default=0) - 40), len(best) - _SNIPPET_MAX)
    return best[start : start + _SNIPPET_MAX].strip()


def _in(value: Any) -> list[str]:
    found = values_in(value, "")
    return [str(each) for path, each in found if _HIDDEN.isdisjoint(path.split("/"))]


def _plain(text: str) -> str:
    """The text without markup and control characters, on one line."""
    bare = "".join(
        " " if unicodedata.category(character).startswith("C") else character
        for character in _MARKUP.sub(" ", text)
    )
    return _SPACE.sub(" ", bare).strip()


LORE_TOOLS: Final[tuple[Tool, ...]] = (
    contract_tool("get-canonical-fact", _get_fact, accepts=_ANY_FACT),
    contract_tool("search-lore", _search_lore),
    world_tool("get-fact-version", get_canonical_fact, Field({"$ref": "#/$defs/fact"}, _fact)),
    world_tool("record-lore", _record, "recorded_lore"),
)


TABLE.kinds["arc_constraints"] = TABLE.objects("arc_wishes", partial(WantedArc, seed=""))
_WISHES: Final = TABLE.readings(TABLE.tools["generate-arc"]["takes"])
_PLANNED: Final = TABLE.shape("planned")


async def _generate(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    wishes = present_arguments(_WISHES, arguments)
    wanted = wishes.get("constraints") or WantedArc(seed="")
    arc, proposal = await generate_arc(canon, world, replace(wanted, seed=arguments["seed"]))
    return _PLANNED(arc, proposal=proposal)


ARCS_TOOLS: Final[tuple[Tool, ...]] = (reading_tool("generate-arc", _generate, _PLANNED.schema),)


_SPAN: Final = TABLE.shape("span")
TABLE.kinds["span_shown"] = Field(_SPAN.schema)
_VIOLATION: Final = TABLE.shape("violation")
TABLE.kinds["violations"] = Field(array(_VIOLATION).schema)
_CHECKED: Final = TABLE.shape(
    "checked",
    verdict=lambda found: "violates" if found else "ok",
    policyVersion=lambda _: POLICY_VERSION,
)


async def _check(
    then: WorldAt, text: str, player_id: str | None = None, location: str | None = None
) -> Reply:
    found = await check_narration(then, text, player_id, location)
    told = [_VIOLATION(each, span=_SPAN(each, text=text[each.start : each.end])) for each in found]
    return _CHECKED(found, violations=told)


_REF: Final = TABLE.shape("ref")
TABLE.kinds["ref_told"] = Field({"$ref": "#/$defs/ref"}, _REF)
_READ: Final = TABLE.shape("read_frames")
_MODERATED: Final = TABLE.shape(
    "moderated", verdict=lambda found: "ok" if found.allowed else "flagged"
)


_PREVIEW: Final = 240
_ENTRY: Final = TABLE.shape("rule_entry")
_FOUND: Final = TABLE.shape("found_rule")
_ROLLED: Final = TABLE.shape("rolled")
TABLE.kinds["shown_rule"] = Field(_ENTRY.schema)
_CASTABLE: Final = TABLE.shape("castable", verdict=lambda found: "no" if found.reasons else "yes")


async def _lookup(canon: Canon, _caller: Caller, arguments: Arguments) -> Reply:
    found = await lookup_rule(canon, RuleKind(arguments["kind"]), arguments["name"])
    return None if found is None else _shown(canon, found)


def _shown(canon: Canon, entry: RuleEntry) -> Reply:
    return _ENTRY(entry, attribution=rulebook_of(canon).attribution)


async def _search_rules(canon: Canon, _caller: Caller, arguments: Arguments) -> Reply:
    kind = RuleKind(arguments["kind"]) if "kind" in arguments else None
    limit = min(int(arguments.get("limit", _K)), FOUND_MAX)
    query = arguments["query"]
    found = await asyncio.to_thread(rulebook_of(canon).search, query, kind, limit)
    return {
        "results": [_FOUND(each, snippet=excerpt_of(each, query, _PREVIEW)) for each in found],
        "attribution": rulebook_of(canon).attribution,
    }


async def _roll(_canon: Canon, _caller: Caller, arguments: Arguments) -> Reply:
    return _ROLLED(roll(arguments["expression"], arguments["seed"]))


async def _can_cast(then: WorldAt, player: str, spell: str) -> Reply:
    found = await can_cast_here(then, player, spell)
    rules = None if found.rules is None else _shown(then.canon, found.rules)
    return _CASTABLE(found, rules=rules)


TOOLS: Final[tuple[Tool, ...]] = (
    world_tool(
        "parse-to-action-frame",
        parse_to_action_frame,
        Field({**_READ.schema, "$defs": {"ref": _REF.schema}}, _READ),
    ),
    world_tool("classify-intent", read_speech, "classified"),
    world_tool("moderate-content", moderate_content, _MODERATED),
    world_tool("check-narration", _check, Field(_CHECKED.schema)),
    reading_tool("lookup-rule", _lookup, _ENTRY.schema),
    reading_tool(
        "search-rules", _search_rules, obj({"results": array(_FOUND), "attribution": TEXT})
    ),
    reading_tool("roll-dice", _roll, _ROLLED.schema),
    world_tool("can-cast-here", _can_cast, Field(_CASTABLE.schema)),
)


class TelemetryCounter(CallCounter):
    """Counts that a call was made, whether it was allowed, and how it failed."""

    @override
    def count(self, canon: Canon, line: AuditLine) -> None:
        if line.kind != "call":
            return
        now, telemetry = canon.clock.now(), canon.service(WorldServices).telemetry
        telemetry.tell(EventName.TOOL_INVOKED, now)
        telemetry.tell(EventName.TOOL_DENIED if line.denied else EventName.TOOL_ALLOWED, now)
        if line.code == "limits.rate":
            telemetry.tell(EventName.TOOL_THROTTLED, now)
        elif line.code != "ok" and not line.denied:
            telemetry.tell(EventName.TOOL_FAILED, now)


_DIALECT: Final = DialectTable.of(__package__)

EXACT: Final[tuple[Tool, ...]] = (
    *views.TOOLS,
    *LORE_TOOLS,
    *building.TOOLS,
    *views.MOVEMENT_TOOLS,
    *TOOLS,
    *building.PROPOSALS_TOOLS,
    *views.VIEWS_TOOLS,
    *ARCS_TOOLS,
)
"""The tools with the whole schemas of their replies, which the tests hold every reply against."""

WORLD: Final = Toolset(
    **FACE.told(),
    agent_types=frozenset(published()["agentTypes"]),
    dialect=_DIALECT.envelope,
    rates=tuple(PublishedRate(**each) for each in published()["rates"]),
    tools=tuple(map(eased, EXACT)),
    resources=views.RESOURCES,
    shelves=views.SHELVES,
    words=ContractFile("canonry.world.toolset.contract", "words.json").published(),
    web_routes="canonry.world.web.api:WorldRoutes",
)
