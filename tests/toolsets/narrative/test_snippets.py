"""Snippets: a document becomes excerpts that are found, shown in a context, and cited."""

import base64
from pathlib import Path
from typing import Any

import pytest

from canonry.language.texts.stems import terms_of
from tests.adapters.readers.paper import a_pdf
from tests.toolsets.narrative.kit import NOWHERE, World, a_world
from tests.toolsets.narrative.stage import a_stage, assemble_context

pytestmark = pytest.mark.anyio

DOCUMENTS = Path(__file__).parents[4] / "shared" / "data" / "documents"
FIRE = "# Fire\n\nFire burns whoever touches it.\n\n# Grappling\n\nA grappled foe cannot flee."
PDF = "application/pdf"


def encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def ingest_text(world: World, **document: Any) -> dict[str, Any]:
    arguments = {"source_id": world.source_id, **document}
    return await world.call("mongodb_ingest_source", "Indexer", **arguments)


async def list_snippets(world: World, **more: Any) -> list[dict[str, Any]]:
    reply = await world.call(
        "mongodb_query_snippets", "Narrator", detail=True, source_id=world.source_id, **more
    )
    return list(reply["snippets"])


async def find_snippets(
    world: World, text: str, *, source_id: str | None = None
) -> list[dict[str, Any]]:
    reply = await world.call(
        "qdrant_semantic_search",
        "Narrator",
        query_text=text,
        collection="snippet_chunks",
        filters={"source_id": source_id or world.source_id},
    )
    return list(reply["results"])


async def test_markdown_is_listed_by_section_with_citations() -> None:
    world = await a_world()

    done = await ingest_text(world, text=FIRE, mime_type="text/markdown", title="House rules")
    listed = await list_snippets(world)

    assert (done["snippets"], done["added"], done["first_index"]) == (2, 2, 0)
    assert done["universe_id"] == world.universe_id
    assert [each["section"] for each in listed] == ["House rules > Fire", "House rules > Grappling"]
    assert listed[0]["evidence_ref"] == f"snippet:{listed[0]['snippet_id']}"
    assert listed[0]["text"] == "# Fire\n\nFire burns whoever touches it."
    assert [each["index"] for each in await list_snippets(world, limit=1, offset=1)] == [1]


async def test_a_pdf_is_listed_by_page() -> None:
    world = await a_world()

    await ingest_text(world, file=encode_base64(a_pdf("Fire burns.", "Ice cools.")), mime_type=PDF)

    assert [(each["page"], each["text"]) for each in await list_snippets(world)] == [
        (1, "Fire burns.\n\nIce cools."),
    ]


async def test_text_is_plain_unless_declared_otherwise() -> None:
    world = await a_world()

    await ingest_text(world, text=FIRE)

    assert [each["section"] for each in await list_snippets(world)] == [None]


async def test_a_repeated_document_adds_nothing_whoever_sends_it() -> None:
    world = await a_world()
    await ingest_text(world, text=FIRE)

    again = await ingest_text(world, file=encode_base64(FIRE.encode()), mime_type="text/plain")
    keeper = await world.call("mongodb_ingest_source", source_id=world.source_id, text=FIRE)

    assert again["added"] == keeper["added"] == 0
    assert len(await list_snippets(world)) == 1


async def test_ingested_text_is_found_only_in_its_source() -> None:
    world = await a_world()
    await ingest_text(world, text=FIRE, mime_type="text/markdown")
    rule = (await list_snippets(world))[1]

    (hit,) = await find_snippets(world, "grappled")

    assert hit["id"] == rule["snippet_id"]
    assert hit["payload"]["source_id"] == world.source_id
    other = await world.call(
        "neo4j_create_source",
        universe_id=world.universe_id,
        doc_id="book-2",
        title="The Second Book",
        source_type="rulebook",
        canon_level="canon",
    )
    assert await find_snippets(world, "grappled", source_id=other["source_id"]) == []


async def test_a_snippet_is_evidence_for_a_proposal_and_for_canon() -> None:
    stage = await a_stage()
    await ingest_text(stage.world, text=FIRE)
    (snippet,) = await list_snippets(stage.world)
    scene_id = await stage.scene()
    cited = [{"type": "snippet", "ref_id": snippet["snippet_id"]}]

    await stage.propose(scene_id, evidence=cited)
    fact = await stage.world.fact("Fire burns", stage.sam, evidence_refs=[snippet["evidence_ref"]])
    lost = [{"type": "snippet", "ref_id": NOWHERE}]

    assert fact
    arguments = stage.proposal(scene_id, evidence=lost)
    data = await stage.world.refused(
        "mongodb_create_proposed_change", "Narrator", code=-32002, **arguments
    )
    assert data["code"] == "evidence.unknown"


