"""Odd names that may be stored, times at the ends of time, and a world full of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from hypothesis import strategies as st

from canonry.values.ids import SpaceId
from canonry.world.domain.atlas import Atlas, Item, Lore, LoreVersion, Mover, item_id_of
from tests.toolsets.world.kit import tied_isle

NAMES: Final = (
    *("?!", "...", "\u00ab\u00bb", "-", "\u2014", "\u2019", "'", "&", "(", "#1", "1", "12", "3.5"),
    *("the", "The", "a", "A", "An", "of", "of the", "The The", "it", "you", "I", "and", "who"),
    *("x", "Q", "\u00e9", "e\u0301", "\u00df", "\u0130", "o'", "Mr.", "The A", "a-b", "the -"),
    *("\u4f60\u597d", "\u6771\u4eac\u30bf\u30ef\u30fc", "\u039c\u03ac\u03b3\u03bf\u03c2"),
    *("\u041c\u043e\u0441\u043a\u0432\u0430", "\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d"),
    *("\u0e01\u0e32", "\U0001f70f", "\u0661\u0662", "\u00b2", "\u0300", "9999-12-31", "0001-01-01"),
)
"""Signs, stop words, one letter, numbers, other scripts, and days that nobody can add to."""

TIMES: Final = (
    *("9999-12-31T23:59:59.999999Z", "0001-01-01T00:00:00Z", "9999-12-31", "0001-01-01"),
    *("-000043-03-15T00:00:00Z", "-290000-01-01T00:00:00+23:59", "+070000-12-31T23:59:59-23:59"),
    *("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "0000-01-01", "31.12.9999"),
    *("last winter", "999 years ago", "before 0001-01-01", "two weeks after 9999-12-31"),
)

SENTENCES: Final = (
    "{0}",
    "{0} takes the {1} and goes to {0}.",
    "You see {0} here, and {1} is dead!",
    'The {0} says: "{1}". Then {1} gives {0} to you.',
    "Where was {0} {2}?",
    "north, then {0}; {1}",
)

TEXTS: Final[st.SearchStrategy[str]] = st.builds(
    str.format,
    st.sampled_from(SENTENCES),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.sampled_from(TIMES),
)


def an_odd_isle() -> Atlas:
    """The isle with odd names for all that is there, and more of it in the same room."""
    isle = tied_isle()
    rooms = zip(isle.locations, ("Inn", *NAMES[10:]), strict=False)
    crowd = [Mover(key=f"m{n}", name=name, location="inn") for n, name in enumerate(NAMES)]
    heap = [
        Item(key=f"i{n}", name=name, holder="ann", item_type="thing")
        for n, name in enumerate(NAMES)
    ]
    found = [
        Lore(
            key=f"l{n}",
            lore_type=isle.lore[0].lore_type,
            versions=(LoreVersion(fields={"name": name, "description": name}),),
        )
        for n, name in enumerate(NAMES)
    ]
    return replace(
        isle,
        locations=tuple(replace(place, name=name) for place, name in rooms),
        characters=(*isle.characters, *crowd),
        items=(*isle.items, *heap),
        lore=(*isle.lore, *found),
        realms=tuple(
            replace(realm, name=name) for realm, name in zip(isle.realms, NAMES, strict=False)
        ),
    )


def known_in(world: SpaceId) -> Mapping[str, Any]:
    """Return values for the arguments of the world's tools, by name."""

    def some(*keys: str) -> st.SearchStrategy[str]:
        return st.sampled_from([item_id_of(world, key) for key in keys])

    places, movers = some("inn", "yard", "cellar"), some("ann", "bob", "cook", "m0", "m20")
    return {
        "locationId": places,
        "fromLocationId": places,
        "toLocationId": places,
        "playerId": some("ann", "bob"),
        "moverId": movers,
        "characterId": movers,
        "realmId": some("isle", "town"),
        "itemId": some("key", "cup", "i3"),
        "factId": some("council", "ferry", "l5"),
    }
