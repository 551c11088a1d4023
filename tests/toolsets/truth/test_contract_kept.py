"""The server keeps the contract on times, types, files and priorities, finding by finding."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from canonry.app.packages import TOOLSETS, load_toolsets
from canonry.records.toolset import TRUTH
from canonry.records.toolset.contract import entries
from canonry.records.usecases.files import filing_of
from canonry.server.binding import tool_entry
from canonry.stores.folder import FolderLocalFiles
from tests.adapters.readers.paper import a_pdf
from tests.docs.markdown import ROOT
from tests.toolsets.truth.kit import an_invoice, make_driver

pytestmark = pytest.mark.anyio

TASK = {"entity_type": "task", "title": "Write", "status": "open"}


def provenance_at(at: str) -> dict[str, Any]:
    """Return the provenance of records that were read at a time."""
    return {"provenance": {"extracted_at": at, "extractor_version": "1"}}


@pytest.mark.parametrize("at", ["2999-01-01", "2999-01-01T00:00:00Z"])
async def test_an_observation_from_the_future_is_refused(at: str) -> None:
    driver = make_driver()
    arguments = {"user_id": driver.user, "entities": [TASK], **provenance_at(at)}
    error = await driver.refused("ingest", "VALIDATION_ERROR", **arguments)
    assert error["details"]["reason"] == "time.future"
    assert error["details"]["path"] == "/provenance/extracted_at"


async def test_a_clock_that_is_a_little_ahead_is_accepted() -> None:
    driver = make_driver()
    reply = await driver.ingest(TASK, **provenance_at("2025-01-15T00:01:30Z"))
    assert reply["observations_added"] == 1


@pytest.mark.parametrize("attached", [False, True])
async def test_records_cannot_be_interpreted_again(tmp_path: Path, attached: bool) -> None:
    driver = make_driver()
    source = (await driver.ingest(TASK))["source_id"]
    if attached:
        filing_of(driver.canon).local = FolderLocalFiles((tmp_path,))
        (tmp_path / "a.txt").write_text("Invoice Number: INV-7", encoding="utf-8")
        await driver.call("upload_file", file_path="a.txt", source_material_id=source)
    config = {"provider": "rules", "code_version": "2"}
    arguments = {"source_id": source, "interpretation_config": config}
    error = await driver.refused("reinterpret", "VALIDATION_ERROR", **arguments)
    assert error["details"]["reason"] == "interpretation.no-file"


@pytest.mark.parametrize(
    ("content", "kind", "reason"),
    [
        (lambda: a_pdf("x", password="sesame"), "pdf", "document.encrypted"),
        (lambda: a_pdf("x")[:200], "pdf", "document.damaged"),
        (lambda: b"[1,", "json", "document.damaged"),
    ],
    ids=["encrypted", "cut off", "no JSON"],
)
async def test_an_unreadable_file_is_kept_and_not_tried_again(
    content: Any, kind: str, reason: str
) -> None:
    driver = make_driver()
    data = base64.b64encode(content()).decode()
    arguments = {"file_content": data, "mime_type": f"application/{kind}"}
    outcome = await driver.outcome("ingest", {"user_id": driver.user, **arguments})
    error = outcome.body["error"]
    assert (error["code"], error["http_status"]) == ("VALIDATION_ERROR", 400)
    assert (error["details"]["reason"], error["details"]["retryable"]) == (reason, False)
    source = error["details"]["source_id"]
    kept = await driver.call("get_graph_neighborhood", node_id=source, node_type="source")
    assert kept["node_id"] == source


async def test_repeated_content_with_more_weight_is_recorded_with_it() -> None:
    driver = make_driver()
    first = await driver.ingest({"entity_type": "person", "name": "Ann", "external_id": "1"})
    ann = first["entities"][0]["entity_id"]
    again = {"entity_type": "person", "name": "Anna", "external_id": "1"}
    await driver.ingest(again, source_priority=500)
    assert (await driver.snapshot(ann))["name"] == "Anna"
    weighty = await driver.ingest(
        {"entity_type": "person", "name": "Ann", "external_id": "1"}, source_priority=600
    )
    assert (weighty["deduplicated"], weighty["observations_added"]) == (True, 1)
    assert (await driver.snapshot(ann))["name"] == "Ann"
    third = await driver.ingest(
        {"entity_type": "person", "name": "Ann", "external_id": "1"}, source_priority=600
    )
    assert (third["observations_added"], third["warnings"]) == (0, [])


async def test_repeated_content_with_less_weight_keeps_its_own() -> None:
    driver = make_driver()
    await driver.ingest(TASK, source_priority=500)
    again = await driver.ingest(TASK, source_priority=5)
    assert again["observations_added"] == 0
    (warning,) = again["warnings"]
    assert (warning["code"], warning["path"]) == ("source.priority-kept", "/source_priority")
    assert "500" in warning["message"]


async def test_the_default_priority_is_advertised_and_applies() -> None:
    said = entries()["ingest"]["input"]["properties"]["source_priority"]
    assert said["description"] == "0 to 999; 100 unless given"
    driver = make_driver()
    task = await driver.entity(**TASK)
    listed = await driver.call("list_observations", entity_id=task)
    assert [each["source_priority"] for each in listed["observations"]] == [100]


FEATURE = {
    "entity_type": "feature_unit",
    "id": "FU-7",
    "description": "Something",
    "status": "planning",
    "created_at": "2025-01-02",
    "updated_at": "2025-01-03",
}
SESSION = {"entity_type": "agent_session", "session_id": "s", "actions": []}
DECISION = {"entity_type": "agent_decision", "timestamp": "2025-01-02"}


@pytest.mark.parametrize(
    ("record", "field", "reason"),
    [
        ({**FEATURE, "id": "F7"}, "id", "not_of_pattern"),
        ({**FEATURE, "updated_at": "2025-01-01"}, "updated_at", "before_created_at"),
        ({**FEATURE, "risk_level": "dire"}, "risk_level", "not_a_choice"),
        (
            {"entity_type": "release", "id": "1.2", "status": "planning", "version": "1"},
            "id",
            "not_of_pattern",
        ),
        (
            {**SESSION, "started_at": "2025-01-02", "ended_at": "2025-01-01"},
            "ended_at",
            "before_started_at",
        ),
        ({**DECISION, "decision": "No.", "rationale": "x" * 10}, "decision", "not_of_pattern"),
        ({**DECISION, "decision": "x" * 10, "rationale": "Why"}, "rationale", "not_of_pattern"),
        ({"entity_type": "codebase_entity", "name": "a", "kind": "api"}, "name", "not_of_pattern"),
    ],
)
async def test_values_outside_a_pattern_or_range_are_kept_and_reported(
    record: dict[str, Any], field: str, reason: str
) -> None:
    driver = make_driver()
    reply = await driver.ingest(record)
    found = {each["path"].rsplit("/", 1)[-1]: each["code"] for each in reply["warnings"]}
    assert found[field] == f"field.{reason.replace('_', '-')}"
    entity = reply["entities"][0]["entity_id"]
    shown = await driver.call("get_entity_snapshot", entity_id=entity)
    assert field not in shown["snapshot"]
    fragment = shown["raw_fragments"][field]
    assert (fragment["value"], fragment["reason"]) == (record[field], reason)


async def test_values_within_the_patterns_are_accepted() -> None:
    driver = make_driver()
    reply = await driver.ingest(
        FEATURE,
        {**SESSION, "started_at": "2025-01-02", "ended_at": "2025-01-02"},
        {**DECISION, "decision": "Use two pages", "rationale": "They fit it best"},
        {"entity_type": "release", "id": "v1.20.3", "version": "1.20.3", "status": "planning"},
    )
    assert not [w for w in reply["warnings"] if w["code"] != "field.missing"]


@pytest.mark.parametrize(
    ("record", "field", "value"),
    [
        (FEATURE, "id", "F-7"),
        (FEATURE, "updated_at", "2025-01-01"),
        (FEATURE, "created_at", "2025-01-04"),
    ],
)
async def test_a_correction_obeys_the_patterns_too(
    record: dict[str, Any], field: str, value: str
) -> None:
    driver = make_driver()
    entity = await driver.entity(**record)
    arguments = {"user_id": driver.user, "entity_id": entity, "entity_type": "feature_unit"}
    error = await driver.refused(
        "correct", "VALIDATION_ERROR", field=field, value=value, **arguments
    )
    assert error["details"]["reason"] == "correction.value"
    assert (await driver.snapshot(entity))[field] == record[field]


def test_every_tool_states_the_consistency_of_its_reply() -> None:
    for tool in TRUTH.tools:
        said = tool_entry(tool, TRUTH)["_meta"]["dev.canonry/consistency"]
        assert said == entries()[tool.name]["consistency"] == "strong"


def test_the_reference_lists_consistency_and_determinism_of_every_tool() -> None:
    page = (ROOT / "docs" / "reference" / "tools.md").read_text(encoding="utf-8")
    lines = {line.split("`")[1]: line for line in page.splitlines() if line.startswith("| `")}
    for name, entry in entries().items():
        reported = f"{entry['consistency']}, " + ("" if entry["deterministic"] else "not ")
        assert f"{reported}deterministic" in lines[name]
    others = [each for each in load_toolsets(TOOLSETS) if each.name == "narrative"]
    narrative = others[0]
    listed = [tool_entry(tool, narrative) for tool in narrative.tools]
    assert all("consistency" not in str(each.get("_meta")) for each in listed)


async def test_the_plural_of_a_type_is_no_second_one() -> None:
    driver = make_driver()
    one = await driver.entity(**an_invoice("INV-1"))
    assert await driver.entity(**{**an_invoice("inv\u00ad-1"), "entity_type": "Invoices"}) == one
    types = (await driver.call("list_entity_types"))["entity_types"]
    assert [t["entity_type"] for t in types if t["entity_count"]] == ["invoice"]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Running", "frequency": "daily", "streak": 3}',
        '{"domain_name": "example.com", "registrar": "Acme"}',
        '{"liability": "Mortgage", "balance": 100000, "lender": "Acme Bank"}',
        '{"process": "Onboarding", "steps": ["one", "two"]}',
        '{"strategy": "Growth", "goals": ["more"]}',
    ],
)
async def test_an_object_of_an_unknown_type_is_taken_for_no_other(text: str) -> None:
    driver = make_driver()
    data = base64.b64encode(text.encode()).decode()
    reply = await driver.call(
        "ingest", user_id=driver.user, file_content=data, mime_type="application/json"
    )
    (entity,) = reply["entities"]
    assert entity["entity_type"].startswith("record_")
    assert entity["explain"] == ["no type fits"]
    assert await driver.snapshot(entity["entity_id"]) == json.loads(text)
