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
class CutDriver:
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

    async def cut_call(self, tool: str, appends: int = 1, **given: Any) -> None:
        """Call, and die after so many appends."""
        self.ledger.begin_call(appends, ENDS["killed"])
        with pytest.raises(DiedError):
            await self.call(tool, **given)
        self.ledger.begin_call(0, ENDS["killed"])


async def a_space() -> CutDriver:
    driver = CutDriver()
    driver.space = SpaceId((await driver.call("open", name="Marrow"))["id"])
    return driver


@pytest.mark.parametrize("key", ["k", None], ids=["with a key", "without one"])
async def test_a_text_whose_recording_was_interrupted_is_one_document(key: str | None) -> None:
    driver = await a_space()
    await driver.cut_call("tell", key=key, space=driver.space, **BOOK)

    again = await driver.call("tell", key=key, space=driver.space, **BOOK)

    (source,) = (await driver.gateway.canon.state.sources(driver.space, limit=9, offset=0)).items
    assert source.id == again["document"]
    claim = {"kind": "entity", "name": "Odo", "type": "character"}
    done = await driver.call("propose", claims=[claim], evidence=["Log"], space=driver.space)
    assert done["accepted"] == 1


async def test_each_account_relation_of_one_call_has_its_own_step() -> None:
    driver = CutDriver()
    people = [{"type": "person", "name": name} for name in ("Ada Moss", "Ben Fen")]
    await driver.call("tell", records=[*people, {"type": "company", "name": "Moss Ltd"}])
    claims = [
        {"kind": "relation", "from": one["name"], "type": "PART_OF", "to": "Moss Ltd"}
        for one in people
    ]

    done = await driver.call("propose", key="k", claims=claims, space="account")

    assert [row["verdict"] for row in done["verdicts"]] == ["accepted", "accepted"]


async def test_a_retry_does_not_overrule_later_statements() -> None:
    driver = CutDriver()
    invoice = {"entity_type": "invoice", "invoice_number": "R-1"}
    await driver.cut_call("ingest", key="k", entities=[{**invoice, "description": "old"}])
    await driver.call("ingest", entities=[{**invoice, "description": "new"}])

    again = await driver.call("ingest", key="k", entities=[{**invoice, "description": "old"}])

    shown = await driver.call("get_entity_snapshot", entity_id=again["entities"][0]["entity_id"])
    assert shown["snapshot"]["description"] == "new"
    assert again["entities"][0]["created"]


async def test_an_interrupted_correction_is_reported_as_done() -> None:
    driver = await a_space()
    claims: list[dict[str, Any]] = [
        {"kind": "entity", "name": name, "type": "character"} for name in ("Ilsa", "Ilse", "Odo")
    ]
    await driver.call("propose", claims=claims, said="They are here.", space=driver.space)
    maintenance: dict[str, Any] = {
        "claims": [
            {"kind": "merge", "from": "Ilse", "to": "Ilsa"},
            {"kind": "correction", "of": "Odo", "field": "name", "value": "Otto"},
        ],
        "space": driver.space,
    }
    for appends in (2, 2):
        await driver.cut_call("propose", appends, key="k", **maintenance)

    done = await driver.call("propose", key="k", **maintenance)

    assert done["accepted"] == 2


async def test_named_dependents_are_retracted_despite_an_interruption() -> None:
    driver = CutDriver()
    arda = (await driver.call("neo4j_create_universe", by=KEEPER, name="Arda"))["universe_id"]
    book = {"doc_id": "b", "title": "B", "source_type": "lore", "canon_level": "canon"}
    source = await driver.call("neo4j_create_source", by=KEEPER, universe_id=arda, **book)
    backed: dict[str, Any] = {
        "universe_id": arda,
        "confidence": 1.0,
        "authority": "gm",
        "evidence_refs": [f"source:{source['source_id']}"],
    }
    ann = {"name": "Ann", "entity_class": "EntityInstance", "entity_type": "character"}
    made = await driver.call(
        "neo4j_create_entity", by=KEEPER, description="Tall.", properties={}, **ann, **backed
    )
    backed["involved_entity_ids"] = [made["entity_id"]]
    cause, effect = [
        (await driver.call("neo4j_create_event", by=KEEPER, title=t, description=t, **backed))[
            "event_id"
        ]
        for t in ("Rain", "Mud")
    ]
    link = {"cause_event_id": cause, "effect_event_id": effect}
    await driver.call("neo4j_create_causal_link", by=KEEPER, **link)
    retcon = {"id": cause, "reason": "no rain", "along_ids": [effect]}
    await driver.cut_call("neo4j_retcon_thing", by=KEEPER, key="k", **retcon)

    again = await driver.call("neo4j_retcon_thing", by=KEEPER, key="k", **retcon)

    assert again["retconned"] == [effect, cause]
