"""The narration tool: what of a text the world would reject, before anybody hears it."""

from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.shapes import COUNT, TEXT, Field, Shape, array, enum, obj
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.world.domain.narration.claims import NARRATION_MAX
from canonry.world.domain.narration.violations import POLICY_VERSION, NarrationLimit, Violation
from canonry.world.toolset.arguments import tick_of
from canonry.world.toolset.extensions import KEY
from canonry.world.toolset.speech import asking_tool
from canonry.world.usecases.bound_world import bound_world
from canonry.world.usecases.narration.check_narration import Narrated, check_narration

CHECKERS: Final = frozenset({"Canonicality", "Safety", "Narrative"})
TICK: Final = Field(
    {"type": ["number", "string"], "description": "World time in milliseconds; without it now."}
)
_SPAN: Final = Shape(start=COUNT, end=COUNT, text=TEXT.of(None))


def _span(narration: str, violation: Violation) -> dict[str, object]:
    return _SPAN(violation, text=narration[violation.start : violation.end])


_VIOLATION: Final = Shape(
    constraint=enum(*NarrationLimit), span=Field(_SPAN.schema).of(None), against=TEXT, reason=TEXT
)
_CHECKED: Final = Shape(
    verdict=enum("ok", "violates").of(lambda found: "violates" if found else "ok"),
    violations=array(Field(_VIOLATION.schema)).of(None),
    policyVersion=TEXT.of(lambda _: POLICY_VERSION),
)


async def _check(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    tick = tick_of(arguments)
    world = await bound_world(canon, caller)
    text = arguments["narration"]
    narrated = Narrated(
        text=text,
        player=arguments.get("playerId"),
        location=arguments.get("locationId"),
        tick=tick,
    )
    found = await check_narration(canon, world, narrated)
    told = [_VIOLATION(each, span=_span(text, each)) for each in found]
    return _CHECKED(found, violations=told)


TOOLS: Final[tuple[Tool, ...]] = (
    asking_tool(
        "check-narration",
        "Tell what of a narration the world would reject: where nobody can be, who is dead or "
        "elsewhere, what lore, weather, time and pockets do not allow. What characters say or "
        "dream claims nothing.",
        _check,
        roles=CHECKERS,
        takes=obj(
            {"narration": TEXT.but(minLength=1, maxLength=NARRATION_MAX)},
            {"playerId": KEY, "locationId": KEY, "tick": TICK},
        ),
        gives=_CHECKED.schema,
    ),
)
