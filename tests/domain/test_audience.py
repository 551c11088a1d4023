"""Audiences and viewers: who may see what, and in which compartments it lies."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.log.entries import AudienceChanged, Entry, RelationEnded
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.items.secret_parts import (
    SECRET_PARTS_MAX,
    add_secret_part,
    as_seen,
    in_compartment,
    list_variants,
)
from canonry.log.schemas.narrative import STATE_TAGS
from canonry.testing.example_items import (
    a_fact,
    a_named,
    a_relation,
    an_observation,
    creation_entries,
    uuid_of,
)
from canonry.values.audience import (
    ANYBODY,
    FULL_VIEWER,
    Audience,
    Viewer,
    audience_covers,
    audience_in,
    character_reader,
    compartment_id,
    is_compartment,
    may_view,
    narrowest,
    player_reader,
    space_of,
)
from canonry.values.errors import InvalidInput
from canonry.values.ids import RelationId, SpaceId
from canonry.values.moments import Instant
from canonry.values.observations import Observation
from tests.domain.test_canon import a_commit, fold_commits

READERS = [character_reader("0190a1b2-0000-7000-8000-00000000000" + each) for each in "12"]
READERS += [player_reader("pip"), "gm"]
AUDIENCES = st.sets(st.sampled_from(READERS[:3])).map(lambda some: tuple(sorted(some)) or ("gm",))
SPACE = SpaceId("0190a1b2-0000-7000-8000-000000000009")


def test_everybody_sees_public_items_and_game_masters_see_all() -> None:
    assert ANYBODY.may_see(())
    assert not ANYBODY.may_see(("gm",))
    assert FULL_VIEWER.may_see(("gm",))
    assert FULL_VIEWER.may_see((READERS[0],))
    assert Viewer(readers=frozenset(READERS[:1])).may_see((READERS[0], READERS[1]))
    assert not Viewer(readers=frozenset(READERS[:1])).may_see(("gm",))


@given(st.lists(AUDIENCES, max_size=3))
def test_an_item_is_for_readers_who_see_all_of_its_evidence(some: list[Audience]) -> None:
    common = narrowest(some)

    assert all(audience_covers(each, common) for each in some)
    assert narrowest(reversed(some)) in {common, ("gm",)}
    assert narrowest(()) == ()


@given(AUDIENCES, AUDIENCES)
def test_a_viewer_is_in_one_compartment_of_each_item(one: Audience, other: Audience) -> None:
    viewers = [Viewer(readers=frozenset((each,))) for each in READERS[:3]] + [FULL_VIEWER, ANYBODY]
    for viewer in viewers:
        names = {
            compartment_id(SPACE, {one: a, other: b}) for a, b in product((True, False), repeat=2)
        }
        assert sum(may_view(name, viewer) for name in names) == 1
        assert {space_of(name) for name in names} == {SPACE}
        assert all(map(is_compartment, names))
    assert may_view(SPACE, ANYBODY)
    assert not is_compartment(SPACE)


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
def test_an_audience_is_read_as_written(said: object, meant: Audience) -> None:
    assert audience_in(said) == meant


@pytest.mark.parametrize("said", [[], "", "nobody", ["everyone", "gm"], [1], 7, None, ["player:"]])
def test_an_audience_without_readers_is_refused(said: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        audience_in(said)

    assert caught.value.code == "audience.malformed"


def seen_by(item: object, viewer: Viewer) -> object:
    return as_seen(item, viewer)


def fold_of(*entries: tuple[Entry, ...]) -> dict[str, object]:
    return dict(fold_commits(*(a_commit(n, *each) for n, each in enumerate(entries, start=1))))


def test_a_secret_tag_is_known_only_to_its_audience_until_revealed() -> None:
    mark = an_observation("Frodo", "mark", fields={STATE_TAGS: {"marked": True}}, audience=("gm",))
    found: list[tuple[Entry, ...]] = [a_named("Frodo", tags=("alive",)), creation_entries(mark)]
    frodo = fold_of(*found)[uuid_of("Frodo")]
    assert isinstance(frodo, Entity)
    plain, whole = as_seen(frodo, ANYBODY), as_seen(frodo, FULL_VIEWER)

    assert plain is not None
    assert whole is not None
    assert (plain.state_tags, whole.state_tags) == (("alive",), ("alive", "marked"))
    assert plain.changed_at == 1
    assert (plain.sightings.count, whole.sightings.count) == (1, 2)

    change = AudienceChanged(thing_id=mark.id, audience=(), reason="seen")
    now = fold_of(*found, (change,))
    revealed = now[uuid_of("Frodo")]
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
    frodo = fold_of(a_named("Frodo", tags=("alive",)), creation_entries(*marks), (change,))[
        uuid_of("Frodo")
    ]

    assert isinstance(frodo, Entity)
    plain, whole = as_seen(frodo, ANYBODY), as_seen(frodo, FULL_VIEWER)
    assert plain is not None
    assert whole is not None
    assert plain.state_tags == ("alive", "marked")
    assert whole.state_tags == ("alive", "cursed", "marked")
    assert whole.sightings.count == 3


def test_a_secret_end_is_revealed_with_its_successor() -> None:
    home = a_relation("home", "Frodo", "Shire", rel_type="LOCATED_IN")
    cave = a_relation("cave", "Frodo", "Cave", rel_type="LOCATED_IN", audience=("gm",))
    ended = RelationEnded(
        relation_id=RelationId(home.id),
        until=Instant(5),
        superseded_by=RelationId(cave.id),
        reason="hides",
        audience=("gm",),
    )
    found: list[tuple[Entry, ...]] = [creation_entries(home), (*creation_entries(cave), ended)]
    before = fold_of(*found)[home.id]
    assert isinstance(before, Relation)
    plain, whole = as_seen(before, ANYBODY), as_seen(before, FULL_VIEWER)
    assert plain is not None
    assert whole is not None
    assert (plain.current, whole.current) == (True, False)

    change = AudienceChanged(thing_id=cave.id, audience=(), reason="seen")
    after = fold_of(*found, (change, replace(ended, audience=())))[home.id]
    assert isinstance(after, Relation)
    assert (after.ended, after.until, after.superseded_by) == (True, Instant(5), cave.id)
    assert after.veils == ()


def test_a_restricted_item_lies_in_its_compartment_and_leaks_nothing() -> None:
    fact = a_fact("a ring", audience=("gm",))

    assert [each.space for each in list_variants(fact)] == [in_compartment(fact).space]
    assert in_compartment(fact).space != fact.space
    assert seen_by(fact, ANYBODY) is None
    assert seen_by(fact, FULL_VIEWER) == fact


def test_too_many_audiences_of_an_item_fall_back_to_game_masters() -> None:
    fact = a_fact("a ring")
    for number in range(SECRET_PARTS_MAX + 2):
        parts = add_secret_part(fact, (player_reader(str(number)),), 7, until=Instant(number))
        fact = replace(fact, veils=parts)

    assert len(fact.veils) == SECRET_PARTS_MAX + 1
    assert ("gm",) in {part.audience for part in fact.veils}
