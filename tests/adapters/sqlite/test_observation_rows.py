"""An entity at an instant is the same if rows that cannot count are left out."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from canonry.log.schemas.narrative import policy_of
from canonry.stores.sqlite.identifiers import counting_among
from canonry.stores.sqlite.rows import pack_id, unpack_id
from canonry.testing.example_items import a_record
from canonry.values.ids import EntityId, ObservationId, SpaceId
from canonry.values.merge_policies import accumulator_of, join_all
from canonry.values.moments import Instant
from canonry.values.observations import Fragment, Observation
from canonry.values.provenance import Authority

VALUES = st.one_of(st.integers(0, 3), st.lists(st.integers(0, 3), max_size=2), st.just("text"))
FIELDS = st.dictionaries(
    st.sampled_from(("name", "description", "properties.a", "properties.b")), VALUES, max_size=3
)


@st.composite
def draw_observation(draw: st.DrawFn, number: int) -> Observation:
    fields: dict[str, Any] = draw(FIELDS)
    for name in ("name", "description"):
        if name in fields:
            fields[name] = str(fields[name])
    if draw(st.booleans()):
        fields["state_tags"] = {"alive": draw(st.booleans())}
    fragments = {"c": Fragment(value=number, reason="unknown_field")} if draw(st.booleans()) else {}
    return Observation(
        id=ObservationId(f"00000000-0000-4000-8000-{number:012}"),
        space=SpaceId("00000000-0000-4000-8000-00000000000a"),
        entity_id=EntityId("00000000-0000-4000-8000-00000000000b"),
        fields=fields,
        authority=Authority.SOURCE,
        confidence=1.0,
        evidence=(),
        observed_at=Instant(draw(st.integers(0, 3))),
        recorded_at=Instant(draw(st.integers(0, 3))),
        correction=draw(st.booleans()),
        priority=draw(st.sampled_from((0, 100))),
        specificity=draw(st.sampled_from((0.5, 1.0))),
        schema_version=draw(st.sampled_from((None, "1.0"))),
        fragments=fragments,
        position=draw(st.integers(1, 4)),
        changed_at=number,
    )


@given(st.integers(0, 12).flatmap(lambda n: st.tuples(*(draw_observation(i) for i in range(n)))))
def test_dominated_observations_leave_no_row(said: tuple[Observation, ...]) -> None:
    rows = [(-o.seen_at, -o.position, pack_id(o.id), o.likeness_key) for o in said]
    chosen = {unpack_id(each) for each in counting_among(rows)}

    def folded(observations: Any) -> Any:
        return join_all((accumulator_of(each, policy_of) for each in observations), policy_of)

    assert folded(o for o in said if o.id in chosen) == folded(said)


def test_at_most_two_equal_observations_are_folded() -> None:
    rows = [
        (-seen, seen, pack_id(f"00000000-0000-4000-8000-{seen:012}"), "x") for seen in range(50)
    ]
    assert len(counting_among(rows)) == 2


@given(st.lists(st.sampled_from(("Bill", "William", "Will")), max_size=8), st.randoms())
def test_names_do_not_dominate_each_other(names: list[str], chance: Any) -> None:
    said = [a_record("bill", f"{n}", fields={"name": name}) for n, name in enumerate(names)]
    rows = [
        (-chance.randrange(4), -chance.randrange(4), pack_id(each.id), each.likeness_key)
        for each in said
    ]
    chosen = {unpack_id(each) for each in counting_among(rows)}
    assert {each.fields["name"] for each in said if each.id in chosen} == set(names)
