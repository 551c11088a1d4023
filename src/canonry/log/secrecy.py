"""Secrets: who may see an item, and what revealing changes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from canonry.log.entries import AudienceChanged, Entry, Made
from canonry.log.folding import Folding
from canonry.log.items.entities import Entity, EntityVeil, Sightings
from canonry.log.items.proposals import ProposalDraft
from canonry.log.items.scenes import TurnDraft
from canonry.log.items.sources import SnippetDraft
from canonry.log.items.veils import tells_of
from canonry.log.observing import sighting_of, tell
from canonry.values.audience import EVERYBODY, Audience, narrowest
from canonry.values.fields import PROPOSAL_PREFIX, revised
from canonry.values.ids import is_uuid
from canonry.values.observations import Observation

_NAMING: Final = (
    *("entity_id", "from_id", "to_id", "involved", "derives_from", "causes"),
    *("superseded_by", "replaced_by", "effect"),
)
_EVIDENCE: Final = "evidence"
_AUDIENCE: Final = "audience"
_PLAYED: Final = ("scene_id", "turn_id")


def under(
    entries: Iterable[Entry], audience: Audience, known: Mapping[str, Audience] | None = None
) -> tuple[Entry, ...]:
    """The entries as far as `audience` may know of them; `known` says who may see what they name.

    Whoever may not see a thing that they name sees nothing of them either.
    """
    seen = known or {}
    if not audience and not any(seen.values()):
        return tuple(entries)
    return tuple(_under(each, audience, seen) for each in entries)


def names_in(entries: Iterable[Entry], *, evidence: bool = True) -> Iterator[str]:
    """The ids of things that entries name beside those that they are about."""
    for entry in entries:
        yield from _names(entry.thing if isinstance(entry, Made) else entry, evidence=evidence)


def entry_audience(entry: Entry) -> Audience:
    """Who may know of an entry, or of what it brings into being."""
    said: Any = entry.thing if isinstance(entry, Made) else entry
    found: Audience = getattr(said, "audience", EVERYBODY)
    return found


def _under(entry: Entry, audience: Audience, known: Mapping[str, Audience]) -> Entry:
    said: Any = entry.thing if isinstance(entry, Made) else entry
    if not hasattr(said, "audience"):
        return entry
    about = (known.get(one, EVERYBODY) for one in _names(said, evidence=True))
    narrow = narrowest((said.audience, audience, *about))
    if narrow == said.audience:
        return entry
    kept: Any = replace(said, audience=narrow)
    return Made(thing=kept) if isinstance(entry, Made) else kept


def _names(said: Any, *, evidence: bool) -> Iterator[str]:
    for name in _NAMING:
        value = getattr(said, name, None)
        if isinstance(value, str):
            yield value
        elif value is not None:
            yield from value
    if isinstance(said, ProposalDraft) and _AUDIENCE in said.original:
        evidence = False  # who proposes it has said who may know, whoever may read the evidence
    if evidence or isinstance(said, TurnDraft):
        places = (getattr(said, name, None) for name in _PLAYED)
        yield from (one for one in places if one is not None)
    cited: Any = getattr(said, _EVIDENCE, ()) if evidence else ()
    yield from (one.ref for one in (cited if isinstance(cited, tuple) else (cited,)))
    if isinstance(said, SnippetDraft):
        yield said.source_id
    if isinstance(said, ProposalDraft):
        yield from ids_in(said.content)


def ids_in(content: Any) -> Iterator[str]:
    """The ids of things and of proposals that a content names."""
    match content:
        case str():
            named = content.removeprefix(PROPOSAL_PREFIX)
            yield from (named,) if is_uuid(named) else ()
        case Mapping():
            for each in content.values():
                yield from ids_in(each)
        case list() | tuple():
            for each in content:
                yield from ids_in(each)
        case _:
            return


def reveal(folding: Folding, entry: AudienceChanged) -> None:
    """Let the thing be for its new audience."""
    veiled, thing = _behind_a_veil(folding, entry.thing_id), folding.get(entry.thing_id)
    if hasattr(thing, "audience"):
        folding.change(entry.thing_id, type(thing), audience=entry.audience)
    if veiled is not None:
        _lift(folding, veiled)


def _behind_a_veil(folding: Folding, thing_id: str) -> Observation | None:
    told = folding.get(thing_id)
    entity = folding.get(told.entity_id) if isinstance(told, Observation) else None
    if isinstance(told, Observation) and isinstance(entity, Entity):
        return None if tells_of(told, entity) else told
    return None


def _lift(folding: Folding, before: Observation) -> None:
    """Tell the entity anew what only the former audience knew."""
    now = folding.get(before.id)
    seen = sighting_of(before)

    def forgotten(entity: Entity) -> Mapping[str, Any]:
        return {"veils": tuple(_less(entity.veils, before.audience, seen))}

    folding.develop(before.entity_id, Entity, forgotten)
    if isinstance(now, Observation):
        tell(folding, now)


def _less(veils: tuple[EntityVeil, ...], audience: Audience, seen: Sightings) -> list[EntityVeil]:
    """The veils without one that has nothing left to hide; what it says beside stays right."""
    kept: list[EntityVeil] = []
    for veil in veils:
        if veil.audience != audience:
            kept.append(veil)
        elif veil.sightings.count > seen.count or veil.absorbed_sightings.count or veil.evidence:
            fewer = revised(veil.sightings, count=max(0, veil.sightings.count - seen.count))
            kept.append(revised(veil, sightings=fewer))
    return kept
