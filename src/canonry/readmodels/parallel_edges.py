"""Parallel edges: those that a merge has laid over each other are one, and its loops are none."""

from collections.abc import Iterable, Mapping

from canonry.log.items.relations import Relation
from canonry.values.ids import EntityId
from canonry.values.revising import revised


def laid_together(edges: Iterable[Relation], moved: Mapping[str, EntityId]) -> Iterable[Relation]:
    """The edges between those who answer today, each once, in the order of the first of them.

    `moved` says who answers for whom. One of several is the oldest, with what all of them say: of
    two words the later stands.
    """
    found: dict[tuple[str, EntityId, EntityId], list[Relation]] = {}
    for edge in edges:
        ends = moved.get(edge.from_id, edge.from_id), moved.get(edge.to_id, edge.to_id)
        if ends[0] != ends[1]:
            found.setdefault((edge.rel_type, *ends), []).append(edge)
    return [_one(several, *ends) for (_, *ends), several in found.items()]


def _one(several: Iterable[Relation], from_id: EntityId, to_id: EntityId) -> Relation:
    first, *others = sorted(several, key=lambda edge: (edge.position, edge.id))
    changes: dict[str, object] = {"from_id": from_id, "to_id": to_id}
    if others:
        changes["properties"] = {k: v for e in (first, *others) for k, v in e.properties.items()}
        changes["origins"] = {
            **first.origins,
            **{k: e.origins.get(k, e.id) for e in others for k in e.properties},
        }
        changes["told"] = first.told + sum(each.told for each in others)
        changes["told_at"] = max(each.told_at or each.created_at for each in (first, *others))
    return revised(first, **changes)
