"""`canonry import documents`, and the same document through a real client of a real server."""

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.adapters.readers.paper import a_pdf
from tests.cli.run import SOURCE, Done, run_canonry

DOCUMENTS = Path(__file__).parents[3] / "shared" / "data" / "documents"
RULES = "# Fire\n\nFire burns.\n\n# Ice\n\nIce cools.\n"


def import_documents(folder: Path, *words: str) -> Done:
    return run_canonry(
        *("import", "documents", *words),
        *("--universe", "Home", "--data", str(folder / "data"), "--json"),
    )


def write_file(folder: Path, name: str, data: bytes) -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


def read_report(done: Done) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_files_become_sources_of_a_universe_once(tmp_path: Path) -> None:
    files = (
        write_file(tmp_path, "rules.md", RULES.encode()),
        write_file(tmp_path, "map.PDF", a_pdf("The north is cold.")),
        write_file(tmp_path, "old.txt", b"Long ago."),
    )

    first = read_report(import_documents(tmp_path, *files))
    again = read_report(import_documents(tmp_path, *files))

    assert [(each["name"], each["snippets"], each["added"]) for each in first] == [
        ("rules.md", 2, 2),
        ("map.PDF", 1, 1),
        ("old.txt", 1, 1),
    ]
    assert len({each["universe_id"] for each in first}) == 1
    assert len({each["source_id"] for each in first}) == 3
    assert again == [{**each, "added": 0} for each in first]


def test_a_changed_file_adds_to_the_same_source(tmp_path: Path) -> None:
    (first,) = read_report(import_documents(tmp_path, write_file(tmp_path, "a.txt", b"One.")))
    (second,) = read_report(import_documents(tmp_path, write_file(tmp_path, "a.txt", b"Two.")))

    assert second["source_id"] == first["source_id"]
    assert second["added"] == 1


def test_files_with_one_name_in_two_folders_are_two_documents(tmp_path: Path) -> None:
    paths = []
    for folder, text in (("fire", b"Fire burns."), ("ice", b"Ice cools.")):
        (tmp_path / folder).mkdir()
        paths.append(write_file(tmp_path / folder, "rules.md", text))

    fire, ice = read_report(import_documents(tmp_path, *paths))
    again = read_report(import_documents(tmp_path, *reversed(paths)))
    (changed,) = read_report(
        import_documents(tmp_path, write_file(tmp_path / "ice", "rules.md", b"Ice melts."))
    )

    assert (fire["doc_id"], ice["doc_id"]) == ("rules.md", "ice/rules.md")
    assert fire["source_id"] != ice["source_id"]
    assert again == [{**ice, "added": 0}, {**fire, "added": 0}]
    assert (changed["source_id"], changed["added"]) == (ice["source_id"], 1)


def test_a_moved_document_is_known_by_text_and_an_edition_by_its_id(tmp_path: Path) -> None:
    (first,) = read_report(import_documents(tmp_path, write_file(tmp_path, "a.txt", b"One.")))
    (moved,) = read_report(import_documents(tmp_path, write_file(tmp_path, "b.txt", b"One.")))
    reported = ("--doc-id", "a.txt", write_file(tmp_path, "c.txt", b"Two."))
    (edition,) = read_report(import_documents(tmp_path, *reported))
    (other,) = read_report(import_documents(tmp_path, write_file(tmp_path, "d.txt", b"Three.")))

    assert (moved["source_id"], moved["added"]) == (first["source_id"], 0)
    assert (edition["source_id"], edition["added"]) == (first["source_id"], 1)
    assert other["source_id"] != first["source_id"]
    refused = import_documents(
        tmp_path, "--doc-id", "x", *(str(tmp_path / n) for n in ("a.txt", "d.txt"))
    )
    assert refused.returncode == 2


def test_a_charset_is_named_and_never_guessed(tmp_path: Path) -> None:
    path = write_file(tmp_path, "old.txt", b"caf\xe9")

    refused = import_documents(tmp_path, path)
    taken = import_documents(tmp_path, path, "--charset", "windows-1252")

    assert refused.returncode == 2
    assert "old.txt: " in refused.stderr
    assert "document.encoding" in refused.stderr
    assert read_report(taken)[0]["added"] == 1


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("a.docx", b"PK", "document.unknown-kind"),
        ("a.pdf", b"PK", "document.damaged"),
        ("a.txt", b"a\0b", "document.not-text"),
        ("a.md", b"", "document.empty"),
        ("a.pdf", a_pdf("Secret", password="sesame"), "document.encrypted"),
    ],
)
def test_an_unreadable_file_is_named_and_nothing_is_written(
    tmp_path: Path, name: str, data: bytes, code: str
) -> None:
    done = import_documents(tmp_path, write_file(tmp_path, name, data))
    exported = run_canonry("export", "--data", str(tmp_path / "data"))

    assert done.returncode == 2
    assert name in done.stderr
    assert code in done.stderr
    assert "snippet" not in exported.stdout


def test_people_can_read_the_added_documents(tmp_path: Path) -> None:
    words = (
        *("import", "documents", write_file(tmp_path, "rules.md", RULES.encode())),
        *("--universe", "Home", "--data", str(tmp_path / "data")),
        *("--source-type", "lore", "--level", "canon"),
    )

    assert "2 snippets added\n" in run_canonry(*words).stdout
    assert "0 snippets added, 2 were there already" in run_canonry(*words).stdout


async def call_tool(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


@pytest.mark.anyio
@pytest.mark.skipif(not DOCUMENTS.is_dir(), reason="the shared data folder is absent")
async def test_a_client_ingests_finds_and_cites_a_real_document(tmp_path: Path) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=[
            "-m",
            "canonry.cli",
            "serve",
            "--toolsets",
            "narrative",
            "--data",
            str(tmp_path),
            "--agent-type",
            "CanonKeeper",
        ],
        env={"PYTHONPATH": str(SOURCE), "HOME": os.environ["HOME"]},
    )
    paper = (DOCUMENTS / "sample_contract.pdf").read_bytes()
    with open(os.devnull, "w", encoding="utf-8") as log:  # noqa: PTH123 - never blocks
        async with Client(stdio_client(server, errlog=log)) as client:
            universe = (await call_tool(client, "neo4j_create_universe", name="Acme"))[
                "universe_id"
            ]
            source = await call_tool(
                client,
                "neo4j_create_source",
                universe_id=universe,
                doc_id="contract",
                title="The contract",
                source_type="manual",
                canon_level="authoritative",
            )
            ingested = await call_tool(
                client,
                "mongodb_ingest_source",
                source_id=source["source_id"],
                file=base64.b64encode(paper).decode(),
                mime_type="application/pdf",
            )
            found = await call_tool(
                client,
                "qdrant_semantic_search",
                query_text="consulting agreement",
                collection="snippet_chunks",
                filters={"source_id": source["source_id"]},
            )
            (snippet,) = (
                await call_tool(client, "mongodb_query_snippets", source_id=source["source_id"])
            )["snippets"]
            entity = await call_tool(
                client,
                "neo4j_create_entity",
                entity_class="EntityInstance",
                universe_id=universe,
                name="Acme Corp",
                entity_type="organization",
                description="A party of the contract.",
                properties={},
                confidence=1.0,
                authority="source",
                evidence_refs=[snippet["evidence_ref"]],
            )

    assert ingested["added"] == 1
    assert [hit["id"] for hit in found["results"]] == [snippet["snippet_id"]]
    assert "Parties: Acme Corp, John Smith" in snippet["text"]
    assert entity["entity_id"]
