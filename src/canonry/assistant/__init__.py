"""The canon toolset, which is served by default: twelve tools for every kind of space.

Importing the package loads only the face. The tools are imported on demand.
"""

from typing import TYPE_CHECKING, Final

from canonry.gateway.face import Face, lazily

if TYPE_CHECKING:
    from canonry.assistant.toolset import CANON

__all__ = ["CANON", "FACE"]

FACE: Final = Face(
    name="canon",
    purpose="Facts that rules have checked, with evidence, for a game, a person or a company",
    server_name="canonry",
    contract_version="1.0.0",
    instructions=(
        "Canonry keeps canon: accepted facts with their evidence.\n"
        "Before you state a fact, look it up: find searches, get reads one item, context writes a "
        "brief.\n"
        "Record messages, documents and dialogue with tell. It returns ids to cite.\n"
        "Make a claim canon with propose, and cite those ids as evidence. Rules judge it at once, "
        "and the verdict lists conflicts.\n"
        "Correct a wrong fact: propose with replaces. Undo a mistake: decide with verdict retcon.\n"
        'To keep a secret, give "for": ["gm"] or names in tell and in each claim.\n'
        "why explains a fact, and changes lists what is new. "
        "You can use a name wherever an id is accepted.\n"
        "Cite the source of each fact, and say so when nothing is known."
    ),
)

__getattr__ = lazily(__name__, "CANON")
