"""The relation types that narrative worlds know, their aliases, and what each implies."""

import re
from dataclasses import dataclass
from typing import Final

from canonry.values.errors import InvalidInput

_FORM: Final = re.compile(r"[A-Z][A-Z0-9_]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationType:
    """What a relation type implies.

    `symmetric`: it holds both ways. `one_target`: an entity has at most one at a time (a place).
    `one_origin`: a target has at most one at a time (an owner). `excludes`: types that cannot hold
    on the same pair at the same time.
    """

    name: str
    symmetric: bool = False
    one_target: bool = False
    one_origin: bool = False
    excludes: frozenset[str] = frozenset()


RELATION_TYPES: Final = {
    each.name: each
    for each in (
        RelationType(name="LOCATED_IN", one_target=True),
        RelationType(name="OWNS", one_origin=True),
        RelationType(name="MEMBER_OF"),
        RelationType(name="ALLY_OF", symmetric=True, excludes=frozenset({"ENEMY_OF"})),
        RelationType(name="ENEMY_OF", symmetric=True, excludes=frozenset({"ALLY_OF"})),
        RelationType(name="KNOWS"),
        RelationType(name="PARTICIPATED_IN"),
        RelationType(name="DERIVES_FROM", one_target=True),
        RelationType(name="LIVES_IN", one_target=True),
        RelationType(name="BORN_IN", one_target=True),
        RelationType(name="RULES", one_origin=True),
        RelationType(name="LEADS", one_origin=True),
        RelationType(name="CAPITAL_OF", one_origin=True),
        RelationType(name="WIELDS", one_origin=True),
        RelationType(name="CARRIES", one_origin=True),
        RelationType(name="MARRIED_TO", symmetric=True),
        RelationType(name="SIBLING_OF", symmetric=True),
        RelationType(name="FRIEND_OF", symmetric=True),
    )
}
ALIASES: Final = {
    "ALLIED_WITH": "ALLY_OF",
    "HOSTILE_TO": "ENEMY_OF",
    "PARTICIPATES_IN": "PARTICIPATED_IN",
    "IS_IN": "LOCATED_IN",
}


def relation_type(name: str, *, path: str = "/rel_type") -> RelationType:
    """The type of that name in any case; a name that is not listed is a plain directed type.

    Raises:
        InvalidInput: `relation.type-malformed`.
    """
    upper = name.strip().upper().replace("-", "_").replace(" ", "_")
    if not _FORM.fullmatch(upper):
        message = "a relation type is a word of letters, digits and underscores, like LOCATED_IN"
        raise InvalidInput("relation.type-malformed", message, path=path)
    upper = ALIASES.get(upper, upper)
    return RELATION_TYPES.get(upper) or RelationType(name=upper)
