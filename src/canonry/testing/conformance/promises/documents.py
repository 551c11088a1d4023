"""What `canonry.ports.views.documents.Documents` promises."""

from collections.abc import Mapping
from typing import Final

from canonry.testing.conformance.promises import Requirement

DOCUMENTS: Final[Mapping[str, Requirement]] = {
    "documents:scenes:filters": Requirement(
        promise="scenes filters by space, story and status, in the order of play, with totals.",
        because="A game master asks where the story stands.",
    ),
    "documents:scenes:open": Requirement(
        promise="open_scenes gives scenes that are being canonized, of one space or all.",
        because="A crash in the middle of canonizing must be found.",
    ),
    "documents:scenes:counts": Requirement(
        promise="A scene counts its turns and proposals, and its story its scenes.",
        because="Nobody should have to read all turns to number the next.",
    ),
    "documents:turns:indexes": Requirement(
        promise="Turns are numbered 0, 1, 2, ... within a scene in the order of their commits.",
        because="A transcript without an order is not one.",
    ),
    "documents:turns:last": Requirement(
        promise="`last` gives that many of the newest turns, oldest of them first.",
        because="An agent's context ends with what was said last.",
    ),
    "documents:turns:after": Requirement(
        promise="`after` and `limit` page through all turns without a gap.",
        because="Long scenes are read in pieces.",
    ),
    "documents:proposals:filters": Requirement(
        promise="proposals filters by space, scene, type and status, oldest first, with totals.",
        because="Canonizing decides each pending proposal once, in order.",
    ),
    "documents:memories:order": Requirement(
        promise="memories gives one character's, most important first, then newest, above a floor.",
        because="The context of a character has room for few.",
    ),
    "documents:memories:own": Requirement(
        promise="A character's memories never hold another's.",
        because="What somebody believes is nobody else's.",
    ),
    "documents:snippets:order": Requirement(
        promise="snippets gives those of one source by index, page by page, with the total.",
        because="A book is read from its beginning.",
    ),
}
