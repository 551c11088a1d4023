"""Walking from item to item: each once, merged ones as their survivors, within reported bounds."""

import pytest

from canonry.canon.session import traversal as walking
from canonry.canon.session.traversal import Related, traverse_related
from canonry.log.entries import EntitiesMerged
from canonry.log.items.entities import Entity
from canonry.testing.clocks import a_caller
from canonry.values.ids import EntityId
from tests.usecases.stage import Stage, a_relation_of, a_stage, id_of

pytestmark = pytest.mark.anyio
FRIENDS = tuple(f"Friend {number}" for number in range(6))


async def a_hub() -> Stage:
    """Somebody who knows six, of whom the first knows a stranger."""
    stage = await a_stage()
    for name in ("Hub", *FRIENDS, "Stranger"):
        await stage.entity(name)
    await stage.make(
        *(a_relation_of(f"to {name}", "KNOWS", "Hub", name) for name in FRIENDS),
        a_relation_of("far", "ALLY_OF", FRIENDS[0], "Stranger"),
    )
    return stage


async def walk_related(stage: Stage, start: str = "Hub", **how: object) -> Related:
    item = await stage.find_item(id_of(start))
    assert isinstance(item, Entity)
    return await traverse_related(stage.canon, a_caller(), item, **how)  # type: ignore[arg-type]


def related_names(related: Related) -> set[str]:
    return {entity.name for entity in related.entities}


async def test_hops_types_and_directions_bound_the_walk() -> None:
    stage = await a_hub()

    near, far = await walk_related(stage), await walk_related(stage, max_hops=5)
    typed = await walk_related(stage, max_hops=5, types=("KNOWS",))
    inward = await walk_related(stage, direction="inbound")

    assert (related_names(near), near.hops) == (set(FRIENDS), 1)
    assert (related_names(far), far.hops) == ({*FRIENDS, "Stranger"}, 2)
    assert (related_names(typed), typed.hops) == (set(FRIENDS), 1)
    assert (related_names(inward), inward.hops, inward.truncated) == (set(), 0, False)


async def test_two_types_are_walked_together() -> None:
    stage = await a_hub()

    both = await walk_related(stage, max_hops=2, types=("KNOWS", "ALLY_OF"))

    assert related_names(both) == {*FRIENDS, "Stranger"}


async def test_a_relation_that_a_merge_made_circular_leads_nowhere() -> None:
    stage = await a_hub()
    merged = EntitiesMerged(
        kept=EntityId(id_of("Hub")), merged=EntityId(id_of(FRIENDS[0])), members=(), reason="one"
    )
    await stage.scribe.write_entries(merged)

    related = await walk_related(stage)

    assert related_names(related) == {*FRIENDS[1:], "Stranger"}
    assert {(r.from_id, r.to_id) for r in related.relations if r.rel_type == "ALLY_OF"} == {
        (id_of("Hub"), id_of("Stranger"))
    }
    assert id_of(FRIENDS[0]) not in {r.to_id for r in related.relations}


async def test_paging_does_not_change_the_reached_entities(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = await a_hub()
    whole = await walk_related(stage, max_hops=3)
    monkeypatch.setattr(walking, "PAGE_MAX", 2)

    assert await walk_related(stage, max_hops=3) == whole


async def test_omitted_entities_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = await a_hub()
    monkeypatch.setattr(walking, "NODES_MAX", 4)

    few = await walk_related(stage, max_hops=2)

    assert (len(few.entities), len(few.relations), few.truncated) == (4, 4, True)
    assert related_names(few) < {*FRIENDS, "Stranger"}


async def test_omitted_relations_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = await a_hub()
    monkeypatch.setattr(walking, "PAGE_MAX", 2)
    monkeypatch.setattr(walking, "EDGES_MAX", 4)

    some = await walk_related(stage)

    assert (len(some.relations), some.truncated) == (4, True)
