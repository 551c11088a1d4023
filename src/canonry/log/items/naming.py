"""Naming: the ids that a thing names beside its own, and the thing without some of them."""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact
from canonry.log.items.memories import Memory
from canonry.log.items.proposals import Decision, Grade, GradedConflict, Proposal
from canonry.log.items.relations import Relation
from canonry.log.items.scenes import Scene, Turn
from canonry.values.audience import Viewer
from canonry.values.revising import revised

REVIEWED: Final = "review:game-master"
"""The rule that a verdict names to those who may not know what it rests on."""

_WAITS: Final = "needs review by the game master"
_ONE: Final = {
    Scene: ("location_ref",),
    Turn: ("entity_id", "resolution_ref"),
    Memory: ("linked_fact_id", "scene_id"),
    Entity: ("derives_from", "replaced_by"),
    Fact: ("replaces", "replaced_by", "superseded_by", "proposal_id", "scene_id"),
    Event: ("replaced_by", "proposal_id", "scene_id"),
    Relation: ("replaced_by", "superseded_by", "proposal_id", "scene_id"),
    Proposal: ("scene_id", "turn_id"),
}
"""The fields of each kind that name one thing, or none."""

_MANY: Final = {
    Scene: ("participants", "departed", "outcomes"),
    Entity: ("members", "brought"),
    Fact: ("involved",),
    Event: ("involved", "causes"),
    Proposal: ("waived",),
}
_BACKED: Final = (Entity, Fact, Event, Relation, Axiom, Proposal)


def named_in(thing: Any) -> Iterator[str]:
    """The ids that a thing names, where others than its readers might be meant."""
    kind = type(thing)
    for name in _ONE.get(kind, ()):
        if (one := getattr(thing, name)) is not None:
            yield one
    for name in _MANY.get(kind, ()):
        yield from getattr(thing, name)
    if kind in _BACKED:
        yield from (cited.ref for cited in thing.evidence)
    if isinstance(thing, Proposal):
        for ruling in (thing.decision, thing.review):
            if ruling is not None:
                yield from (one.id for one in ruling.all_conflicts)
                yield from ruling.made


def without(thing: Any, hidden: Collection[str]) -> Any:
    """The thing as if what has these ids were not there."""
    kind = type(thing)
    changes: dict[str, Any] = {
        name: None for name in _ONE.get(kind, ()) if getattr(thing, name) in hidden
    }
    for name in _MANY.get(kind, ()):
        known = getattr(thing, name)
        if not hidden_free(known, hidden):
            changes[name] = tuple(one for one in known if one not in hidden)
    if kind in _BACKED and any(cited.ref in hidden for cited in thing.evidence):
        changes["evidence"] = tuple(c for c in thing.evidence if c.ref not in hidden)
    if isinstance(thing, Proposal):
        for name in ("decision", "review"):
            if (ruling := getattr(thing, name)) is not None:
                changes[name] = _ruled(ruling, hidden)
    return revised(thing, **changes) if changes else thing


def ruled_for(proposal: Proposal, viewer: Viewer) -> Proposal:
    """The proposal with no more of how it was judged than a viewer may know."""
    changes: dict[str, Any] = {}
    for name in ("decision", "review"):
        ruling = getattr(proposal, name)
        if ruling is None:
            continue
        if not viewer.sees(ruling.audience):
            changes[name] = _unsaid(ruling, (), ())
        elif any(one.audience for one in ruling.graded):
            graded = tuple(one for one in ruling.graded if viewer.sees(one.audience))
            changes[name] = revised(ruling, graded=graded)
    return revised(proposal, **changes) if changes else proposal


def hidden_free(ids: Collection[str], hidden: Collection[str]) -> bool:
    """Whether none of `ids` is hidden."""
    return not any(one in hidden for one in ids)


def _ruled(ruling: Decision, hidden: Collection[str]) -> Decision:
    """A ruling that rests on what is hidden says no more than who decides."""
    rests_on = [one.id for one in ruling.all_conflicts]
    if hidden_free((*rests_on, *ruling.made), hidden):
        return ruling
    graded = (one for one in ruling.graded if one.id not in hidden)
    return _unsaid(ruling, tuple(graded), (one for one in ruling.made if one not in hidden))


def _unsaid(ruling: Decision, graded: tuple[GradedConflict, ...], made: Iterable[str]) -> Decision:
    return revised(
        ruling,
        rule=REVIEWED,
        rationale=_WAITS,
        score=None,
        conflicts=tuple(one.id for one in graded if one.grade is Grade.CONTRADICTION),
        graded=graded,
        made=tuple(made),
    )
