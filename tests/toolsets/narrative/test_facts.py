"""Facts: their intervals, whom they are about, and what happens when they never were true."""

from typing import Any

import pytest

from canonry.readmodels.ports.state import FactQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.ids import EntityId
from canonry.values.provenance import Authority
from tests.toolsets.narrative.kit import NOWHERE, World, a_world

pytestmark = pytest.mark.anyio

T1, T2, T3, T4 = (f"2020-01-0{day}T00:00:00Z" for day in (1, 2, 3, 4))
A_DAY = 86_400


async def find_facts(world: World, **filters: Any) -> list[str]:
    reply = await world.call("neo4j_query_facts", detail=True, **filters)
    assert reply["total"] >= len(reply["facts"])
    return [fact["statement"] for fact in reply["facts"]]


async def test_a_fact_reads_as_it_was_created() -> None:
    world = await a_world()
    ann = await world.entity("Ann")

    made = await world.fact(
        "Ann rules", ann, time_ref=T1, duration=A_DAY, confidence=0.7, authority="player"
    )

    (fact,) = (await world.call("neo4j_query_facts", "Narrator", detail=True))["facts"]
    assert fact["fact_id"] == made
    assert (fact["time_ref"], fact["duration"]) == (T1, A_DAY)
    assert (fact["confidence"], fact["authority"]) == (0.7, "player")
    assert fact["involved_entity_ids"] == [ann]
    assert fact["canon_level"] == "canon"


@pytest.mark.parametrize(
    ("start", "end", "statements"),
    [
        (None, None, ["always", "on day 1", "from day 2", "on day 3"]),
        (T1, T1, ["always", "on day 1"]),
        (T2, T2, ["always", "from day 2"]),
        (None, T1, ["always", "on day 1"]),
        (T4, None, ["always", "from day 2"]),
        (T1, T3, ["always", "on day 1", "from day 2", "on day 3"]),
        ("0001-01-01T00:00:00Z", "0001-01-02T00:00:00Z", ["always"]),
    ],
)
async def test_a_range_finds_the_facts_that_overlap_it(
    start: str | None, end: str | None, statements: list[str]
) -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    await world.fact("always", ann)
    await world.fact("on day 1", ann, time_ref=T1, duration=A_DAY)
    await world.fact("from day 2", ann, time_ref=T2)
    await world.fact("on day 3", ann, time_ref=T3, duration=A_DAY)

    range_ = {key: at for key, at in (("start", start), ("end", end)) if at}

    assert await find_facts(world, time_range=range_) == statements


async def test_an_offset_is_taken_into_account() -> None:
    world = await a_world()
    await world.fact("noon", await world.entity("Ann"), time_ref="2020-01-01T12:00:00+02:00")

    (fact,) = (await world.call("neo4j_query_facts", detail=True))["facts"]

    assert fact["time_ref"] == "2020-01-01T10:00:00Z"


@pytest.mark.parametrize(
    ("filters", "path"),
    [
        ({"time_range": {"start": T2, "end": T1}}, "/time_range"),
        ({"time_range": {"start": "2020-01-01"}}, "/time_range/start"),
        ({"time_range": {"end": "2020-01-01T00:00:00"}}, "/time_range/end"),
        ({"time_range": {"start": "2020-02-30T00:00:00Z"}}, "/time_range/start"),
        ({"limit": 501}, "/limit"),
        ({"limit": 0}, "/limit"),
        ({"offset": -5}, "/offset"),
        ({"authority": "king"}, "/authority"),
    ],
)
async def test_an_out_of_bounds_query_names_the_argument(
    filters: dict[str, Any], path: str
) -> None:
    world = await a_world()

    data = await world.refused("neo4j_query_facts", code=-32003, **filters)

    assert data["path"] == path


