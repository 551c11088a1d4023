"""Generated worlds: the same for the same seed, part by part as at once, and never held whole."""

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from canonry.world.domain.atlas import complete_atlas
from tests.domain.world.generated import GeneratedWorld, an_atlas

LARGE = GeneratedWorld(seed=3, locations=20_000, players=2_000, items=2_000, lore=500, events=2_000)


def sections_of(world: GeneratedWorld) -> list[Callable[[], Iterator[object]]]:
    return [
        world.happenings,
        world.places,
        world.facts,
        world.held_items,
        world.realms,
        world.movers,
        world.layers,
    ]


@pytest.mark.parametrize("seed", range(6))
def test_the_parts_do_not_depend_on_the_order_of_requests(seed: int) -> None:
    sizes: dict[str, Any] = {"locations": 10 + 7 * seed, "items": 4, "lore": 3, "events": 5}
    atlas = an_atlas(seed, **sizes)
    world = GeneratedWorld(seed=seed, **sizes)
    found = {section.__name__: tuple(section()) for section in sections_of(world)}
    assert found == {
        "happenings": atlas.events,
        "places": atlas.locations,
        "facts": atlas.lore,
        "held_items": atlas.items,
        "realms": atlas.realms,
        "movers": atlas.players,
        "layers": atlas.layers,
    }
    assert tuple(world.places()) == atlas.locations
    assert complete_atlas(atlas) == atlas


def test_a_seed_always_gives_the_same_world() -> None:
    atlas = an_atlas(7, locations=40, events=2)
    assert [(way.direction, way.to, way.travel_ms) for way in atlas.locations[8].exits] == [
        ("north", "place-2", 89000),
        ("west", "place-7", 227000),
        ("east", "place-9", 148000),
        ("south", "place-14", 585000),
    ]
    assert [player.location for player in atlas.players] == ["place-12", "place-38", "place-22"]
    assert atlas.events[1].location == "place-30"


def test_two_seeds_give_two_worlds() -> None:
    assert an_atlas(1).locations != an_atlas(2).locations


def test_a_large_world_is_never_held_in_memory() -> None:
    """A place takes thousands of bytes, and what is kept of it for the next ones some tens."""
    tracemalloc.start()
    try:
        count = sum(1 for section in sections_of(LARGE) for _ in section())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count > 26_000
    assert peak < 100 * LARGE.locations
