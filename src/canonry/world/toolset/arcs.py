"""The planning tool: a quest from the world's own places, people and lore."""

from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import COUNT, INTEGER, TEXT, WORD, Field, Shape, array, obj
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.values.policy import NAME_MAX
from canonry.world.domain.arcs.arcs import BEATS, BEATS_MAX, BEATS_MIN
from canonry.world.toolset.extensions import ANYTHING, KEY, POSITIVE
from canonry.world.toolset.speech import asking_tool
from canonry.world.usecases.arcs.generate_arc import WantedArc, generate_arc
from canonry.world.usecases.bound_world import bound_world

PLANNERS: Final = frozenset({"Planner"})
_SOME: Final = array(KEY).but(maxItems=BEATS_MIN)
_THEMES: Final = array(TEXT.but(maxLength=NAME_MAX)).but(maxItems=5)
_NUMBERS: Final = array(INTEGER)
_CONSTRAINTS: Final = obj(
    {},
    {
        "locationIds": _SOME,
        "factionIds": _SOME,
        "themes": _THEMES,
        "beats": INTEGER.but(minimum=BEATS_MIN, maximum=BEATS_MAX),
        "level": POSITIVE.but(maximum=20),
    },
)
_PLANNED: Final = Shape(
    arcId=TEXT.of("arc.id"),
    seed=TEXT.of("arc.seed"),
    title=TEXT.of("arc.title"),
    hook=TEXT.of("arc.hook"),
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
    ).of("arc.beats"),
    proposal=ANYTHING.by(dict),
)


async def _generate(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    asked = arguments.get("constraints", {})
    world = await bound_world(canon, caller)
    wanted = WantedArc(
        seed=arguments["seed"],
        locations=tuple(asked.get("locationIds", ())),
        factions=tuple(asked.get("factionIds", ())),
        themes=tuple(asked.get("themes", ())),
        beats=asked.get("beats", BEATS),
        level=asked.get("level"),
    )
    return _PLANNED(await generate_arc(canon, world, wanted))


TOOLS: Final[tuple[Tool, ...]] = (
    asking_tool(
        "generate-arc",
        "Plan a quest of 3 to 12 beats from the world's own places, people and lore. The same "
        "seed always plans the same; nothing is proposed or changed by it.",
        _generate,
        roles=PLANNERS,
        takes=obj({"seed": KEY}, {"constraints": Field(_CONSTRAINTS)}),
        gives=_PLANNED.schema,
    ),
)
