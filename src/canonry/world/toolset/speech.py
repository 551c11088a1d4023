"""Tools for play: what players say, what the rules say, and dice."""

import asyncio
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
    INTEGER,
    NUMBER,
    TEXT,
    WORD,
    Field,
    Shape,
    array,
    enum,
    given,
    nullable,
    obj,
    optional,
)
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.values.policy import DESCRIPTION_MAX, NAME_MAX
from canonry.world.domain.mechanics import EXPRESSION_MAX, RuleEntry, RuleKind, excerpt_of, roll
from canonry.world.domain.moderation.moderating import CATEGORIES
from canonry.world.domain.utterances.hearing import UTTERANCE_MAX
from canonry.world.domain.utterances.lexicon import VERBS, Category
from canonry.world.models.services import moderate_content
from canonry.world.toolset.contract import extension_tool
from canonry.world.toolset.shapes import ANYTHING, FOUND_MAX, KEY, POSITIVE, TICK, asked_tick
from canonry.world.toolset.views import NAMED
from canonry.world.usecases.mechanics import can_cast_here, lookup_rule, rulebook_of
from canonry.world.usecases.speech import parse_to_action_frame, read_speech
from canonry.world.usecases.worlds import bound_world, world_at

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


TOOLS: Final[tuple[Tool, ...]] = (
    extension_tool(
        "parse-to-action-frame",
        "Read what a player says as what their character sets out to do, held against what is "
        "there; nothing is done. Ask the player first where needsClarification is true.",
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
        "Tell whether a player acts, speaks, asks or talks out of character.",
        _classify,
        roles=PARSERS,
        takes=obj({"utterance": _UTTERANCE}),
        gives=_CLASSIFIED.schema,
    ),
    extension_tool(
        "moderate-content",
        "Tell whether a text may stand in a shared world, and where it does not. Violence in "
        "fiction stands.",
        _moderate,
        roles=MODERATORS,
        takes=obj({"text": TEXT.but(maxLength=2 * DESCRIPTION_MAX)}),
        gives=_MODERATED.schema,
    ),
)


PLAYERS_OF_RULES: Final = frozenset({"Encounter", "Narrative", "World"})
_K: Final = 5
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
    verdict=enum("yes", "no"),
    reasons=array(TEXT),
)


async def _lookup(canon: Canon, _caller: Caller, arguments: Arguments) -> Reply:
    found = await lookup_rule(canon, RuleKind(arguments["kind"]), arguments["name"])
    return None if found is None else _shown(canon, found)


def _shown(canon: Canon, entry: RuleEntry) -> Reply:
    return _ENTRY(entry, attribution=rulebook_of(canon).attribution)


async def _search(canon: Canon, _caller: Caller, arguments: Arguments) -> Reply:
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


RULES_TOOLS: Final[tuple[Tool, ...]] = (
    extension_tool(
        "lookup-rule",
        "Read what the rules say of a spell, monster, piece of equipment, condition or rule. "
        "Null: they say nothing. It knows nothing of the world.",
        _lookup,
        roles=PLAYERS_OF_RULES,
        takes=obj({"kind": _KIND, "name": KEY}),
        gives=_ENTRY.schema,
        null=True,
    ),
    extension_tool(
        "search-rules",
        "Find entries of the rules by words.",
        _search,
        roles=PLAYERS_OF_RULES,
        takes=obj({"query": TEXT.but(maxLength=NAME_MAX)}, {"kind": _KIND, "limit": POSITIVE}),
        gives=obj({"results": array(_FOUND), "attribution": TEXT}),
    ),
    extension_tool(
        "roll-dice",
        "Roll dice such as 2d6+3 or 4d6kh3; the same seed always rolls the same.",
        _roll,
        roles=PLAYERS_OF_RULES,
        takes=obj({"expression": TEXT.but(maxLength=EXPRESSION_MAX), "seed": KEY}),
        gives=_ROLLED.schema,
    ),
    extension_tool(
        "can-cast-here",
        "Tell whether a player can cast a spell here and now: what the rules ask, what the world "
        "is like, and why not.",
        _can_cast,
        roles=PLAYERS_OF_RULES,
        takes=obj({"playerId": KEY, "spell": KEY}, {"tick": TICK}),
        gives=_CASTABLE.schema,
    ),
)
