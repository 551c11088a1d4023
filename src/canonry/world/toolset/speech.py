"""Tools that read what players say."""

from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import (
    BOOLEAN,
    COUNT,
    NUMBER,
    TEXT,
    WORD,
    Field,
    Shape,
    array,
    enum,
    obj,
    optional,
)
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.values.policy import DESCRIPTION_MAX
from canonry.world.domain.moderation.moderating import CATEGORIES
from canonry.world.domain.utterances.frames import Category
from canonry.world.domain.utterances.lexicon import VERBS
from canonry.world.domain.utterances.reading import UTTERANCE_MAX
from canonry.world.models.services import moderate_content
from canonry.world.toolset.contract import extension_tool
from canonry.world.toolset.shapes import KEY
from canonry.world.usecases.speech import classify_intent, parse_to_action_frame
from canonry.world.usecases.worlds import bound_world

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
    return _CLASSIFIED(await classify_intent(canon, arguments["utterance"]))


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
