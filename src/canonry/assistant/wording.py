"""The words of replies by the kind of space: games have words that other spaces do not use."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.gateway.tool import Noted
from canonry.language.texts.stems import terms_of
from canonry.values.data_files import read_toml
from canonry.values.ids import Space, SpaceKind

_TABLE: Final = read_toml(__package__, "wording.toml")
_GAMES: Final = frozenset(_TABLE["games"].split())
NOTES, KINDS, HOLDS, SEARCHED = (_TABLE[e] for e in ("notes", "kinds", "holds", "searched"))
"""Sentences of replies; by kind, what spaces are and hold; and how searches without a part ran."""
ASKING, PLACING = (frozenset(_TABLE[name].split()) for name in ("asking", "placing"))
"""Words of a question that do not tell what it is about; those of a statement about a place."""
HINTS: Final[Mapping[str, str]] = _TABLE["hints"]
COUNTED, OUTCOMES = (_TABLE[e] for e in ("counted", "outcomes"))
"""Words for the outcome of rules and of claims, after a call and after a dry run."""
VALUES, DONE, ID_LISTS = (_TABLE[e] for e in ("values", "done", "listed"))
"""Values in games with those of other spaces; words for verdicts; what became of listed items."""
_SENTENCES: Final[Mapping[str, str]] = _TABLE["sentences"]
_OF_GAMES: Final = re.compile("|".join(map(re.escape, sorted(_SENTENCES, key=len, reverse=True))))
CHANGING: Final = re.compile(rf"\b(?:{_TABLE['changing']})\b", re.IGNORECASE)
RENAMING: Final = re.compile(rf"\b(?:{_TABLE['renaming']})((?:[A-ZÀ-Þ][\w'-]*(?: (?=[A-ZÀ-Þ]))?)+)")
_MEMBERS: Final = frozenset({"audience", "authority", "for", "more_known_to", "rule"})


async def is_plain(canon: Canon, caller: Caller) -> bool:
    """Return whether the space that the call used is known and no game."""
    used = caller.space_used_last
    space = None if used is None else await canon.caller_scope(caller).find_item(used)
    if not isinstance(space, Space):
        return used is not None and used == caller.account_id
    words = terms_of(f"{space.name} {space.description}")
    return space.kind is not SpaceKind.WORLD and _GAMES.isdisjoint(words)


def in_plain_words(value: Any, member: str = "") -> Any:
    """Return a reply with the words of spaces that are no games."""
    match value:
        case str() if member in _MEMBERS:
            value = VALUES.get(value, value.replace("keeper:", "owner:"))
        case "game master" if member in {"by", "said_by"}:
            value = "narrator"
        case str() if member != "says":
            value = _OF_GAMES.sub(lambda found: _SENTENCES[found[0]], value)
        case list() | tuple():
            value = [in_plain_words(each, member) for each in value]
        case Mapping():
            value = {name: in_plain_words(each, name) for name, each in value.items()}
        case Noted():
            value = replace(value, reply=in_plain_words(value.reply))
        case _:
            pass
    return value
