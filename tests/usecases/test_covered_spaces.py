"""Covered spaces: without a universe a query looks at told worlds alone; accounts are asked for."""

from dataclasses import replace

import pytest
from typing_extensions import override

from canonry.canon.queries.explain import explain_item
from canonry.canon.queries.listings import query_entities
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import covered_spaces, require_item
from canonry.log.items.entities import Entity
from canonry.log.items.sources import account_space, user_id_of
from canonry.readmodels.ports.state import EntityQuery, State
from canonry.readmodels.ports.view import Page
from canonry.stores.memory.views import MemoryState
from canonry.testing.clocks import Scribe, a_caller
from canonry.testing.example_items import a_space, an_entity, uuid_of
from canonry.values.errors import NotFound
from canonry.values.ids import Space, SpaceId, SpaceKind
from tests.usecases.stage import a_stage

pytestmark = pytest.mark.anyio

OWN = account_space(user_id_of(None))
THEIRS = account_space(user_id_of("somebody"))
KINDS = {
    SpaceId(uuid_of("tale")): SpaceKind.UNIVERSE,
    SpaceId(uuid_of("tales")): SpaceKind.MULTIVERSE,
    SpaceId(uuid_of("isle")): SpaceKind.WORLD,
    SpaceId(uuid_of("shop")): SpaceKind.PROJECT,
    OWN: SpaceKind.ACCOUNT,
    THEIRS: SpaceKind.ACCOUNT,
}
STORIES = {uuid_of("tale"), uuid_of("tales"), uuid_of("isle")}


class Turned(MemoryState):
    """Lists its newest space first, as if it had been opened by another clock."""

    def __init__(self, state: State) -> None:
        self._state = state

    @override
    async def spaces(
        self, *, kind: SpaceKind | None, parent: SpaceId | None, limit: int, offset: int
    ) -> Page[Space]:
        page = await self._state.spaces(kind=kind, parent=parent, limit=500, offset=0)
        turned = (*page.items[-1:], *page.items[:-1])
        return Page(items=turned[offset : offset + limit], total=page.total)


async def a_store(*kinds: SpaceKind) -> Canon:
    """A store with a space of each kind, and an entity in each."""
    canon = (await a_stage()).canon
    for space, kind in KINDS.items():
        if kind in kinds:
            made: Space = replace(a_space(), id=space, kind=kind)
            await Scribe(canon, space, space).make_items(
                made, an_entity(f"in {space}", space=space)
            )
    return canon


def make_caller(*spaces: str) -> Caller:
    return replace(a_caller(), spaces=frozenset(map(SpaceId, spaces)))


async def spaces_found(canon: Canon, caller: Caller, universe_id: str | None = None) -> set[str]:
    """The spaces in which a query for all entities finds any."""
    found = await query_entities(canon, caller, EntityQuery(), universe_id=universe_id)
    return {str(entity.space) for entity in found.items}


async def test_accounts_and_projects_are_found_only_if_named() -> None:
    canon = await a_store(*SpaceKind)

    assert await spaces_found(canon, a_caller()) & {str(space) for space in KINDS} == STORIES
    assert await spaces_found(canon, make_caller(*KINDS)) == STORIES
    assert await spaces_found(canon, make_caller(uuid_of("shop"), OWN)) == set()


async def test_a_store_of_only_narrative_spaces_is_covered_completely() -> None:
    canon = await a_store(SpaceKind.UNIVERSE, SpaceKind.WORLD)

    assert await covered_spaces(canon, a_caller(), None) is None


async def test_later_opened_spaces_are_covered_in_any_list_position() -> None:
    canon = await a_store(SpaceKind.UNIVERSE, SpaceKind.ACCOUNT)
    before = await covered_spaces(canon, a_caller(), None)
    late = [a_space(name) for name in ("one", "two")]
    for space in late:
        await Scribe(canon, space.id, space.id).make_items(space)

    after = await covered_spaces(canon, a_caller(), None)

    assert before is not None
    assert after == before | {space.id for space in late}
    turned = replace(canon, state=Turned(canon.state))
    assert await covered_spaces(turned, a_caller(), None) == after
    another = a_space("three")
    await Scribe(canon, another.id, another.id).make_items(another)
    assert await covered_spaces(turned, a_caller(), None) == after | {another.id}


@pytest.mark.parametrize("named", [OWN, uuid_of("shop"), uuid_of("isle")])
async def test_naming_a_visible_space_finds_its_items(named: str) -> None:
    canon = await a_store(*SpaceKind)

    assert await spaces_found(canon, a_caller(), named) == {named}


async def test_a_granted_account_of_another_user_is_found() -> None:
    canon = await a_store(*SpaceKind)

    assert await spaces_found(canon, make_caller(THEIRS), THEIRS) == {THEIRS}
    for caller in (a_caller(), make_caller(uuid_of("tale")), make_caller(OWN)):
        with pytest.raises(NotFound) as caught:
            await covered_spaces(canon, caller, THEIRS)
        assert caught.value.code == "universe.unknown"


async def test_an_item_of_a_granted_account_is_found() -> None:
    canon = await a_store(*SpaceKind)
    theirs, own, sold = (uuid_of(f"in {space}") for space in (THEIRS, OWN, uuid_of("shop")))

    for caller, found in (
        (a_caller(), (own, sold)),
        (make_caller(THEIRS), (theirs,)),
        (replace(a_caller(), actor=replace(a_caller().actor, user="somebody")), (theirs, sold)),
    ):
        for entity in (theirs, own, sold):
            if entity in found:
                assert (await require_item(canon, caller, Entity, entity)).id == entity
                assert (await explain_item(canon, caller, entity)).thing.id == entity
            else:
                for look in (
                    require_item(canon, caller, Entity, entity),
                    explain_item(canon, caller, entity),
                ):
                    with pytest.raises(NotFound):
                        await look


async def test_a_multiverse_or_an_unknown_id_is_no_universe() -> None:
    canon = await a_store(*SpaceKind)

    for named in (uuid_of("tales"), uuid_of("nothing")):
        with pytest.raises(NotFound):
            await covered_spaces(canon, a_caller(), named)
