"""Audiences and viewers: who may see what, and in which compartments it lies."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.log.entries import AudienceChanged, Entry, RelationEnded
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.items.veils import VEILS_MAX, as_seen, homed, variants, veiled
from canonry.log.schemas.narrative import STATE_TAGS
from canonry.testing.things import a_fact, a_named, a_relation, an_observation, ident, made
from canonry.values.audience import (
    ALL_SEEING,
    ANYBODY,
    Audience,
    Viewer,
    audience_in,
    character,
    compartment,
    covers,
    is_open,
    is_part,
    narrowest,
    player,
    space_of,
)
from canonry.values.errors import InvalidInput
from canonry.values.ids import RelationId, SpaceId
from canonry.values.moments import Instant
from canonry.values.observations import Observation
from tests.domain.test_canon import a_commit, folded

READERS = [character("0190a1b2-0000-7000-8000-00000000000" + each) for each in "12"]
READERS += [player("pip"), "gm"]
AUDIENCES = st.sets(st.sampled_from(READERS[:3])).map(lambda some: tuple(sorted(some)) or ("gm",))
SPACE = SpaceId("0190a1b2-0000-7000-8000-000000000009")


def test_everybody_sees_what_is_for_everybody_and_game_masters_see_all() -> None:
    assert ANYBODY.sees(())
    assert not ANYBODY.sees(("gm",))
    assert ALL_SEEING.sees(("gm",))
    assert ALL_SEEING.sees((READERS[0],))
    assert Viewer(readers=frozenset(READERS[:1])).sees((READERS[0], READERS[1]))
    assert not Viewer(readers=frozenset(READERS[:1])).sees(("gm",))


@given(st.lists(AUDIENCES, max_size=3))
def test_what_rests_on_several_is_for_those_who_may_see_all_of_them(some: list[Audience]) -> None:
    common = narrowest(some)

    assert all(covers(each, common) for each in some)
    assert narrowest(reversed(some)) in {common, ("gm",)}
    assert narrowest(()) == ()


@given(AUDIENCES, AUDIENCES)
def test_a_viewer_is_in_one_compartment_of_each_thing(one: Audience, other: Audience) -> None:
    viewers = [Viewer(readers=frozenset((each,))) for each in READERS[:3]] + [ALL_SEEING, ANYBODY]
    for viewer in viewers:
        names = {
            compartment(SPACE, {one: a, other: b}) for a, b in product((True, False), repeat=2)
        }
        assert sum(is_open(name, viewer) for name in names) == 1
        assert {space_of(name) for name in names} == {SPACE}
        assert all(map(is_part, names))
    assert is_open(SPACE, ANYBODY)
    assert not is_part(SPACE)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("everyone", ()),
        (["everyone"], ()),
        ("gm", ("gm",)),
        (["gm"], ("gm",)),
        (["gm", "player:pip"], ("player:pip",)),
        ([READERS[0].upper().replace("CHARACTER", "character")], (READERS[0],)),
    ],
)
def test_an_audience_is_read_as_it_is_written(said: object, meant: Audience) -> None:
    assert audience_in(said) == meant


@pytest.mark.parametrize("said", [[], "", "nobody", ["everyone", "gm"], [1], 7, None, ["player:"]])
def test_an_audience_that_names_nobody_is_refused(said: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        audience_in(said)

    assert caught.value.code == "audience.malformed"


def seen(thing: object, viewer: Viewer) -> object:
    return as_seen(thing, viewer)


def fold_of(*entries: tuple[Entry, ...]) -> dict[str, object]:
    return dict(folded(*(a_commit(n, *each) for n, each in enumerate(entries, start=1))))


def test_a_secret_tag_is_known_to_its_audience_alone_until_it_is_revealed() -> None:
    mark = an_observation("Frodo", "mark", fields={STATE_TAGS: {"marked": True}}, audience=("gm",))
    told: list[tuple[Entry, ...]] = [a_named("Frodo", tags=("alive",)), made(mark)]
    frodo = fold_of(*told)[ident("Frodo")]
    assert isinstance(frodo, Entity)
    plain, whole = as_seen(frodo, ANYBODY), as_seen(frodo, ALL_SEEING)

    assert plain is not None
    assert whole is not None
    assert (plain.state_tags, whole.state_tags) == (("alive",), ("alive", "marked"))
    assert plain.changed_at == 1
    assert (plain.sightings.count, whole.sightings.count) == (1, 2)

    change = AudienceChanged(thing_id=mark.id, audience=(), reason="seen")
    now = fold_of(*told, (change,))
    revealed = now[ident("Frodo")]
    assert isinstance(revealed, Entity)
    assert (revealed.state_tags, revealed.veils) == (("alive", "marked"), ())
    assert revealed.sightings.count == 2
    observed = now[mark.id]
    assert isinstance(observed, Observation)
    assert observed.audience == ()


def test_one_of_two_secret_tags_is_revealed_alone() -> None:
    marks = [
        an_observation("Frodo", tag, fields={STATE_TAGS: {tag: True}}, audience=("gm",))
        for tag in ("marked", "cursed")
    ]
    change = AudienceChanged(thing_id=marks[0].id, audience=(), reason="seen")
    frodo = fold_of(a_named("Frodo", tags=("alive",)), made(*marks), (change,))[ident("Frodo")]

    assert isinstance(frodo, Entity)
    plain, whole = as_seen(frodo, ANYBODY), as_seen(frodo, ALL_SEEING)
    assert plain is not None
    assert whole is not None
    assert plain.state_tags == ("alive", "marked")
    assert whole.state_tags == ("alive", "cursed", "marked")
    assert whole.sightings.count == 3


def test_a_secret_end_is_revealed_with_what_took_its_place() -> None:
    home = a_relation("home", "Frodo", "Shire", rel_type="LOCATED_IN")
    cave = a_relation("cave", "Frodo", "Cave", rel_type="LOCATED_IN", audience=("gm",))
    ended = RelationEnded(
        relation_id=RelationId(home.id),
        until=Instant(5),
        superseded_by=RelationId(cave.id),
        reason="hides",
        audience=("gm",),
    )
    told: list[tuple[Entry, ...]] = [made(home), (*made(cave), ended)]
    before = fold_of(*told)[home.id]
    assert isinstance(before, Relation)
    plain, whole = as_seen(before, ANYBODY), as_seen(before, ALL_SEEING)
    assert plain is not None
    assert whole is not None
    assert (plain.current, whole.current) == (True, False)

    change = AudienceChanged(thing_id=cave.id, audience=(), reason="seen")
    after = fold_of(*told, (change, replace(ended, audience=())))[home.id]
    assert isinstance(after, Relation)
    assert (after.ended, after.until, after.superseded_by) == (True, Instant(5), cave.id)
    assert after.veils == ()


def test_a_thing_for_few_lies_in_their_compartment_and_says_nothing_elsewhere() -> None:
    fact = a_fact("a ring", audience=("gm",))

    assert [each.space for each in variants(fact)] == [homed(fact).space]
    assert homed(fact).space != fact.space
    assert seen(fact, ANYBODY) is None
    assert seen(fact, ALL_SEEING) == fact


def test_what_more_audiences_know_than_a_thing_has_veils_for_is_for_game_masters() -> None:
    fact = a_fact("a ring")
    for number in range(VEILS_MAX + 2):
        veils = veiled(fact, (player(str(number)),), 7, until=Instant(number))
        fact = replace(fact, veils=veils)

    assert len(fact.veils) == VEILS_MAX + 1
    assert ("gm",) in {veil.audience for veil in fact.veils}
