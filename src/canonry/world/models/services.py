"""The services of a world: rules of play, language models, moderation and counts."""

from dataclasses import dataclass, field

from canonry.canon.session.canon import Canon
from canonry.models.speaker import SpeakingModel
from canonry.world.domain.moderation.moderating import Moderation, moderate_by_words
from canonry.world.models.admissions import Admissions
from canonry.world.models.generation import Generated
from canonry.world.models.telemetry import Telemetry
from canonry.world.ports.moderator import Moderator, Rulebook


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldServices:
    """What a world uses beside the ports of the store; each may be missing.

    Without `moderator`, word lists alone moderate texts; without `listener`, rules alone read what
    players say; without `speaker`, characters answer with set sentences.
    """

    rulebook: Rulebook | None = None
    speaker: SpeakingModel | None = None
    listener: SpeakingModel | None = None
    moderator: Moderator | None = None
    admissions: Admissions = field(default_factory=Admissions)
    telemetry: Telemetry = field(default_factory=Telemetry)
    generated: Generated = field(default_factory=Generated)

    async def close(self) -> None:
        """Close the connections of models."""
        for each in (self.speaker, self.listener, self.moderator):
            if each is not None:
                await each.close()


async def moderate_content(canon: Canon, text: str) -> Moderation:
    """What the moderator says; without one, what the rules say."""
    moderator = canon.service(WorldServices).moderator
    return moderate_by_words(text) if moderator is None else await moderator.moderate(text)
