"""Portraits: what an entity's snapshot says as one text, whatever fields it has."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.log.items.entities import Entity
from canonry.readmodels.passages import PORTRAIT_MAX, is_portrayed, names_of, portrait_of
from canonry.testing.example_items import an_entity, an_observation, creation_entries, uuid_of
from canonry.values.observations import Fragment
from tests.domain.test_canon import a_commit, fold_commits

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)


def an_observed(**fields: Any) -> Entity:
    seen = an_observation("frodo", "seen", fields=fields)
    entity = fold_commits(a_commit(1, *creation_entries(an_entity()), *creation_entries(seen)))[
        uuid_of("frodo")
    ]
    assert isinstance(entity, Entity)
    return entity


def test_a_portrait_lists_names_then_prose_then_fields_without_state() -> None:
    entity = an_observed(
        name="Frodo",
        description="A hobbit.",
        state_tags={"ring_bearer": True, "wounded": False},
        **{"properties.aliases": ["Mr. Underhill"], "properties.home_town": "Hobbiton"},
    )

    assert portrait_of(entity).splitlines() == [
        "Frodo (Mr. Underhill): character",
        "A hobbit.",
        "home town: Hobbiton",
    ]
    assert names_of(entity) == ("Frodo", "Mr. Underhill")


def test_fields_of_any_toolset_appear_with_or_without_a_prefix() -> None:
    entity = an_observed(title="A guide", summary="How to begin.", amount=12.5, paid=True)

    assert portrait_of(entity).splitlines() == [
        "A guide: character",
        "How to begin.",
        "amount: 12.5",
        "paid",
    ]


def test_nested_fields_appear_in_one_line() -> None:
    entity = an_observed(fields={"motto": "Hold fast", "rites": [{"day": "Durin"}], "old": False})

    assert portrait_of(entity) == "fields: motto: Hold fast, rites: day: Durin"


def test_unsearchable_fields_are_left_out() -> None:
    entity = an_observed(name="", version=3, _secret="x", owner=uuid_of("sam"), digest="ab" * 32)

    assert portrait_of(entity) == ""
    assert names_of(entity) == ()


def test_unread_values_appear_as_written_unless_something_was_read() -> None:
    fragments = {
        "due": Fragment(value="3/4/2025", reason="unclear_date"),
        "metal": Fragment(value="iron", reason="unknown_field"),
        "name": Fragment(value="Nobody", reason="unknown_field"),
    }
    seen = an_observation("frodo", "seen", fields={"properties.metal": "gold"}, fragments=fragments)
    entity = fold_commits(a_commit(1, *creation_entries(an_entity()), *creation_entries(seen)))[
        uuid_of("frodo")
    ]
    assert isinstance(entity, Entity)

    result = portrait_of(entity)

    assert "due: 3/4/2025" in result
    assert "metal: gold" in result
    assert "iron" not in result
    assert "unclear" not in result
    assert "Nobody" not in names_of(entity)


@given(st.dictionaries(st.text(min_size=1, max_size=12), VALUES, max_size=6))
def test_every_snapshot_has_one_portrait_of_a_bounded_length(fields: dict[str, Any]) -> None:
    found = {name: value for name, value in fields.items() if name != "state_tags"}
    entity = an_observed(name="long " * 9_000, **{k: v for k, v in found.items() if k != "name"})

    assert len(portrait_of(entity)) <= PORTRAIT_MAX
    assert portrait_of(entity) == portrait_of(entity)


@pytest.mark.parametrize("name", ["Frodo", "", " ", "0123456789abcdef0123456789abcdef"])
@pytest.mark.parametrize("other", ["gold", " ", False, True, {"inner": [" ", 3]}, {"_inner": 3}])
def test_an_entity_is_portrayed_exactly_if_its_portrait_has_content(
    name: str, other: object
) -> None:
    entity = an_observed(name=name, metal=other)

    assert is_portrayed(entity) is bool(portrait_of(entity).strip())
