"""Revising gives what `dataclasses.replace` gives."""

from dataclasses import dataclass, replace

import pytest

from canonry.log.items.facts import FactDraft
from canonry.testing.things import a_fact, an_entity
from canonry.values.fields import narrowed, revised, spread
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


def test_what_is_named_changes_and_nothing_else() -> None:
    fact = a_fact("fact", "ann")

    assert revised(fact, until=Instant(5), position=7) == replace(
        fact, until=Instant(5), position=7
    )
    assert revised(an_entity()) == an_entity()


def test_a_thing_is_its_draft_and_its_stamps() -> None:
    fact = a_fact("fact", "ann", position=7)
    draft = narrowed(FactDraft, fact)

    assert type(draft) is FactDraft
    assert not hasattr(draft, "position")
    assert spread(fact).items() >= spread(draft).items()
    assert narrowed(FactDraft, fact, statement="other").statement == "other"


def test_a_name_that_is_no_field_is_refused() -> None:
    with pytest.raises(TypeError):
        revised(a_fact(), colour="red")


def test_a_value_that_looks_at_its_fields_is_not_for_revising() -> None:
    with pytest.raises(TypeError, match="__post_init__"):
        revised(_Careful(low=1, high=2), low=3)


def test_a_value_of_one_field_is_not_for_revising() -> None:
    with pytest.raises(TypeError, match="too few fields"):
        revised(_Lone(1), only=2)
