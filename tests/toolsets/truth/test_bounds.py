"""Bounds: a list that is cut off says so, and a refused call leaves nothing behind."""

from pathlib import Path

import pytest

from canonry.adapters.folder import FolderLocalFiles
from tests.toolsets.truth.kit import NOWHERE, a_desk

pytestmark = pytest.mark.anyio


async def test_more_entities_than_are_found_under_one_name_are_told() -> None:
    desk = a_desk()
    people = [
        {"entity_type": "person", "name": "Ada", "email": f"a{n}@ada.test"} for n in range(101)
    ]
    await desk.ingest(*people[:100])
    whole = await desk.call("get_entity_by_identifier", identifier="Ada")
    assert (whole["total"], whole["truncated"]) == (100, False)
    await desk.ingest(people[100])
    part = await desk.call("get_entity_by_identifier", identifier="Ada")
    assert (len(part["entities"]), part["truncated"]) == (100, True)


async def test_many_types_are_counted_and_the_first_are_listed() -> None:
    desk = a_desk()
    await desk.ingest(*({"entity_type": f"kind {n:04}", "name": "x"} for n in range(1_010)))
    types = await desk.call("list_entity_types")
    assert len(types["entity_types"]) == 1_000
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
    assert desk.canon.filing is not None
    desk.canon.filing.local = FolderLocalFiles((tmp_path,))
    (tmp_path / "note.txt").write_text("Dear Ada, words.")
    arguments = {"file_path": "note.txt", "source_material_id": NOWHERE}
    await desk.refused("upload_file", "SOURCE_NOT_FOUND", **arguments)
    assert await desk.canon.filing.blobs_of(desk.user).digests(limit=9) == []
    told = {"file_path": "note.txt", "properties": "[]"}
    await desk.refused("upload_file", "VALIDATION_ERROR", **told)
