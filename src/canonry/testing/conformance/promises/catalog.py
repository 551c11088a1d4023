"""What `canonry.ports.views.catalog.Catalog` promises."""

from collections.abc import Mapping
from typing import Final

from canonry.testing.conformance.promises import Requirement

CATALOG: Final[Mapping[str, Requirement]] = {
    "catalog:projects:order": Requirement(
        promise="Projects come by name without regard to case, by name and by id, up to the limit.",
        because="Equal questions have equal answers, whatever a database takes for alphabetical.",
    ),
    "catalog:projects:own": Requirement(
        promise="Of given spaces only those are told that are projects.",
        because="What a caller may not see does not exist.",
    ),
    "catalog:search:literal": Requirement(
        promise="A text is found wherever it occurs in title, slug or summary, character by "
        "character, without regard to case or canonical form; no character has another meaning.",
        because="A percent sign is a percent sign.",
    ),
    "catalog:search:order": Requirement(
        promise="Matches come newest first, then by id; the total counts those past the limit too.",
        because="An agent must know how much it has not seen.",
    ),
    "catalog:search:kinds": Requirement(
        promise="Only entities of the given kinds match; none given means all, and no other item "
        "ever does.",
        because="A source item is not an entity.",
    ),
    "catalog:search:own": Requirement(
        promise="A search sees one project, and an unknown one raises NotFound `project.unknown`.",
        because="Projects are apart.",
    ),
    "catalog:search:follows": Requirement(
        promise="What an entity was called is not found any more once it is called otherwise, "
        "was retconned, or was erased.",
        because="A view is what the records lead to.",
    ),
    "catalog:entry:counts": Requirement(
        promise="Every relation of a catalog that holds is counted at both of its ends, one to "
        "itself twice.",
        because="A reader sees how connected an entity is before asking for its graph.",
    ),
    "catalog:entry:unknown": Requirement(
        promise="An entity of another project, an item of another kind and none at all raise "
        "NotFound `entity.unknown`.",
        because="A refusal must not tell which of them it was.",
    ),
    "catalog:graph:steps": Requirement(
        promise="Nodes have the least number of steps from the root, along relations of the given "
        "types in either direction, and come by steps, title without regard to case, title, id.",
        because="Equal questions have equal answers.",
    ),
    "catalog:graph:edges": Requirement(
        promise="Edges join nodes that are told, of which one was looked at, in their own "
        "direction, each once, by the ids of their ends and their type.",
        because="A client draws what it gets, and must not find an end missing.",
    ),
    "catalog:graph:bounds": Requirement(
        promise="The root is always told; of others as many as there is room for, in their order, "
        "and what had no room is told.",
        because="A hub must not bury its own entity.",
    ),
    "catalog:graph:entities": Requirement(
        promise="Relations to items that are no entities are neither followed nor told, and an "
        "entity that was erased is gone from every graph.",
        because="An id that a source item shares with an entity must not make it one.",
    ),
    "catalog:graph:follows": Requirement(
        promise="A graph follows when an entity is called otherwise, when a relation ends, and "
        "when a merger of entities is undone.",
        because="A view is what the records lead to.",
    ),
    "catalog:bearers:told": Requirement(
        promise="bearers and projects_called tell who bears a slug or an address, joined which "
        "relation holds between two items.",
        because="Whoever writes must know what is taken.",
    ),
    "catalog:items:paged": Requirement(
        promise="items and relations_from give everything once, in order, page by page.",
        because="An export must not forget a row.",
    ),
}
