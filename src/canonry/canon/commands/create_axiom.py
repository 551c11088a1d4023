"""Create an axiom: a law of a world, never a player's word; gates enforce its constraint."""

from dataclasses import dataclass

from canonry.canon.judging.making import Backing
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, Receipt, commit_change
from canonry.canon.session.lookup import require_evidence, require_universe
from canonry.log.entries import Made
from canonry.log.items.facts import AxiomDomain, AxiomDraft, Constraint
from canonry.values.errors import InvalidInput
from canonry.values.ids import AxiomId, NewId
from canonry.values.provenance import Authority


@dataclass(frozen=True, slots=True, kw_only=True)
class NewAxiom:
    """A law, the field that it governs, and what it forbids, if that can be told by rule."""

    statement: str
    domain: AxiomDomain
    constraint: Constraint | None


async def create_axiom(canon: Canon, caller: Caller, backing: Backing, new: NewAxiom) -> Receipt:
    """Lay down the axiom.

    Raises:
        InvalidInput: `axiom.players-word`.
        NotFound: `universe.unknown` or `evidence.unknown`.
        Conflict: `space.foreign`.
    """
    if backing.authority is Authority.PLAYER:
        message = "a player's word is no law of the world; use source, gm or system"
        raise InvalidInput("axiom.players-word", message, path="/authority")
    await require_universe(canon, caller, backing.space)

    async def prepare(new_id: NewId) -> Change:
        reads = await require_evidence(canon, caller, backing.space, backing.evidence)
        axiom = AxiomDraft(
            id=AxiomId(new_id("axiom")),
            space=backing.space,
            statement=new.statement,
            domain=new.domain,
            constraint=new.constraint,
            confidence=backing.confidence,
            authority=backing.authority,
            evidence=backing.evidence,
            level=backing.level,
        )
        return Change(entries=(Made(thing=axiom),), reads=reads)

    return await commit_change(canon, caller, backing.space, prepare)
