"""Spatial search against brute force: every path that there is, the shortest and first one kept."""

from collections.abc import Mapping

import pytest

from canonry.readmodels.edges import DIRECTION_RANK, Direction
from canonry.world.domain.atlas import Atlas
from tests.domain.world.generated import an_atlas
from tests.toolsets.world.kit import a_world

pytestmark = pytest.mark.anyio


def walk_oracle(atlas: Atlas, start: str, depth: int) -> Mapping[str, tuple[Direction, ...]]:
    """The first of the shortest paths to each place, found by walking all paths of each length."""
    ways = {
        place.key: [(way.direction, way.to) for way in place.exits if not way.blocked]
        for place in atlas.locations
    }
    best: dict[str, tuple[Direction, ...]] = {start: ()}
    paths: list[tuple[tuple[Direction, ...], str]] = [((), start)]
    for _ in range(depth):
        paths = [((*path, direction), to) for path, here in paths for direction, to in ways[here]]
        paths.sort(key=lambda each: [DIRECTION_RANK[step] for step in each[0]])
        kept: dict[str, tuple[Direction, ...]] = {}
        for path, here in paths:
            kept.setdefault(here, path)
        for here, path in kept.items():
            best.setdefault(here, path)
        paths = [(path, here) for here, path in kept.items()]
    del best[start]
    return best


@pytest.mark.parametrize("seed", range(8))
async def test_neighbours_equal_those_of_brute_force(seed: int) -> None:
    atlas = an_atlas(seed, locations=40, players=0, items=0)
    isle = await a_world(atlas)
    for place in atlas.locations[::7]:
        for depth in (1, 2, 5):
            asked = {"locationId": place.key, "depth": depth}
            reply = await isle.call("get-spatial-context", **asked)
            found = {each["id"]: each["path"] for each in reply["neighbors"]}
            expected = walk_oracle(atlas, place.key, depth)
            assert found == {isle.id(k): [str(d) for d in path] for k, path in expected.items()}
            for each in reply["neighbors"]:
                assert each["direction"] == each["path"][0]
                assert each["depth"] == len(each["path"]) <= depth
            depths = [each["depth"] for each in reply["neighbors"]]
            assert depths == sorted(depths)


async def test_unreachable_places_are_not_near() -> None:
    isle = await a_world()
    await isle.call("create-location", name="Moon", description="Far.", key="moon")
    reply = await isle.call("get-spatial-context", depth=5)
    assert isle.id("moon") not in {each["id"] for each in reply["neighbors"]}
    from_there = await isle.call("get-spatial-context", locationId="moon")
    assert from_there["neighbors"] == []
