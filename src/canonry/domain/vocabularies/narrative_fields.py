"""The fields of a narrative entity and the merge policy of each."""

from typing import Final

from canonry.domain.merge import LATEST, TAG_SET, MergePolicy

NAME: Final = "name"
DESCRIPTION: Final = "description"
STATE_TAGS: Final = "state_tags"
PROPERTY_PREFIX: Final = "properties."


def policy_of(field: str) -> MergePolicy:
    """The merge policy of `field`."""
    return TAG_SET if field == STATE_TAGS else LATEST
