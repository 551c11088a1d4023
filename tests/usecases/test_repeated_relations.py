"""Direct words about relations that all know already, while few know that it was otherwise."""

from dataclasses import replace

import pytest

from canonry.canon.commands.relations import NewRelation, RelationCreated, create_relation
from canonry.log.schemas.narrative import relation_type
from canonry.testing.clocks import a_caller
from canonry.values.audience import EVERYBODY, GAME_MASTERS, Audience
from canonry.values.provenance import Authority
from tests.usecases.stage import Stage, a_stage, id_of

pytestmark = pytest.mark.anyio


async def relate_ana_and_bo(
    stage: Stage, kind: str, audience: Audience = EVERYBODY, key: str | None = None
) -> RelationCreated:
    """Relate Ana and Bo, and return the answer that the keeper gets."""
    new = NewRelation(
        kind=relation_type(kind),
        from_id=id_of("Ana"),
        to_id=id_of("Bo"),
        properties={},
        since=None,
        authority=Authority.GM,
        confidence=1.0,
        evidence=(),
        audience=audience,
    )
    caller = replace(a_caller(), idempotency_key=key)
    return await create_relation(stage.canon, caller, new)


@pytest.mark.parametrize("key", [None, "once"])
async def test_a_repeated_public_relation_stays_one_despite_secrets(
    key: str | None,
) -> None:
    stage = await a_stage()
    for name in ("Ana", "Bo"):
        await stage.entity(name)
    first = await relate_ana_and_bo(stage, "ENEMY_OF")
    secret = await relate_ana_and_bo(stage, "ALLY_OF", GAME_MASTERS)

    answers = [await relate_ana_and_bo(stage, "ENEMY_OF", key=key) for _ in range(2)]

    assert [(one.relation_id, one.existing) for one in answers] == [(first.relation_id, True)] * 2
    over = (await stage.canon.store_of_all.state.items_by_id((secret.relation_id,))).values()
    assert [one.current for one in over] == [False]  # type: ignore[union-attr] # it is a relation
