"""What `canonry.ports.views.text.Text` promises."""

from collections.abc import Mapping
from typing import Final

from canonry.testing.conformance.promises import Requirement

TEXT: Final[Mapping[str, Requirement]] = {
    "text:search:finds": Requirement(
        promise="Passages that share a word are found; more and rarer words rank higher.",
        because="Recall is what the agent sees of the past.",
    ),
    "text:search:score": Requirement(
        promise="Scores lie in (0, 1], fall along the hits, and `shares` are terms that matched.",
        because="Scores of several recalls are weighed against each other.",
    ),
    "text:search:ties": Requirement(
        promise="The same search gives the same hits; equal texts come in the order of their ids.",
        because="A reply that changes without cause cannot be tested or cached.",
    ),
    "text:search:words": Requirement(
        promise="Words are those of domain/texts/words.py: case, accents and ligatures folded.",
        because="Every backend must find the same.",
    ),
    "text:search:forms": Requirement(
        promise="Other forms of a word, a slip in a long one, and `begun*` find it.",
        because="People write from memory, and inflect.",
    ),
    "text:search:phrases": Requirement(
        promise="Passages in which the words of a quoted phrase follow each other come first.",
        because="Who quotes remembers the very words.",
    ),
    "text:search:frequent": Requirement(
        promise="A word that every passage holds still finds passages.",
        because="Dropping frequent words is for speed and must not lose the only word.",
    ),
    "text:search:hostile": Requirement(
        promise="No text of a query is syntax: quotes, operators, wildcards, long or empty text.",
        because="Queries come from models, and models write anything.",
    ),
    "text:search:filters": Requirement(
        promise="collection, spaces, entities, source_id, without_scene and limit select exactly.",
        because="A character must not recall what only another knows.",
    ),
    "text:search:isolated": Requirement(
        promise="What other spaces hold changes neither hits nor scores of a space.",
        because="Scores would tell what another tenant writes about.",
    ),
    "text:search:current": Requirement(
        promise="A passage is found as it is now: new ones at once, erased ones never.",
        because="What was erased must not be recalled.",
    ),
    "text:search:canon": Requirement(
        promise=(
            "Entities, facts and lore are found by what canon says now: not what was retconned, "
            "and a renamed entity by its new name alone."
        ),
        because="What never was must not come back through a search.",
    ),
    "text:placed:filters": Requirement(
        promise="Of the ids given, those are placed that every filter selects, whatever the words.",
        because="An index of meanings may lag behind, and must not widen what a query may find.",
    ),
    "text:placed:current": Requirement(
        promise="Passages are placed as they are now: new ones at once, erased ones never.",
        because="What was erased must not be recalled.",
    ),
}
