"""The fields of an entity that every toolset sees, and the merge policy of each."""

from typing import Final

from canonry.values.merge import LAST_WRITE, LATEST, NAMES, TAG_SET, MergePolicy
from canonry.values.merge.kit import FRAGMENT, PROPERTY

NAME: Final = "name"
DESCRIPTION: Final = "description"
STATE_TAGS: Final = "state_tags"
PROPERTY_PREFIX: Final = PROPERTY
FRAGMENT_PREFIX: Final = FRAGMENT

_OWN: Final = {NAME: NAMES, DESCRIPTION: LATEST, STATE_TAGS: TAG_SET}


def policy_of(field: str) -> MergePolicy:
    """The merge policy of `field`; a schema may show a property by another one of `CHOICES`."""
    return _OWN.get(field, LAST_WRITE)
