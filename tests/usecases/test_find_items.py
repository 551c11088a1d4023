"""Finding items of every kind: what had been said by a time, and relations beside the rest."""

from dataclasses import replace

import pytest

from canonry.app.compose import compose_memory
from canonry.canon.session import viewpoint
from canonry.canon.session.viewpoint import narrow_canon
from canonry.canon.session.what_holds import Viewpoint, moment_at
from canonry.readmodels.ports.state import FactQuery
from canonry.recall.usecases.find_items import FoundKind, ItemSearch, find_items
from canonry.testing.clocks import CountingIdentities, HandClock, Scribe
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_fact,
    a_relation,
    a_scene,
    a_source,
    a_turn,
    an_axiom,
    an_entity,
    an_event,
    uuid_of,
)
from canonry.values.errors import Unavailable
from canonry.values.ids import EntityId
from canonry.values.moments import DAY, Instant
from tests.usecases.stage import Stage, a_stage, id_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def stage() -> Stage:
    return await a_stage()


async def find_names(
    stage: Stage, text: str, *kinds: FoundKind, at: int | None = None
) -> list[str]:
    search = ItemSearch(
        space=MIDDLE_EARTH,
        text=text,
        kinds=frozenset(kinds or FoundKind),
    )
    view = Viewpoint(at=None if at is None else moment_at(Instant(at * DAY)))
    found = await find_items(narrow_canon(stage.canon, view), search)
    return [item.id for item, _ in found.found]


async def test_at_a_world_time_later_statements_are_not_found(stage: Stage) -> None:
    for n, (name, day) in enumerate((("early", 50), ("late", 150)), 1):
        await stage.make(a_scene(f"scene {name}", order=n, time_ref=Instant(day * DAY)))
        await stage.make(a_turn(name, f"scene {name}", text="The beacon burns"))
    await stage.make(an_event("The beacon burns", time_ref=Instant(20 * DAY)))

    passages = FoundKind.PASSAGE

    assert await find_names(stage, "beacon", passages, at=100) == [uuid_of("early")]
    assert set(await find_names(stage, "beacon", passages, at=200)) == {
        uuid_of("early"),
        uuid_of("late"),
    }
    assert uuid_of("The beacon burns") in await find_names(stage, "beacon", at=30)


async def test_relations_and_facts_have_one_common_order(stage: Stage) -> None:
    await stage.entity("frodo")
    await stage.entity("sting")
    frodo, sting = (EntityId(id_of(name)) for name in ("frodo", "sting"))
    edge = a_relation("edge", "frodo", "sting", rel_type="WIELDS")
    await stage.make(replace(edge, from_id=frodo, to_id=sting), a_fact("They wield power", "frodo"))

    ids = await find_names(stage, "who wields sting?", FoundKind.RELATION, FoundKind.FACT)

    assert ids[0] == uuid_of("edge")
    assert set(ids) == {uuid_of("edge"), uuid_of("They wield power")}


async def test_at_a_log_position_later_statements_are_not_found() -> None:
    clock = HandClock()
    canon = compose_memory(clock=clock, identities=CountingIdentities())
    stage = Stage(canon=canon, scribe=Scribe(canon))
    await stage.scribe.open_spaces("space")
    await stage.make(
        *(a_fact("The beacon burns", "frodo"), an_event("The beacon falls"), an_entity("frodo")),
        *(a_source("a letter", title="beacon letter"), an_axiom("No beacon burns by day")),
        a_relation("edge", "frodo", "sting", rel_type="LIGHTS"),
    )
    clock.move_by(DAY)
    then = clock.now()
    clock.move_by(DAY)
    await stage.make(a_fact("The beacon smokes", "frodo"), a_source("a note", title="beacon note"))

    async def known(*kinds: FoundKind, about: str | None = None) -> set[str]:
        search = ItemSearch(
            space=MIDDLE_EARTH,
            text="beacon",
            kinds=frozenset(kinds or FoundKind),
            about=frozenset(() if about is None else (EntityId(uuid_of(about)),)),
        )
        past = narrow_canon(canon, Viewpoint(known_at=then))
        return {item.id for item, _ in (await find_items(past, search)).found}

    assert await known(FoundKind.FACT) == {uuid_of("The beacon burns")}
    assert await known(FoundKind.EVENT) == {uuid_of("The beacon falls")}
    assert await known(FoundKind.LORE) == {uuid_of("No beacon burns by day")}
    assert await known(FoundKind.DOCUMENT) == {uuid_of("a letter")}
    assert uuid_of("The beacon smokes") not in await known()
    assert await known(FoundKind.FACT, about="frodo") == {uuid_of("The beacon burns")}
    assert await known(FoundKind.FACT, about="sam") == set()
    assert await known(FoundKind.DOCUMENT, about="frodo") == set()


async def test_a_past_of_very_many_items_is_read_partially_or_refused(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stage.make(*(a_fact(f"Bell {n} rings") for n in range(6)))
    monkeypatch.setattr(viewpoint, "PAGE_MAX", 2)
    monkeypatch.setattr(viewpoint, "WALKED_MAX", 4)
    then = narrow_canon(stage.canon, Viewpoint(at=moment_at(Instant(DAY))))
    query = FactQuery(spaces=frozenset((MIDDLE_EARTH,)), limit=3)

    page = await then.state.facts(query)
    with pytest.raises(Unavailable) as refused:
        await then.state.facts(replace(query, offset=4))

    assert (len(page.items), page.total) == (3, 6)
    assert refused.value.code == "viewpoint.too-wide"
