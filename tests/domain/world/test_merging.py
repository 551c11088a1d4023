"""Two hands that grew one world are joined; where both say otherwise somebody decides."""

from dataclasses import replace
from typing import Any

import pytest

from bench.table.scene import scene
from canonry.readmodels.edges import Direction
from canonry.world.domain.atlas import Atlas, Exit, Item, find_differences, merge_atlases

BASE = scene()
INN = Item(key="mug", name="Mug", holder="tavern", item_type="thing")


def change_location(atlas: Atlas, key: str, **changed: Any) -> Atlas:
    found = tuple(replace(p, **changed) if p.key == key else p for p in atlas.locations)
    return replace(atlas, locations=found)


OURS = change_location(
    replace(BASE, tick=60_000_000), "harbour", description="Burnt nets.", tags=("burnt",)
)
THEIRS = change_location(
    replace(BASE, items=(*BASE.items[1:], INN)),
    "harbour",
    tags=("wet",),
)


def test_a_difference_names_part_and_field() -> None:
    assert find_differences(BASE, BASE) == []
    found = {each.path: (each.before, each.after) for each in find_differences(BASE, OURS)}
    assert found["/locations/harbour/description"] == (
        "Boats, nets and a wooden quay.",
        "Burnt nets.",
    )
    assert found["/tick"] == (50_000_000, 60_000_000)
    assert [each.path for each in find_differences(BASE, THEIRS) if each.after is None] == [
        f"/items/{BASE.items[0].key}"
    ]


@pytest.mark.parametrize(("one", "other"), [(OURS, THEIRS), (THEIRS, OURS)])
def test_changes_of_different_parts_are_joined(one: Atlas, other: Atlas) -> None:
    both = merge_atlases(BASE, one, other)

    assert both.conflicts == ()
    [harbour] = [each for each in both.atlas.locations if each.key == "harbour"]
    assert (harbour.description, set(harbour.tags)) == ("Burnt nets.", {"burnt", "wet"})
    assert both.atlas.tick == 60_000_000
    assert INN in both.atlas.items
    assert BASE.items[0] not in both.atlas.items


def test_an_unchanged_side_changes_nothing() -> None:
    assert merge_atlases(BASE, OURS, BASE).atlas == OURS
    assert merge_atlases(BASE, BASE, THEIRS).atlas == THEIRS
    assert merge_atlases(BASE, OURS, OURS).atlas == OURS


def test_a_conflicting_change_is_reported_and_ours_wins() -> None:
    other = change_location(BASE, "harbour", description="Flooded.")
    both = merge_atlases(BASE, OURS, other)

    [conflict] = both.conflicts
    assert conflict.path == "/locations/harbour/description"
    assert (conflict.before, conflict.after) == ("Burnt nets.", "Flooded.")
    assert both.atlas == OURS


def test_a_part_that_one_removed_and_the_other_changed_is_a_conflict() -> None:
    gone = replace(BASE, locations=tuple(p for p in BASE.locations if p.key != "harbour"))
    [conflict] = merge_atlases(BASE, gone, OURS).conflicts
    assert (conflict.path, conflict.before) == ("/locations/harbour", None)


def test_exits_are_known_by_their_direction() -> None:
    down = Exit(direction=Direction.DOWN, to="lane", one_way=True)
    harbour = BASE.locations[0]
    ours = change_location(BASE, "harbour", exits=(*harbour.exits, down))
    theirs = change_location(
        BASE, "harbour", exits=(replace(harbour.exits[0], hidden=True), *harbour.exits[1:])
    )
    [found] = [
        each for each in merge_atlases(BASE, ours, theirs).atlas.locations if each.key == "harbour"
    ]

    assert found.exits[0].hidden
    assert found.exits[-1] == down
    assert merge_atlases(BASE, ours, theirs).conflicts == ()
