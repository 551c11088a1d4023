"""Omitting: what is left of a world without some of its items is sound, and says nothing else."""

from dataclasses import replace

from canonry.world.domain.atlas import Route, complete_atlas, legs_of, omit_parts
from canonry.world.domain.checks import find_problems
from tests.toolsets.world.kit import tied_isle

NOTHING: frozenset[str] = frozenset()


def test_the_remaining_world_is_sound_whatever_is_omitted() -> None:
    atlas = tied_isle()
    parts = (atlas.realms, atlas.locations, atlas.characters, atlas.players, atlas.items)
    keys = {part.key for group in parts for part in group} - {atlas.starter}
    for gone in (*(frozenset({key}) for key in keys), frozenset(keys)):
        left = complete_atlas(omit_parts(atlas, gone))
        assert [each for each in find_problems(left) if each.fatal] == [], gone
        named = repr([left.realms, left.locations, left.players, left.items, left.routes])
        assert not any(f"'{key}'" in named for key in gone)
        assert len(left.events) == len(atlas.events)


def test_a_world_without_omissions_is_unchanged() -> None:
    assert omit_parts(tied_isle(), NOTHING) == tied_isle()
    assert omit_parts(tied_isle(), frozenset({"atlantis"})) == tied_isle()


def test_people_at_an_omitted_place_are_at_the_default_location() -> None:
    left = omit_parts(tied_isle(), frozenset({"yard", "cook"}))
    assert {player.key: player.location for player in left.players} == {"ann": "inn", "bob": "inn"}
    assert {item.key: item.holder for item in left.items} == {"key": "inn", "cup": "ann"}


def test_a_route_is_cut_at_an_omitted_stop() -> None:
    atlas = tied_isle()
    road = Route(name="Road", stops=("inn", "yard", "tower", "road", "cellar"))
    left = omit_parts(replace(atlas, routes=(road,)), frozenset({"tower"}))
    legs = {(leg.start, leg.end) for leg in legs_of(left.routes)}
    assert legs == {("inn", "yard"), ("yard", "inn"), ("road", "cellar"), ("cellar", "road")}
