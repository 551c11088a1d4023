"""Relations as of a moment: what has ended since held until its time, or until what followed."""

from dataclasses import replace

import pytest

from canonry.canon.session.what_holds import relations_at
from canonry.log.items.facts import Relation
from canonry.testing.example_items import a_relation
from canonry.values.moments import DAY, Instant, Moment, StoryPosition


def moment_then(day: int | None, stated: int) -> Moment:
    return Moment(
        at=None if day is None else Instant(day * DAY), position=StoryPosition(told=stated)
    )


def end_relation_on(
    name: str, rel_type: str, to: str, *, stated: int, until: int | None = None
) -> Relation:
    end = None if until is None else Instant(until * DAY)
    tie = a_relation(name, "frodo", to, rel_type=rel_type, position=stated)
    return replace(tie, ended=True, until=end)


@pytest.mark.parametrize(("day", "held"), [(3, True), (5, False)])
def test_a_relation_ended_at_a_time_held_until_then(day: int, held: bool) -> None:
    stay = replace(
        end_relation_on("stay", "LOCATED_IN", "shire", stated=1, until=4), since=Instant(DAY)
    )

    assert (stay in relations_at(moment_then(day, 2), [stay])) is held


@pytest.mark.parametrize(
    ("rel_type", "follower", "to", "held"),
    [
        ("LOCATED_IN", "LOCATED_IN", "mordor", True),
        ("ALLY_OF", "ENEMY_OF", "sam", True),
        ("KNOWS", "KNOWS", "sam", True),
        ("KNOWS", "ENEMY_OF", "sam", False),
        ("KNOWS", "KNOWS", "mordor", False),
    ],
)
def test_a_relation_ended_at_an_unknown_time_held_until_its_successor(
    rel_type: str, follower: str, to: str, held: bool
) -> None:
    one = end_relation_on("one", rel_type, "sam", stated=1)
    later = a_relation("later", "frodo", to, rel_type=follower, position=5)

    assert (one in relations_at(moment_then(None, 3), [one, later])) is held
