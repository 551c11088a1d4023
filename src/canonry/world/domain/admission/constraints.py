"""Constraints: what can be said against one thing being so, each a pure question with its rule.

They know values alone, so that narration, intents and plans can ask the same.
"""

from collections.abc import Collection, Iterable, Mapping

from canonry.readmodels.edges import Direction
from canonry.values.ids import EntityId
from canonry.world.domain.admission.kit import Rejection, refusal
from canonry.world.domain.admission.known import Laid
from canonry.world.domain.standing import KnownWay, Person, Stack


def not_here(person: Person, *, path: str | None = None) -> Rejection | None:
    """The dead and the absent neither act nor take part."""
    if not person.alive:
        return refusal("person.dead", f"{person.name} is dead", path=path)
    if not person.present:
        return refusal("person.absent", f"{person.name} is absent", path=path)
    return None


def apart(
    one: EntityId | None, other: EntityId | None, reason: str, *, path: str | None = None
) -> Rejection | None:
    """Two who have to do with each other are at one place."""
    if one is None or one != other:
        return refusal("position.elsewhere", reason, path=path)
    return None


def missing(
    person: Person, place: EntityId | None, reason: str, *, path: str | None = None
) -> Rejection | None:
    """Who takes part in something at a place lives, is present, and is there."""
    return not_here(person, path=path) or apart(place, person.place, reason, path=path)


def no_passage(
    way: KnownWay | None, direction: Direction, held: Collection[str], *, path: str | None = None
) -> Rejection | None:
    """Nobody goes where no exit leads, where it is blocked, or without what it requires."""
    if way is None:
        return refusal("exit.unknown", f"no exit leads {direction} from there", path=path)
    if way.blocked:
        return refusal("exit.blocked", f"the exit {direction} is blocked", path=path)
    if way.requires is not None and way.requires not in held:
        reason = f"the exit {direction} is passed only with an item that the mover does not hold"
        return refusal("exit.needs-item", reason, path=path)
    return None


def time_too_short(needed: int, claimed: int) -> bool:
    """Whether what takes so many milliseconds cannot have happened in so few."""
    return claimed < needed


def cannot_open(
    direction: Direction,
    ends: tuple[EntityId, EntityId],
    ways: Mapping[Direction, KnownWay],
    forbidden: Mapping[str, str],
    *,
    path: str | None = None,
) -> Rejection | None:
    """One exit leads in each direction, to another place, and not where the world forbids it."""
    if ends[0] == ends[1]:
        return refusal("exit.to-itself", "an exit leads to another place", path=path)
    if direction in ways:
        return refusal("exit.direction-taken", f"an exit leads {direction} already", path=path)
    if direction in forbidden:
        return refusal("exit.forbidden", f"{direction}: {forbidden[direction]}", path=path)
    return None


def overlapping(layers: Iterable[Laid], new: Laid) -> Laid | None:
    """The layer of the same type that holds at a tick at which the new one would."""
    for each in layers:
        apart_in_time = (each.until is not None and each.until < new.since) or (
            new.until is not None and new.until < each.since
        )
        if each.layer_type is new.layer_type and not apart_in_time:
            return each
    return None


def not_held(
    stack: Stack, holder: EntityId, wanted: int | None, *, path: str | None = None
) -> Rejection | None:
    """Only who has something gives it, and no more than there is."""
    if stack.holder != holder:
        return refusal("item.held-otherwise", f"{stack.name} is with somebody else", path=path)
    if wanted is not None and wanted > stack.quantity:
        reason = f"there are {stack.quantity} of {stack.name}, not {wanted}"
        return refusal("item.too-few", reason, path=path)
    return None


def too_little(
    person: Person, resource: str, amount: int, *, path: str | None = None
) -> Rejection | None:
    """Nobody spends what they do not have."""
    has = person.resources.get(resource, 0)
    if has < amount:
        reason = f"{person.name} has {has} of {resource}, not {amount}"
        return refusal("resource.too-little", reason, path=path)
    return None
