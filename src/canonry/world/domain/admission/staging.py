"""The stage of one action: what is known, on whose behalf it is, and what it is about."""

from canonry.log.schemas.world_types import ActorKind, WorldType
from canonry.values.ids import EntityId
from canonry.world.domain.admission.constraints import not_here
from canonry.world.domain.admission.kit import Rejection, refusal
from canonry.world.domain.admission.known import KnownSpot, KnownWorld
from canonry.world.domain.admission.schema import Action, Proposed
from canonry.world.domain.standing import Person, Stack


class Stage:
    """One action being judged."""

    def __init__(self, known: KnownWorld, proposed: Proposed, number: int, action: Action) -> None:
        """`number` is the place of the action in the envelope."""
        self.known = known
        self.on_behalf = known.find(proposed.player, Person) if proposed.player else None
        self.by_world = not proposed.player
        self.action = action
        self.number = number

    def at(self, field: str) -> str:
        """The path of a parameter."""
        return f"/proposedActions/{self.number}/params/{field}"

    def person(self, name: str, field: str) -> Person | Rejection:
        """Somebody whom a parameter names."""
        return self.known.find(name, Person) or self._unknown("player or character", field)

    def spot(self, name: str, field: str) -> KnownSpot | Rejection:
        """A location that a parameter names."""
        return self.known.find(name, KnownSpot) or self._unknown("location", field)

    def stack(self, name: str, field: str) -> Stack | Rejection:
        """An item that a parameter names."""
        return self.known.find(name, Stack) or self._unknown("item", field)

    def _unknown(self, kind: str, field: str) -> Rejection:
        reason = f"this world has no {kind} of this id or key"
        return refusal("reference.unknown", reason, path=self.at(field))

    def within(self, *scopes: tuple[str, EntityId | None]) -> Rejection | None:
        """Whether the action says that it is about one of these."""
        kind, name = self.action.scope
        known: Person | KnownSpot | None
        known = (
            self.known.find(name, Person) if kind == "player" else self.known.find(name, KnownSpot)
        )
        if known is not None and (kind, known.id) in scopes:
            return None
        wanted = " or ".join(dict.fromkeys(f"{kind}:{each}" for kind, each in scopes if each))
        path = f"/proposedActions/{self.number}/scopeKey"
        return refusal("scope.mismatch", f"this is about {wanted or 'nothing here'}", path=path)

    def own(self, person: Person, field: str) -> Rejection | None:
        """Nobody acts for somebody else's player; characters are anybody's."""
        if person.kind is not WorldType.PLAYER or self.by_world:
            return None
        if self.on_behalf is None or person.id != self.on_behalf.id:
            reason = f"{person.name} is somebody else's player"
            return refusal("scope.other-player", reason, path=self.at(field))
        return None


def home_of(person: Person) -> tuple[str, EntityId | None]:
    """The scope of what somebody does themselves."""
    if person.kind is WorldType.PLAYER:
        return "player", person.id
    return "loc", person.place


def wrong_actor(proposed: Proposed, known: KnownWorld) -> Rejection | None:
    """Who acts is there and alive, and no player but the one on whose behalf it is proposed."""
    actor, path = proposed.envelope.actor, "/actor/id"
    behalf = known.find(proposed.player, Person) if proposed.player else None
    if proposed.player and (behalf is None or behalf.kind is not WorldType.PLAYER):
        reason = "there is no such player on whose behalf something could be proposed"
        return refusal("actor.unknown", reason, path="/playerId")
    if actor.id is None and actor.kind not in {ActorKind.PLAYER, ActorKind.NPC}:
        return None
    who = known.find(actor.id or "#nobody", Person)
    if who is None:
        return refusal("actor.unknown", "there is nobody of this id", path=path)
    if who.kind is WorldType.PLAYER and (behalf is None or who.id != behalf.id):
        return refusal("scope.other-player", f"{who.name} is somebody else's player", path=path)
    gone = not_here(who)
    if gone is None:
        return None
    return refusal(gone.rule.replace("person", "actor"), gone.reason, path=path)
