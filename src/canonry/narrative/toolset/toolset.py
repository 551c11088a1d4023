"""The toolset `narrative`: its tools and prompts."""

from typing import Final

from canonry.gateway.offers import ContractFile, outline_tool
from canonry.gateway.replies import DialectTable
from canonry.gateway.tables import read_prompts
from canonry.gateway.tool import ANYONE, PromptArgument, Tool, Toolset
from canonry.gateway.toolset_introduction import Face
from canonry.narrative.toolset import entities, scenes, search
from canonry.narrative.toolset.contract import CONTENTS, KEEPER, agent_types, make_tool
from canonry.narrative.toolset.search import COMPLETIONS
from canonry.narrative.toolset.shapes import BATCH, TABLE

_SCENE: Final = PromptArgument(
    name="scene_id", description="Id of the scene to work on; leave it out if there is none yet"
)
PROMPTS: Final = read_prompts(__package__, ANYONE, _SCENE, "Work on scene {}.")


# `tools.toml` has all tools in their order; these modules make those that need code. The tools are
# listed with outlines of their replies; the reference describes the replies in full.

_MADE: Final = {each.name: each for module in (entities, scenes, search) for each in module.TOOLS}
EXACT: Final[tuple[Tool, ...]] = (
    *(_MADE.get(name) or make_tool(name) for name, each in TABLE.tools.items() if "is" in each),
    BATCH,
)
"""The tools with the complete schemas of their replies, which the tests check."""


DIALECT: Final = DialectTable.read_table(__package__).flat_error
"""The six error codes of the contract, with their data."""

FACE: Final = Face.read_face(__package__)
NARRATIVE: Final = Toolset(
    **FACE.to_fields(),
    agent_types=agent_types(),
    masters=KEEPER,
    dialect=DIALECT,
    tools=tuple(map(outline_tool, EXACT)),
    remedies={
        "entity.other-audience": "Use neo4j_set_audience to change an audience.",
        "proposal.of-a-scene": "Use composite_canonize_scene to judge a scene's proposals.",
        "quantity.uncounted": "Use neo4j_create_relationship to state a quantity or an item.",
    },
    resources=(*search.RESOURCES, *CONTENTS),
    prompts=PROMPTS,
    completions=COMPLETIONS,
    descriptions=ContractFile("canonry.narrative.toolset.contract", "words.json").read_contract(),
)
