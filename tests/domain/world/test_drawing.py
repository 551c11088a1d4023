"""Drawing: each place has a spot of its own, ways are seen, and texts do no harm in SVG."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from canonry.readmodels.edges import STEPS, Direction
from canonry.world.domain.atlas import Atlas, Exit, Location, Route
from canonry.world.domain.drawing import draw_svg, draw_text, spots_of
from tests.domain.world.generated import an_atlas

SVG = "{http://www.w3.org/2000/svg}"


def a_street() -> Atlas:
    names = ("west end", "middle", "east end", "moon")
    ways: dict[str, tuple[Exit, ...]] = {
        "west end": (Exit(direction=Direction.EAST, to="middle"),),
        "middle": (
            Exit(direction=Direction.WEST, to="west end"),
            Exit(direction=Direction.EAST, to="east end", hidden=True),
        ),
        "east end": (Exit(direction=Direction.WEST, to="middle", hidden=True),),
    }
    places = tuple(
        Location(key=name, name=name, description=f"<{name}>", exits=ways.get(name, ()))
        for name in names
    )
    return Atlas(name="A & B", starter="middle", locations=places)


@pytest.mark.parametrize("seed", range(6))
def test_every_location_has_its_own_spot(seed: int) -> None:
    atlas = an_atlas(seed, locations=80)
    spots = spots_of(atlas)
    assert spots.keys() == {place.key for place in atlas.locations}
    assert len(set(spots.values())) == len(spots)


def test_a_neighbour_lies_in_the_direction_of_its_exit() -> None:
    spots = spots_of(a_street())
    (x, y), (right, down) = spots["middle"], STEPS[Direction.EAST]
    assert spots["east end"] == (x + right, y + down)
    assert spots["west end"] == (x - 1, y)
    assert spots["moon"][1] > y


def test_a_text_drawing_shows_ways_marks_and_unreachable_places() -> None:
    lines = draw_text(a_street()).splitlines()
    assert lines[0] == "A & B: 4 locations, 1 of them unreachable"
    assert "[ 2]--[ 1]--[ 3]" in lines
    assert "   1  middle: west 2, east 3 (hidden)" in lines
    assert "   4  moon (unreachable): no exit" in lines


def test_an_svg_drawing_is_well_formed_and_shows_each_part_once() -> None:
    root = ET.fromstring(draw_svg(a_street()))
    assert len(root.findall(f"{SVG}line")) == 2
    assert len(root.findall(f"{SVG}g")) == 4
    dashed = [line for line in root.findall(f"{SVG}line") if line.get("stroke-dasharray")]
    assert len(dashed) == 1
    titles = [each.text for each in root.iter(f"{SVG}title")]
    assert "<moon>" in titles


def test_an_empty_world_can_be_drawn() -> None:
    nothing = replace(a_street(), locations=())
    assert "0 locations" in draw_text(nothing)
    ET.fromstring(draw_svg(nothing))


def test_routes_are_drawn_from_stop_to_stop() -> None:
    road = Route(name="<Road>", stops=("west end", "middle", "east end"))
    ferry = Route(name="Ferry", stops=("moon", "middle"), one_way=True)
    atlas = replace(a_street(), routes=(road, ferry))
    assert draw_text(atlas).splitlines()[-3:] == ["", "<Road>: 2 - 1 - 3", "Ferry: 4 > 1"]
    root = ET.fromstring(draw_svg(atlas))
    names = [line.findtext(f"{SVG}title") for line in root.findall(f"{SVG}polyline")]
    assert names == ["<Road>", "Ferry"]
    assert draw_text(a_street()).splitlines()[-1].startswith("   4  moon")
