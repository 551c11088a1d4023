"""What `canonry.ports.views.vectors.Vectors` promises."""

from collections.abc import Mapping
from typing import Final

from canonry.testing.conformance.promises import Requirement

VECTORS: Final[Mapping[str, Requirement]] = {
    "vectors:search:nearest-first": Requirement(
        promise="The nearest passages come first with their inner products, ties by id and part.",
        because="Ranking rests on how near passages are, and tests on a fixed order.",
    ),
    "vectors:search:filters": Requirement(
        promise="Collection, space, entities, source and the scene left out select, also combined.",
        because="Nobody finds what they may not see, and no space is one only among others.",
    ),
    "vectors:search:models-are-apart": Requirement(
        promise="Vectors of one model are never compared with those of another; none is no error.",
        because="Numbers of different models say nothing about each other.",
    ),
    "vectors:apply:replaces": Requirement(
        promise="The entries of an id replace all its parts; an id that is removed has none.",
        because="A passage that changed is not found by what it was.",
    ),
    "vectors:apply:follows": Requirement(
        promise="A batch that does not follow the cursor of its model changes nothing.",
        because="Two processes that index at once must not undo each other.",
    ),
    "vectors:apply:whole": Requirement(
        promise="A batch with one vector of another size is refused whole.",
        because="Half a batch with a new cursor is a hole that nobody sees.",
    ),
    "vectors:status:counts": Requirement(
        promise="status and cursors tell each model with its cursor, in order of first batches.",
        because="Whoever indexes goes on from there, also in another process.",
    ),
    "vectors:digests:by-part": Requirement(
        promise="digests gives what each part came with, in order; unknown ids are left out.",
        because="A text that stays the same is not embedded again.",
    ),
    "vectors:about:paged": Requirement(
        promise="about pages through the ids of passages that name an entity, in order.",
        because="When somebody is renamed, their passages are embedded again.",
    ),
    "vectors:remove:every-model": Requirement(
        promise="What is removed is found under no model; cursors stay, and purging is then safe.",
        because="Erasing must not depend on which model serves.",
    ),
    "vectors:drop:one-or-all": Requirement(
        promise="drop forgets one model or everything; what is taken in after it counts from anew.",
        because="An index that is lost is made again from the records.",
    ),
}
