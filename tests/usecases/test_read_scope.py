"""Sight: lookups by id answer only from the spaces that they were made for."""

from dataclasses import replace

import pytest

from canonry.app.compose import compose_memory
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.lookup import readable_scope
from canonry.log.commits import Position
from canonry.log.entries import EntitiesMerged
from canonry.testing.clocks import Scribe, a_caller
from canonry.testing.example_items import MIDDLE_EARTH, a_space, an_entity, uuid_of
from canonry.values.errors import NotFound
from canonry.values.ids import SpaceId, SpaceKind
from canonry.world.usecases.worlds import require_world

pytestmark = pytest.mark.anyio

ELSEWHERE = SpaceId(uuid_of("elsewhere"))
OWN = a_caller().account_id
THEIRS = SpaceId(uuid_of("somebody's account"))
EVERYTHING = (uuid_of("frodo"), uuid_of("bilbo"), uuid_of("mine"), uuid_of("theirs"))


async def a_store() -> Canon:
    """An entity in each of two universes, in the caller's account and in somebody else's."""
    canon = compose_memory()
    for space, kind, name in (
        (MIDDLE_EARTH, SpaceKind.UNIVERSE, "frodo"),
        (ELSEWHERE, SpaceKind.UNIVERSE, "bilbo"),
        (OWN, SpaceKind.ACCOUNT, "mine"),
        (THEIRS, SpaceKind.ACCOUNT, "theirs"),
    ):
        await Scribe(canon, name, space).make_items(
            replace(a_space(), id=space, kind=kind), an_entity(name, space=space)
        )
    return canon


def make_caller(*spaces: SpaceId) -> Caller:
    return replace(a_caller(), spaces=frozenset(spaces))


async def test_a_caller_without_grants_sees_all_but_other_accounts() -> None:
    canon = await a_store()

    found = await canon.caller_scope(a_caller()).items_by_id(EVERYTHING)

    assert found.keys() == {uuid_of("frodo"), uuid_of("bilbo"), uuid_of("mine")}


async def test_a_caller_with_granted_spaces_sees_only_these() -> None:
    canon = await a_store()

    found = await canon.caller_scope(make_caller(ELSEWHERE, THEIRS)).items_by_id(EVERYTHING)

    assert found.keys() == {uuid_of("bilbo"), uuid_of("theirs")}


async def test_items_outside_a_space_are_not_found_within_it() -> None:
    canon = await a_store()
    within = canon.space_scope(MIDDLE_EARTH)

    assert (await within.items_by_id(EVERYTHING)).keys() == {uuid_of("frodo")}
    assert await within.find_item(uuid_of("bilbo")) is None
    assert await within.items_as_known_at((uuid_of("bilbo"),), Position(9)) == {}


async def test_records_are_read_in_the_own_account_and_no_other() -> None:
    canon = await a_store()

    assert (
        await readable_scope(canon, make_caller(ELSEWHERE, THEIRS)).items_by_id(EVERYTHING)
    ).keys() == {
        uuid_of("bilbo"),
        uuid_of("mine"),
    }


async def test_a_merged_entity_leads_to_its_survivor() -> None:
    canon = await a_store()
    scribe = Scribe(canon, "merging")
    await scribe.make_items(an_entity("strider"), an_entity("aragorn"))
    await scribe.write_entries(
        EntitiesMerged(
            kept=an_entity("aragorn").id, merged=an_entity("strider").id, members=(), reason=""
        )
    )

    roots = await canon.space_scope(MIDDLE_EARTH).root_entities(
        (uuid_of("strider"), uuid_of("nobody"))
    )

    assert {given: root.id for given, root in roots.items()} == {
        uuid_of("strider"): uuid_of("aragorn")
    }


async def test_an_interrupted_import_of_an_invisible_world_is_not_reported() -> None:
    canon = await a_store()
    world = SpaceId(uuid_of("half a world"))
    await Scribe(canon, "import", world).make_items(
        replace(a_space(), id=world, kind=SpaceKind.WORLD)
    )

    with pytest.raises(NotFound) as hidden:
        await require_world(canon, make_caller(ELSEWHERE), world)
    with pytest.raises(NotFound) as seen:
        await require_world(canon, make_caller(world), world)

    assert (hidden.value.code, seen.value.code) == ("world.unknown", "world.incomplete")
