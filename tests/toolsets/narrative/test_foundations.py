"""Sources, axioms and evidence: what canon rests on."""

from typing import Any

import pytest

from tests.toolsets.narrative.kit import NOWHERE, World, a_world

pytestmark = pytest.mark.anyio


def an_axiom(world: World, **more: Any) -> dict[str, Any]:
    return {
        "universe_id": world.universe_id,
        "statement": "The dead do not return",
        "domain": "metaphysics",
        "authority": "gm",
        "evidence_refs": world.evidence,
        **more,
    }


@pytest.mark.parametrize("level", ["proposed", "canon", "authoritative"])
async def test_a_source_needs_no_evidence_and_keeps_its_level(level: str) -> None:
    world = await a_world()

    made = await world.call(
        "neo4j_create_source",
        universe_id=world.universe_id,
        doc_id="phb-5e",
        title="Handbook",
        edition="5e",
        provenance="ISBN 978-0",
        source_type="rulebook",
        canon_level=level,
    )

    assert made["canon_level"] == level
    listed = await world.call("neo4j_query_sources", universe_id=world.universe_id, offset=1)
    (source,) = listed["sources"]
    assert source["source_id"] == made["source_id"]
    assert (source["edition"], source["provenance"]) == ("5e", "ISBN 978-0")
    assert (source["canon_level"], source["source_type"]) == (level, "rulebook")
    assert listed["total"] == 2


@pytest.mark.parametrize(
    ("spoiled", "code", "path"),
    [
        ({"doc_id": ""}, -32003, "/doc_id"),
        ({"title": " "}, -32003, "/title"),
        ({"source_type": "wiki"}, -32003, "/source_type"),
        ({"canon_level": "retconned"}, -32003, "/canon_level"),
        ({"universe_id": NOWHERE}, -32002, None),
    ],
)
async def test_a_wrong_source_is_refused(
    spoiled: dict[str, Any], code: int, path: str | None
) -> None:
    world = await a_world()
    arguments = {"universe_id": world.universe_id, "doc_id": "d", "title": "T", **spoiled}
    arguments = {"source_type": "lore", "canon_level": "canon", **arguments}

    data = await world.refused("neo4j_create_source", code=code, **arguments)

    assert data.get("path") == path


async def test_an_axiom_reads_as_it_was_created() -> None:
    world = await a_world()
    constraint = {
        "kind": "exclusive_tags",
        "values": ["alive", "dead"],
        "entity_type": "character",
    }

    made = await world.call("neo4j_create_axiom", **an_axiom(world, constraint=constraint))

    listed = await world.call(
        "neo4j_query_axioms", "Resolver", detail=True, universe_id=world.universe_id
    )
    (axiom,) = listed["axioms"]
    assert axiom["axiom_id"] == made["axiom_id"]
    assert axiom["constraint"] == constraint
    assert (axiom["domain"], axiom["confidence"]) == ("metaphysics", 1.0)


async def test_a_forbidden_relation_is_kept_under_its_own_name() -> None:
    world = await a_world()
    constraint = {"kind": "forbidden_relation", "values": ["allied with", "OWNS"]}

    await world.call("neo4j_create_axiom", **an_axiom(world, constraint=constraint))

    listed = await world.call("neo4j_query_axioms", detail=True, universe_id=world.universe_id)
    assert listed["axioms"][0]["constraint"]["values"] == ["ALLY_OF", "OWNS"]


@pytest.mark.parametrize(
    ("spoiled", "code", "path"),
    [
        ({"authority": "player"}, -32003, "/authority"),
        ({"domain": "cooking"}, -32003, "/domain"),
        ({"statement": ""}, -32003, "/statement"),
        ({"evidence_refs": []}, -32003, "/evidence_refs"),
        ({"evidence_refs": [f"rule:{NOWHERE}"]}, -32002, None),
        ({"constraint": {"kind": "forbidden_tag", "values": []}}, -32003, "/constraint/values"),
        (
            {"constraint": {"kind": "forbidden_tag", "values": [" "]}},
            -32003,
            "/constraint/values/0",
        ),
        (
            {"constraint": {"kind": "forbidden_relation", "values": ["OWNS", "!"]}},
            -32003,
            "/constraint/values/1",
        ),
        ({"universe_id": NOWHERE}, -32002, None),
    ],
)
async def test_a_wrong_axiom_is_refused(
    spoiled: dict[str, Any], code: int, path: str | None
) -> None:
    world = await a_world()

    data = await world.refused("neo4j_create_axiom", code=code, **an_axiom(world, **spoiled))

    assert data.get("path") == path


async def test_an_axiom_is_evidence_as_a_rule() -> None:
    world = await a_world()
    axiom = (await world.call("neo4j_create_axiom", **an_axiom(world)))["axiom_id"]

    ann = await world.entity("Ann")

    fact = await world.fact("Ann stays dead", ann, evidence_refs=[f"rule:{axiom}"])

    (shown,) = (await world.call("neo4j_query_facts", detail=True))["facts"]
    assert (shown["fact_id"], shown["evidence_refs"]) == (fact, [f"rule:{axiom}"])


async def test_evidence_is_linked_once_to_any_kind_of_canon() -> None:
    world = await a_world()
    ann, ben = await world.entity("Ann"), await world.entity("Ben")
    axiom = (await world.call("neo4j_create_axiom", **an_axiom(world)))["axiom_id"]
    items = [
        ann,
        axiom,
        await world.fact("Ann rules", ann),
        await world.event("Toast", ann),
        await world.relation(ann, "KNOWS", ben),
    ]
    another = await world.call(
        "neo4j_create_source",
        universe_id=world.universe_id,
        doc_id="2",
        title="Second",
        source_type="lore",
        canon_level="canon",
    )
    ref = f"source:{another['source_id']}"

    for item in items:
        linked = await world.call("neo4j_link_evidence", canonical_id=item, evidence_ref=ref)
        assert ref in linked["evidence_refs"]
        before = await world.heads()
        again = await world.call("neo4j_link_evidence", canonical_id=item, evidence_ref=ref)
        assert again == linked
        assert await world.heads() == before


async def test_evidence_is_linked_only_to_canon_and_must_exist() -> None:
    world = await a_world()
    other = await world.another_universe()
    ann = await world.entity("Ann")
    wrong = [
        (NOWHERE, world.evidence[0], -32002),
        (world.source_id, world.evidence[0], -32002),
        (await world.story(), world.evidence[0], -32002),
        (ann, f"source:{NOWHERE}", -32002),
        (ann, other.evidence[0], -32004),
        (ann, "the book", -32003),
    ]

    for item, ref, code in wrong:
        await world.refused("neo4j_link_evidence", code=code, canonical_id=item, evidence_ref=ref)
