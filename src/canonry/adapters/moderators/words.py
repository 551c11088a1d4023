"""The moderator by word lists and rules: it needs no network and always says the same."""

from typing_extensions import override

from canonry.domain.world.moderation.moderating import Moderation, moderate_by_words
from canonry.ports.moderator import Moderator


class WordModerator(Moderator):
    """What stands in `rules.txt`."""

    @override
    def moderate(self, text: str) -> Moderation:
        return moderate_by_words(text)
