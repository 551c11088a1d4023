"""The canon toolset: plain verbs over every kind of space, served unless somebody says otherwise.

Only its face is loaded with the package; the tools are imported when somebody asks for them.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face, lazily

if TYPE_CHECKING:
    from canonry.assistant.toolset import CANON

__all__ = ["CANON", "FACE"]

FACE: Final = Face(
    name="canon",
    purpose="One checked truth with its evidence, for a game, a person or a company",
    server_name="canonry",
    contract_version="1.0.0",
    instructions=(
        "Before you state something, look: find by words, get by name, context for a brief. "
        "When somebody says, writes or sends something, tell it: you get ids to cite. What you "
        "want to be true from now on, propose with these ids as evidence: it is judged at once, "
        "and the verdict says what stands against it. why shows what a thing rests on, changes "
        "what is new. Names serve wherever ids do. Say where a truth comes from, and say so when "
        "nothing is known."
    ),
)

__getattr__ = lazily(__name__, "CANON")
