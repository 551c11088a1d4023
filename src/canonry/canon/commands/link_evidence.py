"""Link evidence: one more reference that supports a thing of canon."""

from typing import TypeAlias

from canonry.canon.session.caller import Caller, unknown
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change
from canonry.canon.session.lookup import require, require_evidence
from canonry.log.entries import EvidenceLinked
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Axiom, Event, Fact
from canonry.log.items.relations import Relation
from canonry.log.keys import thing_key
from canonry.values.ids import NewId
from canonry.values.provenance import Evidence

Supported: TypeAlias = Entity | Relation | Fact | Event | Axiom


async def link_evidence(
    canon: Canon, caller: Caller, canonical_id: str, evidence: Evidence
) -> Supported:
    """Support the thing with `evidence`, unless it is already; the thing as it is then.

    Raises:
        NotFound: `canon.unknown`, no entity, relation, fact, event or axiom has this id; or
            `evidence.unknown`.
        Conflict: `space.foreign`.
    """
    space = (await _require_supported(canon, caller, canonical_id)).space

    async def prepare(new_id: NewId) -> Change:
        del new_id  # a reference has no id of its own
        thing = await _require_supported(canon, caller, canonical_id)
        reads = await require_evidence(canon, caller, space, (evidence,), path="/evidence_ref")
        if evidence in thing.evidence:
            return Change(entries=(), reads=frozenset())
        entry = EvidenceLinked(thing_id=thing.id, evidence=evidence)
        return Change(
            entries=(entry,), reads=reads | {thing_key(canonical_id), thing_key(thing.id)}
        )

    await commit_change(canon, caller, space, prepare)
    return await _require_supported(canon, caller, canonical_id)


async def _require_supported(canon: Canon, caller: Caller, canonical_id: str) -> Supported:
    found = await canon.seen_by(caller).thing(canonical_id)
    if isinstance(found, Entity):
        return await require(canon, caller, Entity, canonical_id)
    if not isinstance(found, Supported):
        raise unknown("canon", canonical_id)
    return found
