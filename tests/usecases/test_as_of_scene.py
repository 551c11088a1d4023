"""As of a scene: what holds at its place in the stories and its time, and what came later."""

from canonry.canon.session.what_holds import events_until, facts_at, moment_of, relations_at
from canonry.log.items.scenes import SceneStatus
from canonry.testing.example_items import a_fact, a_relation, a_scene, an_event, uuid_of
from canonry.values.ids import FactId
from canonry.values.moments import SECOND, Instant, StoryPosition


def instant_at(seconds: int) -> Instant:
    return Instant(seconds * SECOND)


SCENE = a_scene(order=20, position=50, story_place=5)


def position_in_scene(order: int) -> StoryPosition:
    return StoryPosition(story=5, order=order, scene=order + 20, turn=3, told=200 + order)


def test_a_fact_with_a_duration_appears_within_its_interval() -> None:
    fact = a_fact(time_ref=instant_at(10), duration=5)
    scenes = [a_scene(time_ref=instant_at(s)) for s in (9, 10, 14, 15)]

    held = [facts_at(moment_of(scene), (fact,), ()) for scene in scenes]

    assert held == [[], [fact], [fact], []]


def test_a_limited_fact_is_not_current_if_no_time_is_known() -> None:
    fact = a_fact(time_ref=instant_at(10), duration=60)

    assert facts_at(moment_of(SCENE), (fact,), ()) == []


def test_an_undated_scene_has_the_latest_recorded_time() -> None:
    fact = a_fact("lasts", time_ref=instant_at(10), duration=60)
    soon, late = (
        an_event("soon", time_ref=instant_at(20)),
        an_event("late", time_ref=instant_at(90)),
    )

    assert facts_at(moment_of(SCENE), (fact,), (soon,)) == [fact]
    assert facts_at(moment_of(SCENE), (fact,), (soon, late)) == []


def test_no_superseded_item_holds_if_no_time_is_known() -> None:
    ended = a_fact("ended", until=Instant(5))
    old = a_fact("old", time_ref=Instant(0), superseded_by=FactId(uuid_of("heir")))

    assert facts_at(moment_of(SCENE), (ended, old), ()) == []
    assert facts_at(moment_of(a_scene(time_ref=Instant(1))), (old,), ()) == []


def test_a_fact_superseded_in_a_later_scene_holds_in_an_earlier_one() -> None:
    successor = a_fact("heir", place=position_in_scene(40), position=90)
    old = a_fact("old", place=position_in_scene(10), position=80, superseded_by=successor.id)

    assert facts_at(moment_of(SCENE), (old, successor), ()) == [old]
    later = a_scene(order=41, position=61, story_place=5)
    assert facts_at(moment_of(later), (old, successor), ()) == [successor]


def test_statements_of_a_later_scene_are_not_in_an_earlier_one() -> None:
    early, late = (
        an_event("early", place=position_in_scene(10)),
        an_event("late", place=position_in_scene(40)),
    )

    assert events_until(moment_of(SCENE), (late, early)) == [early]


def test_a_place_left_in_a_later_scene_is_current_in_an_earlier_one() -> None:
    room = a_relation(
        "1", "ana", "hall", rel_type="LOCATED_IN", place=position_in_scene(10), ended=True
    )
    town = a_relation(
        "2", "ana", "town", rel_type="LOCATED_IN", place=position_in_scene(40), position=9
    )

    assert relations_at(moment_of(SCENE), (town, room)) == [room]


def test_an_item_ended_without_successor_does_not_hold() -> None:
    over = a_relation("1", "ana", "bo", rel_type="KNOWS", place=position_in_scene(10), ended=True)

    assert relations_at(moment_of(SCENE), (over,)) == []


def test_a_closed_scene_ignores_later_direct_writes() -> None:
    closed = a_scene(order=20, position=50, status=SceneStatus.COMPLETED, changed_at=70)
    before, after = a_fact("before", position=60), a_fact("after", position=80)

    assert facts_at(moment_of(closed), (before, after), ()) == [before]
