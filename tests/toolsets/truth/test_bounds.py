"""Bounds: a list that is cut off says so, and a refused call leaves nothing behind."""

import base64
import json
from pathlib import Path

import pytest

from canonry.records.usecases.files import filing_of
from canonry.stores.folder import FolderLocalFiles
from tests.toolsets.truth.kit import NOWHERE, a_desk

pytestmark = pytest.mark.anyio


async def test_more_entities_than_are_found_under_one_name_are_told() -> None:
    desk = a_desk()
    people = [
        {"entity_type": "person", "name": "Ada", "email": f"a{n}@ada.test"} for n in range(101)
    ]
    await desk.ingest(*people[:100])
    whole = await desk.call("get_entity_by_identifier", identifier="Ada", limit=100)
    assert (whole["total"], whole["truncated"]) == (100, False)
    await desk.ingest(people[100])
    part = await desk.call("get_entity_by_identifier", identifier="Ada", limit=100)
    assert (len(part["entities"]), part["truncated"]) == (100, True)


async def test_many_types_are_counted_and_the_first_are_listed() -> None:
    desk = a_desk()
    await desk.ingest(*({"entity_type": f"kind {n:04}", "name": "x"} for n in range(1_010)))
    types = await desk.call("list_entity_types", limit=1_000)
    assert len(types["entity_types"]) == types["next_offset"] == 1_000
    assert types["total"] > 1_010
    schemas = await desk.call("list_entity_schemas")
    assert (len(schemas["schemas"]), schemas["total"]) == (1_000, types["total"])


async def test_the_newest_of_very_many_versions_is_in_force() -> None:
    desk = a_desk()
    for number in range(1_002):
        reply = await desk.call(
            "register_entity_schema",
            user_id=desk.user,
            entity_type="gadget",
            fields={"name": {"type": "string"}, f"field_{number}": {"type": "number"}},
        )
    thing = await desk.entity("gadget", name="A", field_1001=5)
    shown = await desk.call("get_entity_snapshot", entity_id=thing)
    assert shown["schema_version"] == reply["schema_version"]
    assert shown["snapshot"]["field_1001"] == 5


async def test_a_file_for_a_source_that_is_not_there_is_not_kept(tmp_path: Path) -> None:
    desk = a_desk()
    await desk.ingest({"entity_type": "note", "title": "x", "content": "y"})
    filing_of(desk.canon).local = FolderLocalFiles((tmp_path,))
    (tmp_path / "note.txt").write_text("Dear Ada, words.")
    arguments = {"file_path": "note.txt", "source_material_id": NOWHERE}
    await desk.refused("upload_file", "SOURCE_NOT_FOUND", **arguments)
    assert await filing_of(desk.canon).blobs_of(desk.user).list_digests(limit=9) == []
    told = {"file_path": "note.txt", "properties": "[]"}
    await desk.refused("upload_file", "VALIDATION_ERROR", **told)


@pytest.mark.parametrize(
    "said",
    [
        *('{"a": NaN}', '{"a": 1e999}', r'{"a": "\ud800"}', r'{"a": "\u0000"}', r'{"\ud800": 1}'),
        *("[" * 100_000, '{"a": ' + "9" * 5_000 + "}", '{"entity_type": 5, "a": 1}'),
        *('{"a": ' + "[" * 40 + "]" * 40 + "}", json.dumps({"a": "x" * 1_000_001})),
    ],
)
async def test_what_cannot_be_kept_is_refused_inside_of_a_text_as_well(
    said: str, tmp_path: Path
) -> None:
    desk = a_desk()
    await desk.ingest({"entity_type": "note", "title": "x", "content": "y"})
    filing_of(desk.canon).local = FolderLocalFiles((tmp_path,))
    (tmp_path / "thing.txt").write_text("Words.")
    told = {"file_path": "thing.txt", "properties": said}
    error = await desk.refused("upload_file", "VALIDATION_ERROR", **told)
    assert error["details"]["path"].startswith("/properties")
    assert await filing_of(desk.canon).blobs_of(desk.user).list_digests(limit=9) == []


async def test_the_path_of_a_fault_leads_to_where_it_stands() -> None:
    desk = a_desk()
    note = {"entity_type": "note", "content": "x"}
    for when in ("31.02.2025", "2025-02-31"):
        origin = {"extracted_at": when, "extractor_version": "1"}
        error = await desk.refused(
            "ingest", "VALIDATION_ERROR", user_id=desk.user, entities=[note], provenance=origin
        )
        assert error["details"]["path"] == "/provenance/extracted_at"


async def test_a_record_holds_a_million_characters() -> None:
    desk = a_desk()
    await desk.ingest({"entity_type": "note", "title": "x", "content": "y" * 999_999})
    for content in ("y" * 1_000_001, ["y" * 500_000, {"z": "y" * 500_001}]):
        record = {"entity_type": "letter", "content": content}
        error = await desk.refused(
            "ingest", "VALIDATION_ERROR", user_id=desk.user, entities=[record]
        )
        assert error["details"]["reason"] == "record.too-long"


async def test_a_list_that_no_client_could_take_is_refused_with_advice() -> None:
    desk = a_desk()
    for number in range(17):
        await desk.ingest({"entity_type": "letter", "name": f"{number}", "text": "x" * 990_000})
    error = await desk.refused("retrieve_entities", "VALIDATION_ERROR", include_snapshots=True)
    assert error["details"]["reason"] == "limits.reply"
    assert "limit" in error["message"]
    few = await desk.call("retrieve_entities", limit=5, include_snapshots=True)
    names = await desk.call("retrieve_entities", include_snapshots=False)
    assert (len(few["entities"]), len(names["entities"])) == (5, 17)


@pytest.mark.parametrize(
    ("content", "mime_type", "cause"),
    [
        ("name,email\n" + "ada,ada@x.test\n" * 100_001, "text/csv", "document.too-large"),
        ("name,email,notes\na,b@x.test," + "n" * 1_000_001, "text/csv", "record.too-long"),
        (json.dumps([{"k" * 201: 1}]), "application/json", "record.field-name"),
        (json.dumps([dict.fromkeys(map(str, range(501)), 1)]), "application/json", "record.fields"),
    ],
)
async def test_a_file_whose_records_cannot_be_kept_is_kept_itself(
    content: str, mime_type: str, cause: str
) -> None:
    desk = a_desk()
    outcome = await desk.outcome(
        "ingest",
        {
            "user_id": desk.user,
            "file_content": base64.b64encode(content.encode()).decode(),
            "mime_type": mime_type,
            "original_filename": "contacts",
        },
    )
    error = outcome.body["error"]
    code = "FILE_TOO_LARGE" if cause == "document.too-large" else "VALIDATION_ERROR"
    assert (error["code"], error["details"]["reason"]) == (code, cause)
    assert not error["details"]["retryable"]
    source = error["details"]["source_id"]
    kept = await desk.call("get_graph_neighborhood", node_id=source, node_type="source")
    assert kept["node_id"] == source
