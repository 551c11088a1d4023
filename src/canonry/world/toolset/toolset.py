"""The world toolset: tools on what is known and said, and all tools in their order."""

import asyncio
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any, Final

from typing_extensions import override

from canonry.canon.session.ai_words import EventName
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.audit import AuditLine, CallCounter
from canonry.gateway.catalogue import ContractFile, eased
from canonry.gateway.limits import PublishedRate
from canonry.gateway.replies import (
    BOOLEAN,
    COUNT,
    INTEGER,
    NUMBER,
    TEXT,
    WORD,
    DialectTable,
    Field,
    Shape,
    array,
    enum,
    given,
    nullable,
    obj,
    optional,
)
from canonry.gateway.tool import Arguments, Reply, Tool, Toolset
from canonry.log.items.entities import Entity
from canonry.log.schemas.narrative import NAMES
from canonry.log.schemas.world_types import LoreType
from canonry.recall.usecases.find_passages import FoundPassage
from canonry.values.moments import render_instant
from canonry.values.policy import DESCRIPTION_MAX, NAME_MAX
from canonry.world.domain.arcs.arcs import BEATS_MAX, BEATS_MIN
from canonry.world.domain.mechanics import EXPRESSION_MAX, RuleEntry, RuleKind, excerpt_of, roll
from canonry.world.domain.moderation.moderating import CATEGORIES
from canonry.world.domain.narration.violations import NARRATION_MAX, POLICY_VERSION, NarrationLimit
from canonry.world.domain.utterances.hearing import UTTERANCE_MAX
from canonry.world.domain.utterances.lexicon import VERBS, Category
from canonry.world.models.services import WorldServices, moderate_content
from canonry.world.toolset import FACE, building, views
from canonry.world.toolset.contract import LORE_READERS, contract_tool, extension_tool, published
from canonry.world.toolset.shapes import (
    ANYTHING,
    FOUND_MAX,
    KEY,
    POSITIVE,
    TICK,
    Request,
    asked_tick,
    builders_tool,
    clamped,
    name_of,
    number_of,
    word,
)
from canonry.world.toolset.views import NAMED
from canonry.world.usecases.lore import (
    CanonicalFact,
    NewLore,
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
from canonry.world.usecases.worlds import BoundWorld, bound_world, world_at

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


async def _get_version(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    version = int(arguments["version"])
    found = await get_canonical_fact(canon, world, arguments["factId"], version)
    return None if found is None else _fact(found)


async def _search_lore(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    asked = number_of(arguments, "k")
    world = await bound_world(canon, caller)
    limit = clamped(_K if asked is None else asked, 1, FOUND_MAX)
    found = await search_lore(canon, world, arguments["query"][: canon.policy.limits.query], limit)
    return [_hit(*each) for each in found]


async def _record(canon: Canon, caller: Caller, world: BoundWorld, new: NewLore) -> tuple[str, int]:
    return new.key, await record_lore(canon, caller, world, new)


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
    match value:
        case str():
            return [value]
        case Mapping():
            shown = (part for name, part in value.items() if name not in _HIDDEN)
            return [text for part in shown for text in _in(part)]
        case list() | tuple():
            return [text for part in value for text in _in(part)]
        case _:
            return [str(value)]


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
    extension_tool(
        "get-fact-version",
        "Read an earlier version of a lore fact, including an archived one.",
        _get_version,
        roles=LORE_READERS,
        takes=obj({"factId": KEY, "version": POSITIVE}),
        gives={"$ref": "#/$defs/fact"},
        null=True,
    ),
    builders_tool(
        "record-lore",
        "Create a lore fact or write its next version. Earlier versions stay readable with "
        "get-fact-version.",
        Request(
            NewLore,
            {"factId": KEY.of("key"), "type": word(LoreType).of("lore_type"), "fields": ANYTHING},
            {"expectedVersion": COUNT.of("expected"), "archived": BOOLEAN},
        ),
        _record,
        Shape(factId=TEXT.of(itemgetter(0)), version=COUNT.of(itemgetter(1))),
    ),
)


PLANNERS: Final = frozenset({"Planner"})
_SOME: Final = array(KEY).but(maxItems=BEATS_MIN).by(tuple)
_THEMES: Final = array(TEXT.but(maxLength=NAME_MAX)).but(maxItems=5).by(tuple)
_NUMBERS: Final = array(INTEGER)
_CONSTRAINTS: Final = Request(
    partial(WantedArc, seed=""),
    {},
    {
        "locationIds": _SOME.of("locations"),
        "factionIds": _SOME.of("factions"),
        "themes": _THEMES,
        "beats": INTEGER.but(minimum=BEATS_MIN, maximum=BEATS_MAX),
        "level": POSITIVE.but(maximum=20),
    },
)
_PLANNED: Final = Shape(
    arcId=TEXT.of("id"),
    seed=TEXT,
    title=TEXT,
    hook=TEXT,
    beats=array(
        Shape(
            index=COUNT,
            kind=WORD,
            summary=TEXT,
            locationId=TEXT.of("location"),
            characterIds=array(TEXT).of("characters"),
            loreFactIds=array(TEXT).of("lore"),
            requires=_NUMBERS,
            leadsTo=_NUMBERS.of("leads_to"),
        )
    ),
    proposal=given(ANYTHING.by(dict)),
)


async def _generate(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    wanted = _CONSTRAINTS.read(arguments.get("constraints", {}))
    arc, proposal = await generate_arc(canon, world, replace(wanted, seed=arguments["seed"]))
    return _PLANNED(arc, proposal=proposal)


ARCS_TOOLS: Final[tuple[Tool, ...]] = (
    extension_tool(
        "generate-arc",
        "Plan a quest of 3 to 12 beats from the world's locations, characters and lore. The "
        "same seed gives the same plan. Nothing is written or proposed.",
        _generate,
        roles=PLANNERS,
        takes=obj({"seed": KEY}, {"constraints": Field(_CONSTRAINTS.schema)}),
        gives=_PLANNED.schema,
    ),
)


CHECKERS: Final = frozenset({"Canonicality", "Safety", "Narrative"})
_SPAN: Final = Shape(start=COUNT, end=COUNT, text=TEXT.of(None))


_VIOLATION: Final = Shape(
    constraint=enum(*NarrationLimit), span=Field(_SPAN.schema).of(None), against=TEXT, reason=TEXT
)
_CHECKED: Final = Shape(
    verdict=enum("ok", "violates").of(lambda found: "violates" if found else "ok"),
    violations=array(Field(_VIOLATION.schema)).of(None),
    policyVersion=TEXT.of(lambda _: POLICY_VERSION),
)


async def _check(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    tick = asked_tick(arguments)
    then = world_at(canon, await bound_world(canon, caller), tick)
    text, player = arguments["narration"], arguments.get("playerId")
    found = await check_narration(then, text, player, arguments.get("locationId"))
    told = [_VIOLATION(each, span=_SPAN(each, text=text[each.start : each.end])) for each in found]
    return _CHECKED(found, violations=told)


PARSERS: Final = frozenset({"IntentParser", "Narrative"})
MODERATORS: Final = frozenset({"Safety", "Narrative"})
_UTTERANCE: Final = TEXT.but(maxLength=4 * UTTERANCE_MAX)
_REF: Final = Shape(
    kind=WORD,
    id=optional(TEXT),
    surface=TEXT,
    confidence=NUMBER,
    candidates=optional(
        array(Shape(id=TEXT, name=TEXT, confidence=NUMBER)).of(lambda ref: ref.candidates or None)
    ),
)
_FRAME: Final = Shape(
    verb=enum(*VERBS),
    subject=TEXT,
    direct=optional(Field({"$ref": "#/$defs/ref"}, _REF)),
    secondary=optional(Field({"$ref": "#/$defs/ref"}, _REF)),
    direction=optional(WORD),
    quantity=optional(Field({"type": ["integer", "string"]})),
    topic=optional(TEXT),
    modifiers=array(TEXT),
    negated=optional(BOOLEAN.of(lambda frame: frame.negated or None)),
    conditional=optional(BOOLEAN.of(lambda frame: frame.conditional or None)),
    confidence=NUMBER,
    ambiguity=optional(array(TEXT).of(lambda frame: frame.ambiguity or None)),
    rawText=TEXT.of("raw_text"),
)
_READ: Final = Shape(
    frames=array(_FRAME),
    needsClarification=BOOLEAN.of("needs_clarification"),
    category=enum(*Category),
)
_CLASSIFIED: Final = Shape(category=enum(*Category), confidence=NUMBER)
_VERDICT: Final = enum("ok", "flagged")
_MODERATED: Final = Shape(
    verdict=_VERDICT.of(lambda found: "ok" if found.allowed else "flagged"),
    categories=array(enum(*CATEGORIES)),
    spans=array(Shape(category=WORD, start=COUNT, end=COUNT)),
    policyVersion=TEXT.of("policy_version"),
)


async def _parse(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    world = await bound_world(canon, caller)
    said, player = arguments["utterance"], arguments["playerId"]
    return _READ(
        await parse_to_action_frame(canon, world, player, said, arguments.get("previous", ()))
    )


async def _classify(canon: Canon, _caller: Caller, arguments: Arguments) -> Reply:
    return _CLASSIFIED(await read_speech(canon, arguments["utterance"]))


async def _moderate(canon: Canon, _caller: Caller, arguments: Arguments) -> Reply:
    return _MODERATED(await moderate_content(canon, arguments["text"]))


PLAYERS_OF_RULES: Final = frozenset({"Encounter", "Narrative", "World"})
_PREVIEW: Final = 240
_KIND: Final = enum(*RuleKind)
_ENTRY: Final = Shape(
    kind=_KIND, id=TEXT, name=TEXT, text=TEXT, details=ANYTHING.by(dict), attribution=TEXT.of(None)
)
_FOUND: Final = Shape(kind=_KIND, id=TEXT, name=TEXT, snippet=given(TEXT))
_ROLLED: Final = Shape(rolls=array(Shape(sides=COUNT, value=INTEGER)), total=INTEGER, seed=TEXT)
_SORTED: Final = array(TEXT).by(sorted)
_STATE: Final = Shape(
    tick=INTEGER,
    location=nullable(NAMED).of("place"),
    conditions=_SORTED.of("caster.conditions"),
    tags=_SORTED.of("caster.marks"),
    held=array(TEXT).of("caster.held"),
)
_CASTABLE: Final = Shape(
    rules=nullable(Field(_ENTRY.schema)).of(None),
    state=Field(_STATE.schema, _STATE).of(lambda found: found),
    verdict=enum("yes", "no").of(lambda found: "no" if found.reasons else "yes"),
    reasons=array(TEXT),
)


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


async def _can_cast(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    tick = asked_tick(arguments)
    then = world_at(canon, await bound_world(canon, caller), tick)
    found = await can_cast_here(then, arguments["playerId"], arguments["spell"])
    rules = None if found.rules is None else _shown(canon, found.rules)
    return _CASTABLE(found, rules=rules)


TOOLS: Final[tuple[Tool, ...]] = (
    extension_tool(
        "parse-to-action-frame",
        "Turn a player's words into an intended action, checked against the world. Nothing "
        "happens yet. If needsClarification is true, ask the player first.",
        _parse,
        roles=PARSERS,
        takes=obj(
            {"utterance": _UTTERANCE, "playerId": KEY},
            {"previous": array(_UTTERANCE).but(maxItems=5)},
        ),
        gives={**_READ.schema, "$defs": {"ref": _REF.schema}},
    ),
    extension_tool(
        "classify-intent",
        "Classify a player's words as action, speech, question or out-of-character talk.",
        _classify,
        roles=PARSERS,
        takes=obj({"utterance": _UTTERANCE}),
        gives=_CLASSIFIED.schema,
    ),
    extension_tool(
        "moderate-content",
        "Check whether a text is acceptable in a shared world, and mark what is not. Fictional"
        " violence is allowed.",
        _moderate,
        roles=MODERATORS,
        takes=obj({"text": TEXT.but(maxLength=2 * DESCRIPTION_MAX)}),
        gives=_MODERATED.schema,
    ),
    extension_tool(
        "check-narration",
        "Find what contradicts the world in a narration: location, presence, death, lore, "
        "weather, time and possessions. Characters' speech and dreams are not checked. Call it"
        " before you show the text.",
        _check,
        roles=CHECKERS,
        takes=obj(
            {"narration": TEXT.but(minLength=1, maxLength=NARRATION_MAX)},
            {"playerId": KEY, "locationId": KEY, "tick": TICK},
        ),
        gives=_CHECKED.schema,
    ),
    extension_tool(
        "lookup-rule",
        "Read the rules entry for a spell, monster, piece of equipment, condition or rule by "
        "name. It ignores the state of the world. null: no entry.",
        _lookup,
        roles=PLAYERS_OF_RULES,
        takes=obj({"kind": _KIND, "name": KEY}),
        gives=_ENTRY.schema,
        null=True,
    ),
    extension_tool(
        "search-rules",
        "Search the rules by words. Use it if lookup-rule finds nothing.",
        _search_rules,
        roles=PLAYERS_OF_RULES,
        takes=obj({"query": TEXT.but(maxLength=NAME_MAX)}, {"kind": _KIND, "limit": POSITIVE}),
        gives=obj({"results": array(_FOUND), "attribution": TEXT}),
    ),
    extension_tool(
        "roll-dice",
        "Roll dice like 2d6+3 or 4d6kh3. The same seed gives the same result.",
        _roll,
        roles=PLAYERS_OF_RULES,
        takes=obj({"expression": TEXT.but(maxLength=EXPRESSION_MAX), "seed": KEY}),
        gives=_ROLLED.schema,
    ),
    extension_tool(
        "can-cast-here",
        "Check whether a player can cast a spell here and now, with the rules' requirements "
        "and the reasons against it.",
        _can_cast,
        roles=PLAYERS_OF_RULES,
        takes=obj({"playerId": KEY, "spell": KEY}, {"tick": TICK}),
        gives=_CASTABLE.schema,
    ),
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


_DIALECT: Final = DialectTable(
    not_allowed="UNAUTHORIZED",
    not_found="NOT_FOUND",
    invalid_input="INVALID_ARGUMENT",
    conflict="CONFLICT",
    not_supported="NOT_SUPPORTED",
    unavailable="UNAVAILABLE",
    codes={"limits.rate": "RATE_LIMITED", "call.deadline": "DEADLINE_EXCEEDED"},
    internal="INTERNAL_ERROR",
)

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