async def test_filters_select_by_entity_authority_and_level() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    await world.fact("one", ann)
    await world.fact("two", ben, authority="system")
    both = await world.fact("three", ann, ben)
    await world.call("neo4j_retcon_fact", fact_id=both, reason="no")

    assert await find_facts(world, entity_id=ann) == ["one", "three"]
    assert await find_facts(world, entity_id=ann, canon_level="canon") == ["one"]
    assert await find_facts(world, authority="system") == ["two"]
    assert await find_facts(world, canon_level="retconned") == ["three"]
    assert await find_facts(world, universe_id=world.universe_id, limit=1, offset=1) == ["two"]
    await world.refused("neo4j_query_facts", entity_id=NOWHERE, code=-32002)


async def test_an_authority_in_a_query_is_a_filter_and_no_claim() -> None:
    world = await a_world()
    await world.fact("one", await world.entity("Ann"))
    world.authorities = frozenset((Authority.SYSTEM,))

    assert await find_facts(world, authority="gm") == ["one"]
    data = await world.refused(
        "neo4j_create_fact", code=-32001, **world.backed(entities=(NOWHERE,), statement="two")
    )
    assert data["code"] == "authority.claim-refused"


@pytest.mark.parametrize(
    ("spoiled", "code", "path"),
    [
        ({"involved_entity_ids": []}, -32003, "/involved_entity_ids"),
        ({"involved_entity_ids": ["Ann"]}, -32003, "/involved_entity_ids/0"),
        ({"involved_entity_ids": [NOWHERE]}, -32002, None),
        ({"involved_entity_ids": [NOWHERE, NOWHERE.upper()]}, -32003, "/involved_entity_ids"),
        ({"statement": ""}, -32003, "/statement"),
        ({"statement": "x" * 1001}, -32003, "/statement"),
        ({"duration": -1}, -32003, "/duration"),
        ({"duration": 10**15}, -32003, "/duration"),
        ({"duration": 1.5}, -32003, "/duration"),
        ({"time_ref": "yesterday"}, -32003, "/time_ref"),
        ({"evidence_refs": []}, -32003, "/evidence_refs"),
        ({"universe_id": NOWHERE}, -32002, None),
    ],
)
async def test_a_wrong_argument_is_named(
    spoiled: dict[str, Any], code: int, path: str | None
) -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    arguments = {**world.backed(entities=(ann,), statement="Ann rules"), **spoiled}

    data = await world.refused("neo4j_create_fact", code=code, **arguments)

    assert data.get("path") == path


async def test_an_entity_of_another_universe_cannot_be_involved() -> None:
    world = await a_world()
    other = await world.another_universe()
    stranger = await other.entity("Stranger")

    data = await world.refused(
        "neo4j_create_fact",
        code=-32004,
        **world.backed(entities=(await world.entity("Ann"), stranger), statement="they met"),
    )

    assert data["conflicts"] == [stranger]
    assert data["path"] == "/involved_entity_ids"


async def test_a_repeated_statement_is_allowed_and_reported() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    first = await world.fact("Somebody rules", ann)

    again = await world.call(
        "neo4j_create_fact", **world.backed(entities=(ann,), statement=" somebody RULES")
    )
    other = await world.call(
        "neo4j_create_fact", **world.backed(entities=(ben,), statement="Somebody rules")
    )

    assert len(again["warnings"]) == 1
    assert first in again["warnings"][0]
    assert other["warnings"] == []


async def test_a_retconned_fact_and_its_replacement_are_both_kept() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    old = await world.fact("Ann rules", ann, time_ref=T1, duration=A_DAY)

    reply = await world.call(
        "neo4j_retcon_fact",
        fact_id=old,
        reason="the book says otherwise",
        replacement_statement="Ann serves",
        authority="source",
    )

    assert (reply["fact_id"], reply["canon_level"]) == (old, "retconned")
    first, second = (await world.call("neo4j_query_facts", detail=True))["facts"]
    assert (first["canon_level"], first["replaced_by"]) == ("retconned", second["fact_id"])
    assert first["retcon_reason"] == "the book says otherwise"
    assert second["fact_id"] == reply["replacement_fact_id"]
    assert (second["statement"], second["replaces"]) == ("Ann serves", old)
    assert (second["time_ref"], second["duration"]) == (T1, A_DAY)
    assert (second["authority"], second["evidence_refs"]) == ("source", world.evidence)


