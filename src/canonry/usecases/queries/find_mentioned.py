"""Find whom a text mentions: the entities whose whole names stand in it, each surely or not at all.

Of names within names the longest counts, and one that several bear is nobody's.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Final

from canonry.domain.ids import EntityId, SpaceId
from canonry.domain.normal_forms import folded
from canonry.domain.things.entities import Entity
from canonry.ports.views.state import IdentifierQuery
from canonry.usecases.kernel.canon import Canon

_WORDS_MAX: Final = 60
"""Further words of a text are not looked at."""
_NAME_WORDS: Final = 5
_WORD: Final = re.compile(r"[^\W_]+(?:[-.'\u2019][^\W_]+)*")
_GENITIVE: Final = re.compile(r"['\u2019]s$", re.IGNORECASE)


async def find_mentioned(
    canon: Canon, space: SpaceId, text: str, also: Collection[str] = ()
) -> Mapping[str, EntityId | None]:
    """The names that stand in `text`, in its order, folded, each with the entity that bears it.

    `also` are folded names that count as well, and whose bearers the caller knows: None.
    """
    spans = _spans(text)
    query = IdentifierQuery(
        spaces=frozenset((space,)), keys=tuple(dict.fromkeys(spans.values())), limit=2
    )
    pages = await canon.state.entities_identified(query) if spans else {}
    borne = {key: _bearer(key, page.items) for key, page in pages.items() if page.items}
    found: dict[str, EntityId | None] = {}
    reached = 0
    for (first, last), name in sorted(spans.items(), key=lambda span: (span[0][0], -span[0][1])):
        if first < reached or (name not in borne and name not in also):
            continue
        reached = last
        bearer = borne.get(name)
        if name in also or bearer is not None:
            found[name] = None if name in also else bearer
    return found


def _bearer(name: str, entities: Collection[Entity]) -> EntityId | None:
    called = [each.id for each in entities if name in {folded(one) for one in each.known_as}]
    return called[0] if len(called) == 1 else None


def _spans(text: str) -> dict[tuple[int, int], str]:
    """What may be a name, folded, by its first word and the one after its last."""
    words = [match.span() for match in islice(_WORD.finditer(text), _WORDS_MAX)]
    return {
        (first, last): folded(each)
        for first in range(len(words))
        for last in range(first + 1, min(first + _NAME_WORDS, len(words)) + 1)
        for each in _read(text[words[first][0] : words[last - 1][1]], last - first)
    }


def _read(written: str, words: int) -> Iterator[str]:
    """The written words without a genitive's ending; one small word by itself names nobody."""
    name = _GENITIVE.sub("", written)
    if words > 1 or not name[:1].islower():
        yield name
