"""Trace evidence: from a reference down to the words of the turn or source behind it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.log.entries import Thing
from canonry.log.items.facts import Axiom
from canonry.log.items.scenes import Scene, Turn
from canonry.log.items.sources import Snippet, Source
from canonry.values.provenance import Evidence

TRACED_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """A reference with the thing that it names and what that lies in; None: erased or unknown.

    A turn lies in its scene, a snippet in its source.
    """

    evidence: Evidence
    thing: Turn | Scene | Source | Snippet | Axiom | None
    within: Scene | Source | None = None

    @property
    def place(self) -> Scene | Source | None:
        """Where it can be read: the scene or the document, be it the evidence itself."""
        return self.thing if isinstance(self.thing, Scene | Source) else self.within


async def trace_evidence(
    canon: Canon, caller: Caller, evidence: Iterable[Evidence]
) -> Sequence[Traced]:
    """The first 200 references, each once, in their order."""
    wanted = tuple(dict.fromkeys(evidence))[:TRACED_MAX]
    seen = canon.seen_by(caller)
    found = await seen.things({each.ref for each in wanted})
    outer = await seen.things(_holders(found.values()))
    return [_traced(each, found.get(each.ref), outer) for each in wanted]


def _holders(things: Iterable[Thing]) -> set[str]:
    return {holder for thing in things if (holder := _holder(thing)) is not None}


def _holder(thing: Thing | None) -> str | None:
    match thing:
        case Turn(scene_id=scene_id):
            return scene_id
        case Snippet(source_id=source_id):
            return source_id
        case _:
            return None


def _traced(evidence: Evidence, thing: Thing | None, outer: Mapping[str, Thing]) -> Traced:
    known = thing if isinstance(thing, Turn | Scene | Source | Snippet | Axiom) else None
    holder = _holder(known)
    within = None if holder is None else outer.get(holder)
    return Traced(
        evidence=evidence,
        thing=known,
        within=within if isinstance(within, Scene | Source) else None,
    )
