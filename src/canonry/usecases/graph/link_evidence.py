"""Link evidence: one more reference that supports a thing of canon."""

from typing import TypeAlias

from canonry.domain.ids import NewId
from canonry.domain.log.entries import EvidenceLinked
from canonry.domain.log.keys import thing_key
from canonry.domain.provenance import Evidence
from canonry.domain.things.entities import Entity
from canonry.domain.things.facts import Axiom, Event, Fact
from canonry.domain.things.relations import Relation
from canonry.usecases.kernel.caller import Caller, unknown
from canonry.usecases.kernel.canon import Canon
from canonry.usecases.kernel.commit_change import Change, commit_change
from canonry.usecases.kernel.lookup import require, require_evidence
from canonry.usecases.kernel.sight import may_see

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
    found = (await canon.state.things((canonical_id,))).get(canonical_id)
    if isinstance(found, Entity):
        return await require(canon, caller, Entity, canonical_id)
    if not isinstance(found, Supported) or not await may_see(canon, caller, found.space):
        raise unknown("canon", canonical_id)
    return found
