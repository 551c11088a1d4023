"""The canon toolset with all its tools. Its face is declared in the package itself."""

from typing import Final

from canonry.assistant import FACE, explaining, finding, proposing, recording, reviewing, spaces
from canonry.assistant.call_context import EVERYBODY, KEEPERS, SOLO
from canonry.assistant.finding import COMPLETIONS, RESOURCES
from canonry.gateway.replies import DialectTable
from canonry.gateway.tables import read_prompts
from canonry.gateway.tool import PromptArgument, Toolset

_ABOUT: Final = PromptArgument(
    name="about", description="Name of a person, an item, a topic or a space; default everything"
)
_DIALECT: Final = DialectTable.read_table(__package__)

CANON: Final = Toolset(
    **FACE.to_fields(),
    agent_types=EVERYBODY,
    local_agent_type=SOLO,
    masters=KEEPERS,
    dialect=_DIALECT.error_envelope,
    structured=False,
    tools=(
        *spaces.TOOLS,
        *finding.TOOLS,
        *recording.TOOLS,
        *proposing.TOOLS,
        *reviewing.TOOLS,
        *explaining.TOOLS,
    ),
    remedies={
        "name.unknown": "Use find to search by words.",
        "space.unknown": "Use spaces to list them. Omit `space` to read in all.",
        "entity.other-audience": "Use decide reveal to let everybody know of an item.",
        "proposal.of-a-scene": "Use tell with end_scene to close a scene.",
    },
    resources=RESOURCES,
    prompts=read_prompts(__package__, EVERYBODY, _ABOUT, "It is about {}."),
    completions=COMPLETIONS,
)
