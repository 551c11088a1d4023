"""A call that ends in the middle is finished by sending it again: nothing twice, nothing lost.

The contract of cut calls plays a whole session; these are the losses that it found, one by one.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from canonry.app.compose import compose_memory
from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.gateway.call import Gateway
from canonry.gateway.principal import KEY_META, Principal
from canonry.testing.clocks import CountingIdentities, HandClock
from canonry.testing.conformance.cuts import ENDS, CutLedger, DiedError
from canonry.values.fields import with_changes
from canonry.values.ids import SpaceId

pytestmark = pytest.mark.anyio
SOLO = Principal(agent_id="solo", agent_type="Solo", authorities=None)
KEEPER = Principal(agent_id="keeper", agent_type="CanonKeeper", authorities=None)
BOOK: dict[str, Any] = {"text": "Odo keeps the light.", "title": "Log"}


@dataclass
class Desk:
    """A gateway over a ledger that ends calls."""

    ledger: CutLedger = field(init=False)
    gateway: Gateway = field(init=False)
    space: SpaceId = field(init=False)

    def __post_init__(self) -> None:
        canon = compose_memory(clock=HandClock(), identities=CountingIdentities())
        self.ledger = CutLedger(canon.ledger)
        whole: Any = with_changes(canon, ledger=self.ledger)
        self.gateway = Gateway(whole, load_toolsets(TOOLSETS))

    async def call(
        self, tool: str, by: Principal = SOLO, key: str | None = None, **said: Any
    ) -> Any:
        meta = None if key is None else {KEY_META: key}
        result = await self.gateway.call(tool, said, by, meta)
        assert result.error is None, result.text
        return result.body

    async def cut(self, tool: str, appends: int = 1, **given: Any) -> None:
        """Call, and die after so many appends."""
        self.ledger.begin_call(appends, ENDS["killed"])
        with pytest.raises(DiedError):
            await self.call(tool, **given)
        self.ledger.begin_call(0, ENDS["killed"])


async def a_space() -> Desk:
    desk = Desk()
    desk.space = SpaceId((await desk.call("open", name="Marrow"))["id"])
    return desk


@pytest.mark.parametrize("key", ["k", None], ids=["with a key", "without one"])
async def test_f1_a_text_whose_telling_was_cut_off_is_one_document(key: str | None) -> None:
    desk = await a_space()
    await desk.cut("tell", key=key, space=desk.space, **BOOK)

    again = await desk.call("tell", key=key, space=desk.space, **BOOK)

    (source,) = (await desk.gateway.canon.state.sources(desk.space, limit=9, offset=0)).items
    assert source.id == again["document"]
    claim = {"kind": "entity", "name": "Odo", "type": "character"}
    done = await desk.call("propose", claims=[claim], evidence=["Log"], space=desk.space)
    assert done["accepted"] == 1


async def test_f1_each_relation_of_one_call_about_the_account_has_a_step_of_its_own() -> None:
    desk = Desk()
    people = [{"type": "person", "name": name} for name in ("Ada Moss", "Ben Fen")]
    await desk.call("tell", records=[*people, {"type": "company", "name": "Moss Ltd"}])
    claims = [
        {"kind": "relation", "from": one["name"], "type": "PART_OF", "to": "Moss Ltd"}
        for one in people
    ]

    done = await desk.call("propose", key="k", claims=claims, space="account")

    assert [row["verdict"] for row in done["verdicts"]] == ["accepted", "accepted"]


async def test_f1_a_retry_does_not_overrule_what_was_said_since() -> None:
    desk = Desk()
    invoice = {"entity_type": "invoice", "invoice_number": "R-1"}
    await desk.cut("ingest", key="k", entities=[{**invoice, "description": "old"}])
    await desk.call("ingest", entities=[{**invoice, "description": "new"}])

    again = await desk.call("ingest", key="k", entities=[{**invoice, "description": "old"}])

    shown = await desk.call("get_entity_snapshot", entity_id=again["entities"][0]["entity_id"])
    assert shown["snapshot"]["description"] == "new"
    assert again["entities"][0]["created"]


async def test_f1_a_correction_that_was_cut_off_within_a_call_is_told_as_done() -> None:
    desk = await a_space()
    claims: list[dict[str, Any]] = [
        {"kind": "entity", "name": name, "type": "character"} for name in ("Ilsa", "Ilse", "Odo")
    ]
    await desk.call("propose", claims=claims, said="They are here.", space=desk.space)
    upkeep: dict[str, Any] = {
        "claims": [
            {"kind": "merge", "from": "Ilse", "to": "Ilsa"},
            {"kind": "correction", "of": "Odo", "field": "name", "value": "Otto"},
        ],
        "space": desk.space,
    }
    for appends in (2, 2):
        await desk.cut("propose", appends, key="k", **upkeep)

    done = await desk.call("propose", key="k", **upkeep)

    assert done["accepted"] == 2


async def test_f1_what_was_named_to_fall_along_falls_though_the_call_was_cut_off() -> None:
    desk = Desk()
    arda = (await desk.call("neo4j_create_universe", by=KEEPER, name="Arda"))["universe_id"]
    book = {"doc_id": "b", "title": "B", "source_type": "lore", "canon_level": "canon"}
    source = await desk.call("neo4j_create_source", by=KEEPER, universe_id=arda, **book)
    backed: dict[str, Any] = {
        "universe_id": arda,
        "confidence": 1.0,
        "authority": "gm",
        "evidence_refs": [f"source:{source['source_id']}"],
    }
    ann = {"name": "Ann", "entity_class": "EntityInstance", "entity_type": "character"}
    made = await desk.call(
        "neo4j_create_entity", by=KEEPER, description="Tall.", properties={}, **ann, **backed
    )
    backed["involved_entity_ids"] = [made["entity_id"]]
    cause, effect = [
        (await desk.call("neo4j_create_event", by=KEEPER, title=t, description=t, **backed))[
            "event_id"
        ]
        for t in ("Rain", "Mud")
    ]
    link = {"cause_event_id": cause, "effect_event_id": effect}
    await desk.call("neo4j_create_causal_link", by=KEEPER, **link)
    retcon = {"id": cause, "reason": "no rain", "along_ids": [effect]}
    await desk.cut("neo4j_retcon_thing", by=KEEPER, key="k", **retcon)

    again = await desk.call("neo4j_retcon_thing", by=KEEPER, key="k", **retcon)

    assert again["retconned"] == [effect, cause]
