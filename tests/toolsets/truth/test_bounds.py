"""Bounds: a list that is cut off says so, and a refused call leaves nothing behind."""

import base64
import json
from pathlib import Path

import pytest

from canonry.records.usecases.files import filing_of
from canonry.stores.folder import FolderLocalFiles
from tests.toolsets.truth.kit import NOWHERE, make_driver

pytestmark = pytest.mark.anyio


async def test_too_many_entities_under_one_name_are_reported() -> None:
    driver = make_driver()
    people = [
        {"entity_type": "person", "name": "Ada", "email": f"a{n}@ada.test"} for n in range(101)
    ]
    await driver.ingest(*people[:100])
    whole = await driver.call("get_entity_by_identifier", identifier="Ada", limit=100)
    assert (whole["total"], whole["truncated"]) == (100, False)
    await driver.ingest(people[100])
    part = await driver.call("get_entity_by_identifier", identifier="Ada", limit=100)
    assert (len(part["entities"]), part["truncated"]) == (100, True)


async def test_many_types_are_counted_and_the_first_are_listed() -> None:
    driver = make_driver()
    await driver.ingest(*({"entity_type": f"kind {n:04}", "name": "x"} for n in range(1_010)))
    types = await driver.call("list_entity_types", limit=1_000)
    assert len(types["entity_types"]) == types["next_offset"] == 1_000
    assert types["total"] > 1_010
    schemas = await driver.call("list_entity_schemas")
    assert (len(schemas["schemas"]), schemas["total"]) == (1_000, types["total"])


async def test_the_newest_of_very_many_versions_applies() -> None:
    driver = make_driver()
    for number in range(1_002):
        reply = await driver.call(
            "register_entity_schema",
            user_id=driver.user,
            entity_type="gadget",
            fields={"name": {"type": "string"}, f"field_{number}": {"type": "number"}},
        )
    item = await driver.entity("gadget", name="A", field_1001=5)
    shown = await driver.call("get_entity_snapshot", entity_id=item)
    assert shown["schema_version"] == reply["schema_version"]
    assert shown["snapshot"]["field_1001"] == 5


async def test_a_file_for_a_missing_source_is_not_kept(tmp_path: Path) -> None:
    driver = make_driver()
    await driver.ingest({"entity_type": "note", "title": "x", "content": "y"})
    filing_of(driver.canon).local = FolderLocalFiles((tmp_path,))
    (tmp_path / "note.txt").write_text("Dear Ada, words.")
    arguments = {"file_path": "note.txt", "source_material_id": NOWHERE}
    await driver.refused("upload_file", "SOURCE_NOT_FOUND", **arguments)
    assert await filing_of(driver.canon).blobs_of(driver.user).list_digests(limit=9) == []
    given = {"file_path": "note.txt", "properties": "[]"}
    await driver.refused("upload_file", "VALIDATION_ERROR", **given)


@pytest.mark.parametrize(
    "said",
    [
        *('{"a": NaN}', '{"a": 1e999}', r'{"a": "\ud800"}', r'{"a": "\u0000"}', r'{"\ud800": 1}'),
        *("[" * 100_000, '{"a": ' + "9" * 5_000 + "}", '{"entity_type": 5, "a": 1}'),
        *('{"a": ' + "[" * 40 + "]" * 40 + "}", json.dumps({"a": "x" * 1_000_001})),
    ],
)
async def test_unstorable_values_inside_a_text_are_refused_too(said: str, tmp_path: Path) -> None:
    driver = make_driver()
    await driver.ingest({"entity_type": "note", "title": "x", "content": "y"})
    filing_of(driver.canon).local = FolderLocalFiles((tmp_path,))
    (tmp_path / "thing.txt").write_text("Words.")
    arguments = {"file_path": "thing.txt", "properties": said}
    error = await driver.refused("upload_file", "VALIDATION_ERROR", **arguments)
    assert error["details"]["path"].startswith("/properties")
    assert await filing_of(driver.canon).blobs_of(driver.user).list_digests(limit=9) == []


async def test_the_path_of_an_error_names_its_position() -> None:
    driver = make_driver()
    note = {"entity_type": "note", "content": "x"}
    for when in ("31.02.2025", "2025-02-31"):
        origin = {"extracted_at": when, "extractor_version": "1"}
        error = await driver.refused(
            "ingest", "VALIDATION_ERROR", user_id=driver.user, entities=[note], provenance=origin
        )
        assert error["details"]["path"] == "/provenance/extracted_at"


async def test_a_record_holds_a_million_characters() -> None:
    driver = make_driver()
    await driver.ingest({"entity_type": "note", "title": "x", "content": "y" * 999_999})
    for content in ("y" * 1_000_001, ["y" * 500_000, {"z": "y" * 500_001}]):
        record = {"entity_type": "letter", "content": content}
        error = await driver.refused(
            "ingest", "VALIDATION_ERROR", user_id=driver.user, entities=[record]
        )
        assert error["details"]["reason"] == "record.too-long"


async def test_an_oversized_list_is_refused_with_advice() -> None:
    driver = make_driver()
    for number in range(17):
        await driver.ingest({"entity_type": "letter", "name": f"{number}", "text": "x" * 990_000})
    error = await driver.refused("retrieve_entities", "VALIDATION_ERROR", include_snapshots=True)
    assert error["details"]["reason"] == "limits.reply"
    assert "limit" in error["message"]
    few = await driver.call("retrieve_entities", limit=5, include_snapshots=True)
    names = await driver.call("retrieve_entities", include_snapshots=False)
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
async def test_a_file_with_unstorable_records_is_kept_itself(
    content: str, mime_type: str, cause: str
) -> None:
    driver = make_driver()
    outcome = await driver.outcome(
        "ingest",
        {
            "user_id": driver.user,
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
    kept = await driver.call("get_graph_neighborhood", node_id=source, node_type="source")
    assert kept["node_id"] == source
