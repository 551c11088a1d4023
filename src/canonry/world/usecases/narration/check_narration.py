"""Check narration: what of a text the world would reject, each with its constraint and place."""

from collections.abc import Sequence
from dataclasses import dataclass

from canonry.canon.judging.comparing.conflicts import Stated, conflict
from canonry.canon.session.canon import Canon
from canonry.log.items.entities import Entity
from canonry.log.items.proposals import Grade
from canonry.log.schemas.world_types import WorldType
from canonry.readmodels.edges import Tick
from canonry.world.domain.narration.claims import sentences_of
from canonry.world.domain.narration.scene import NarratedScene
from canonry.world.domain.narration.violations import NarrationLimit, Violation, violations_of
from canonry.world.usecases.narration.the_scene import scene_of
from canonry.world.usecases.speech import location_of
from canonry.world.usecases.worlds import BoundWorld, WorldAt, not_in_world, world_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrated:
    """A narration, for whom and where: without a place where the player is, or the starter."""

    text: str
    player: str | None = None
    location: str | None = None
    tick: Tick | None = None


async def check_narration(
    canon: Canon, world: BoundWorld, narrated: Narrated
) -> Sequence[Violation]:
    """What canon or a constraint would reject; nothing is written.

    Raises:
        NotFound: `player.unknown` or `location.unknown`.
    """
    then = world_at(canon, world, narrated.tick)
    player = None
    if narrated.player is not None:
        player = await then.find(then.id_of(narrated.player), WorldType.PLAYER)
        if player is None:
            raise not_in_world(then.id_of(narrated.player), WorldType.PLAYER)
    place = await _place(then, narrated, player)
    if place is None:
        raise not_in_world(then.id_of(narrated.location), WorldType.LOCATION)
    scene = await scene_of(then, place, player, narrated.text)
    found = violations_of(narrated.text, scene)
    lore = [each for each in contradictions(narrated.text, scene) if not _covered(each, found)]
    return sorted([*found, *lore], key=lambda v: (v.start, v.constraint))


def contradictions(narration: str, scene: NarratedScene) -> Sequence[Violation]:
    """What the words of lore themselves exclude."""
    found = []
    for sentence in sentences_of(narration, scene.known):
        if sentence.open:
            continue
        for told in scene.lore:
            clash = conflict(Stated(statement=told.text), Stated(statement=sentence.text))
            if clash is not None and clash.grade is Grade.CONTRADICTION:
                found.append(
                    Violation(
                        constraint=NarrationLimit.LORE, start=sentence.start, end=sentence.end,
                        against=told.id, reason=f"lore says: {told.text[:160]}",
                    )
                )  # fmt: skip
                break
    return found


def _covered(one: Violation, found: Sequence[Violation]) -> bool:
    return any(
        each.constraint is one.constraint and each.start < one.end and one.start < each.end
        for each in found
    )


async def _place(then: WorldAt, narrated: Narrated, player: Entity | None) -> Entity | None:
    if narrated.location is None and player is not None:
        return await location_of(then, player.id)
    return await then.find(then.id_of(narrated.location), WorldType.LOCATION)
