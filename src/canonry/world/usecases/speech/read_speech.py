"""Read speech: an utterance of a player as action frames, and as one of a few categories."""

from collections.abc import Sequence

from canonry.canon.session.canon import Canon
from canonry.log.schemas.world_types import WorldType
from canonry.values.ids import SpaceId
from canonry.world.domain.utterances.frames import Heard, Nameable
from canonry.world.domain.utterances.modelled import question_about
from canonry.world.domain.utterances.reading import read_utterance
from canonry.world.models.services import WorldServices
from canonry.world.usecases.bound_world import BoundWorld
from canonry.world.usecases.speech.ask_model import modelled
from canonry.world.usecases.speech.surroundings import surroundings_of
from canonry.world.usecases.world_at import not_in_world, world_at


async def parse_to_action_frame(
    canon: Canon, world: BoundWorld, player: str, utterance: str, previous: Sequence[str] = ()
) -> Heard:
    """What the player's character sets out to do; nothing is done, and nothing written.

    Raises:
        NotFound: `player.unknown`.
    """
    now = world_at(canon, world)
    found = await now.find(now.id_of(player), WorldType.PLAYER)
    if found is None:
        raise not_in_world(now.id_of(player), WorldType.PLAYER)
    around = await surroundings_of(now, found)
    subject = Nameable(id=found.id, kind=found.entity_type, name=found.name)
    return await _read(canon, utterance, subject, around.known, previous, space=world.space)


async def classify_intent(canon: Canon, utterance: str) -> Heard:
    """What kind of thing was said, wherever it was."""
    return await _read(canon, utterance, Nameable(id="", kind="player", name=""))


async def _read(
    canon: Canon,
    utterance: str,
    subject: Nameable,
    known: Sequence[Nameable] = (),
    previous: Sequence[str] = (),
    *,
    space: SpaceId | None = None,
) -> Heard:
    """What the model says that the settings name; without it, and where it fails, the rules."""
    listener = canon.service(WorldServices).listener
    if listener is not None:
        asked = question_about(utterance, subject, known, previous)
        said = await modelled(canon, listener, asked, space)
        if said is not None:
            return said
    return read_utterance(utterance, subject, known, previous)