async def test_the_context_of_a_scene_shows_matching_rules() -> None:
    stage = await a_stage()
    await ingest_text(stage.world, text=FIRE, mime_type="text/markdown")
    scene_id = await stage.scene()

    context = await assemble_context(stage, scene_id, semantic_query="a grappled foe")

    (rule, *_) = context["recalled"]["rule_excerpts"]
    assert rule["text"].endswith("A grappled foe cannot flee.")


@pytest.mark.parametrize(
    ("document", "code", "path"),
    [
        ({}, "document.not-given", "/text"),
        ({"text": "a", "file": "YQ==", "mime_type": "text/plain"}, "document.not-given", "/text"),
        ({"file": "YQ=="}, "document.no-type", "/mime_type"),
        ({"text": "a", "mime_type": PDF}, "document.not-text", "/mime_type"),
        ({"file": "a?", "mime_type": PDF}, "document.not-base64", "/file"),
        ({"file": "YQ", "mime_type": PDF}, "document.not-base64", "/file"),
        ({"text": " "}, "document.empty", "/text"),
        ({"file": "", "mime_type": "text/plain"}, "document.empty", "/file"),
        ({"file": "AAAA", "mime_type": "text/plain"}, "document.not-text", "/file"),
        ({"file": "/////w==", "mime_type": "text/plain"}, "document.encoding", "/file"),
        ({"file": "JVBERg==", "mime_type": PDF}, "document.damaged", "/file"),
        ({"text": "a", "title": " "}, "text.empty", "/title"),
    ],
)
async def test_an_unreadable_document_is_refused_with_the_position(
    document: dict[str, Any], code: str, path: str
) -> None:
    world = await a_world()

    data = await world.refused(
        "mongodb_ingest_source", code=-32003, source_id=world.source_id, **document
    )

    assert (data["code"], data["path"]) == (code, path)


async def test_an_encrypted_pdf_is_refused() -> None:
    world = await a_world()
    locked = encode_base64(a_pdf("Secret", password="sesame"))

    data = await world.refused(
        "mongodb_ingest_source",
        code=-32003,
        source_id=world.source_id,
        file=locked,
        mime_type=PDF,
    )

    assert data["code"] == "document.encrypted"


@pytest.mark.parametrize("agent", ["Narrator", "Orchestrator", "Resolver", "MemoryManager"])
async def test_only_source_keepers_ingest(agent: str) -> None:
    world = await a_world()

    await world.refused(
        "mongodb_ingest_source", agent, code=-32001, source_id=world.source_id, text=FIRE
    )


async def test_an_unknown_source_has_no_snippets() -> None:
    world = await a_world()

    await world.refused("mongodb_query_snippets", code=-32002, source_id=NOWHERE)
    await world.refused("mongodb_ingest_source", code=-32002, source_id=NOWHERE, text=FIRE)


@pytest.mark.skipif(not DOCUMENTS.is_dir(), reason="the shared data folder is absent")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("contract", ("Consulting Agreement", "Acme Corp", "2024-01-01", "Service Agreement")),
        ("invoice", ("2024-12-15", "Acme Corp", "Consulting Services - Q1 2024", "USD")),
        ("note", ("Q1 Planning Meeting", "John Doe", "Jane Smith", "Bob Johnson")),
        ("receipt", ("RCP-2024-12-18-001", "2024-12-18", "Target", "79.71", "USD")),
    ],
)
async def test_a_real_pdf_and_its_markdown_yield_the_same(
    name: str, words: tuple[str, ...]
) -> None:
    world = await a_world()
    for suffix, kind in (("pdf", PDF), ("md", "text/markdown")):
        data = (DOCUMENTS / f"sample_{name}.{suffix}").read_bytes()
        await ingest_text(world, file=encode_base64(data), mime_type=kind)

    paper, markdown = await list_snippets(world)

    for word in words:
        assert word in paper["text"]
        assert word in markdown["text"]
    assert set(terms_of(" ".join(words))) <= set(terms_of(paper["text"]))
    both = {hit["id"] for hit in await find_snippets(world, words[0])}
    assert both == {paper["snippet_id"], markdown["snippet_id"]}