async def test_a_fact_is_retconned_once() -> None:
    world = await a_world()
    fact = await world.fact("Ann rules", await world.entity("Ann"))
    await world.call("neo4j_retcon_fact", fact_id=fact, reason="no")

    data = await world.refused("neo4j_retcon_fact", code=-32004, fact_id=fact, reason="no")

    assert (data["code"], data["conflicts"]) == ("fact.retconned", [fact])
    await world.refused("neo4j_retcon_fact", code=-32002, fact_id=NOWHERE, reason="no")


async def test_a_tag_ends_with_its_retracted_fact() -> None:
    world = await a_world()
    ann = await world.entity("Ann", state_tags=["alive"])
    backing: dict[str, Any] = {"authority": "gm", "evidence_refs": world.evidence}
    died = await world.call(
        "neo4j_update_entity_state",
        entity_id=ann,
        state_tag_changes={"add": ["dead"]},
        **backing,
    )

    await world.call("neo4j_retcon_fact", fact_id=died["fact_ids"][0], reason="she never did")

    got = await world.call("neo4j_get_entity", entity_id=ann, include_state_history=True)
    assert got["state_tags"] == ["alive"]
    retracted = {fact["statement"]: fact["canon_level"] for fact in got["state_history"]}
    assert retracted == {"Ann is dead": "retconned", "Ann is no longer alive": "retconned"}


async def test_a_tag_stated_again_later_survives_the_retcon() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    backing: dict[str, Any] = {"authority": "gm", "evidence_refs": world.evidence}
    backing["entity_id"] = ann
    change = "neo4j_update_entity_state"
    first = await world.call(change, state_tag_changes={"add": ["lost"]}, **backing)
    await world.call(change, state_tag_changes={"remove": ["lost"]}, **backing)
    await world.call(change, state_tag_changes={"add": ["lost"]}, **backing)

    await world.call("neo4j_retcon_fact", fact_id=first["fact_ids"][0], reason="not then")

    assert (await world.call("neo4j_get_entity", entity_id=ann))["state_tags"] == ["lost"]


async def test_a_direct_fact_reports_its_contradictions_and_doubts() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    queen = await world.fact("Ann is a queen.", ann)
    rich = await world.fact("Ann is rich", ann)

    async def create_fact(statement: str) -> list[str]:
        made = await world.call(
            "neo4j_create_fact", **world.backed(entities=(ann,), statement=statement)
        )
        return list(made["warnings"])

    denied = await create_fact("Ann isn't a queen")
    doubted = await create_fact("Ann is poor")

    assert [one.startswith(f"contradiction: the fact {queen}") for one in denied] == [True]
    assert [one.startswith(f"possible: the fact {rich}") for one in doubted] == [True]
    assert await create_fact("Ann plays the lute") == []


async def test_a_fact_after_fifty_equal_ones_still_ends() -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    backing: dict[str, Any] = {"authority": "gm", "evidence_refs": world.evidence}
    times = 53

    for _time in range(times):
        for change in ("add", "remove"):
            await world.call(
                "neo4j_update_entity_state",
                entity_id=ann,
                state_tag_changes={change: ["lost"]},
                **backing,
            )

    query = FactQuery(entities=frozenset({EntityId(ann)}), limit=PAGE_MAX)
    facts = (await world.canon.state.facts(query)).items
    lost = [fact.superseded for fact in facts if fact.statement == "Ann is lost"]
    assert lost == [True] * times


@pytest.mark.parametrize("later", ["source", "player"])
async def test_a_fact_ends_the_earlier_value_unless_its_authority_is_lower(later: str) -> None:
    world = await a_world()
    ann = await world.entity("Ann")
    first = await world.fact("Ann lives in Bree", ann, time_ref=T1, authority="source")
    second = await world.fact("Ann lives in Velm", ann, time_ref=T3, authority=later)

    facts = (await world.call("neo4j_query_facts", detail=True))["facts"]
    ended = {fact["fact_id"]: fact.get("superseded_by") for fact in facts}
    assert ended[first] == (second if later == "source" else None)
