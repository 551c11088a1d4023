"""Moderate content: whether a text may stand, in a world that many share or in a proposal."""

from canonry.canon.session.canon import Canon
from canonry.world.domain.moderation.moderating import Moderation, moderate_by_words
from canonry.world.models.services import WorldServices


async def moderate_content(canon: Canon, text: str) -> Moderation:
    """What the moderator says; without one, what the rules say."""
    moderator = canon.service(WorldServices).moderator
    return moderate_by_words(text) if moderator is None else await moderator.moderate(text)
