"""Revising gives what `dataclasses.replace` gives."""

from dataclasses import dataclass, replace

import pytest

from canonry.log.items.facts import FactDraft
from canonry.testing.example_items import a_fact, an_entity
from canonry.values.fields import field_values, narrow_to, with_changes
from canonry.values.moments import Instant


@dataclass(frozen=True, slots=True)
class _Lone:
    only: int


@dataclass(frozen=True, slots=True)
class _Careful:
    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError


def test_only_named_fields_change() -> None:
    fact = a_fact("fact", "ann")

    assert with_changes(fact, until=Instant(5), position=7) == replace(
        fact, until=Instant(5), position=7
    )
    assert with_changes(an_entity()) == an_entity()


def test_an_item_is_its_draft_with_stamps() -> None:
    fact = a_fact("fact", "ann", position=7)
    draft = narrow_to(FactDraft, fact)

    assert type(draft) is FactDraft
    assert not hasattr(draft, "position")
    assert field_values(fact).items() >= field_values(draft).items()
    assert narrow_to(FactDraft, fact, statement="other").statement == "other"


def test_an_unknown_field_name_is_refused() -> None:
    with pytest.raises(TypeError):
        with_changes(a_fact(), colour="red")


def test_a_value_that_validates_its_fields_cannot_be_revised() -> None:
    with pytest.raises(TypeError, match="__post_init__"):
        with_changes(_Careful(low=1, high=2), low=3)


def test_a_value_of_one_field_cannot_be_revised() -> None:
    with pytest.raises(TypeError, match="too few fields"):
        with_changes(_Lone(1), only=2)
