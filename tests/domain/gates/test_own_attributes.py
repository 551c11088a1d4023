"""Attributes of an operator: in force for words, relations and states alike."""

from collections.abc import Iterator
from typing import Any

import pytest

from canonry.log.items.entities import Entity
from canonry.log.schemas.narrative import EntityType, relation_type, use_attributes
from canonry.values.attributes.table import find_attribute, implied_by
from canonry.values.policy import Policy
from canonry.values.state_tags import excluded_by
from canonry.values.statements import Statement
from tests.domain.gates.test_statements_of_any_form import (
    fact,
    judge_claim,
    rel,
    state,
    still_holds,
)
from tests.usecases.stage import ACCEPTED, Stage, a_stage

pytestmark = pytest.mark.anyio

OWN = {
    "blessing": {
        "kind": "word",
        "at_most": 1,
        "exclusive": [["blessed", "cursed"]],
        "words": {"blessed": "hallowed geweiht", "cursed": "hexed verflucht"},
    },
    "familiar": {"kind": "entity", "at_most": 1, "inverse": ["FAMILIAR_OF"]},
    "vassal": {"kind": "entity", "relations": ["VASSAL_LORD"], "excludes": ["enemy"]},
}


@pytest.fixture(autouse=True)
def _built_in() -> Iterator[None]:
    yield
    use_attributes({})


async def a_coven(attributes: dict[str, Any] | None = None) -> Stage:
    """Ana, Bo, two cats and a well."""
    stage = await a_stage(Policy(attributes=OWN if attributes is None else attributes))
    for name in ("Ana", "Bo"):
        await stage.entity(name)
    for name in ("Tib", "Grim", "Well"):
        await stage.entity(name, EntityType.OBJECT)
    for number in (2, 3):
        await stage.scene(f"scene {number}", order=number)
    return stage


CONFLICTING = [
    (fact("The Well is hallowed", "Well"), fact("The Well is hexed", "Well")),
    (fact("The Well is blessed", "Well"), state("Well", "cursed")),
    (state("Well", "hexed"), fact("The Well is blessed", "Well")),
    (
        fact("Ana's familiar is Tib", "Ana", "Tib"),
        fact("Grim is Ana's familiar", "Ana", "Grim"),
    ),
    (
        rel("Tib", "FAMILIAR_OF", "Ana"),
        fact("Ana's familiar is Grim", "Ana", "Grim"),
    ),
    (rel("Ana", "VASSAL_LORD", "Bo"), rel("Ana", "ENEMY_OF", "Bo")),
    (fact("Well ist verflucht", "Well"), fact("Well ist geweiht", "Well")),
]


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize(("first", "then"), CONFLICTING)
async def test_a_later_value_ends_the_earlier_of_any_form(
    first: Any, then: Any, *, own: bool
) -> None:
    """Without the attributes, both hold."""
    stage = await a_coven(OWN if own else {})
    made = await judge_claim(stage, first)
    later = await judge_claim(stage, then, "scene 2")

    assert (made.status, later.status) == (ACCEPTED, ACCEPTED)
    assert await claim_holds(stage, first, made.canonical_id) is not own


async def claim_holds(stage: Stage, claim: Any, made: str | None) -> bool:
    """Return whether a claimed fact, relation or state still holds."""
    if claim[0] != "state_change":
        return await still_holds(stage, made)
    well = await stage.find_item(claim[1]["entity_id"])
    assert isinstance(well, Entity)
    return claim[1]["add"][0] in well.state_tags


async def test_an_entry_replaces_the_built_in_one_of_its_name() -> None:
    await a_coven({"capital": {"kind": "entity", "relations": ["CAPITAL_IS"]}})

    assert find_attribute("capital").cardinality is None
    assert not relation_type("CAPITAL_IS").one_target
    assert not relation_type("CAPITAL_OF").one_origin
    assert excluded_by("alive", (), ["dead"]) == ["dead"]


async def test_another_store_has_its_own_attributes() -> None:
    await a_coven()
    await a_coven({})

    assert excluded_by("blessed", (), ["cursed"]) == []
    assert find_attribute("blessing").cardinality is None


async def test_entries_that_imply_each_other_are_followed_once() -> None:
    await a_coven(
        {
            "guard": {"kind": "entity", "implies": {"*": "friend:@"}},
            "friend": {"kind": "entity", "implies": {"*": "guard:@"}},
        }
    )

    said = Statement(subject="ana", attribute="guard", value="bo")
    assert [one.attribute for one in implied_by(said)] == ["friend", "guard"]
