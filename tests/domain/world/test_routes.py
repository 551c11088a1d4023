"""Routes: written from stop to stop and kept leg by leg, without a leg lost or invented."""

from hypothesis import given
from hypothesis import strategies as st

from canonry.world.domain.atlas import Leg, Route, legs_of, routes_of

STOPS = "abcde"


def a_route(*stops: str, one_way: bool = False, name: str = "Salt Road") -> Route:
    return Route(name=name, stops=stops, one_way=one_way)


def test_a_route_leads_both_ways_unless_it_is_one_way() -> None:
    assert [(leg.start, leg.end) for leg in legs_of((a_route("a", "b", "c"),))] == [
        ("a", "b"),
        ("b", "a"),
        ("b", "c"),
        ("c", "b"),
    ]
    one_way = a_route("a", "b", "c", one_way=True)
    assert [(leg.start, leg.end) for leg in legs_of((one_way,))] == [("a", "b"), ("b", "c")]


def test_a_road_is_read_back_as_one_road() -> None:
    for road in (
        a_route("a", "c", "b", "d"),
        a_route("d", "b", "a", one_way=True),
        a_route("a", "b", "c", "a"),
    ):
        assert list(routes_of(legs_of((road,)))) == [road]


def test_branches_keep_their_name() -> None:
    forked = (a_route("a", "b", "c"), a_route("b", "d"), a_route("a", "b", name="Iron Road"))
    routes = list(routes_of(legs_of(forked)))
    assert [route.name for route in routes] == ["Iron Road", "Salt Road", "Salt Road"]
    assert set(legs_of(routes)) == set(legs_of(forked))


LEGS = st.sets(
    st.builds(
        Leg, route=st.sampled_from("XY"), start=st.sampled_from(STOPS), end=st.sampled_from(STOPS)
    ).filter(lambda leg: leg.start != leg.end),
    max_size=20,
)


@given(LEGS)
def test_no_leg_is_lost_or_invented(legs: set[Leg]) -> None:
    routes = list(routes_of(legs))
    assert set(legs_of(routes)) == legs
    assert list(routes_of(sorted(legs, key=repr))) == routes
    steps = sum((len(r.stops) - 1) * (1 if r.one_way else 2) for r in routes)
    assert steps == len(legs)
