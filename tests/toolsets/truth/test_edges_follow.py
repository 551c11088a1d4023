"""Edges that records made follow the fields that made them; those of merged entities are one."""

from base64 import b64encode
from itertools import permutations
from typing import Any

import pytest

from tests.toolsets.truth.kit import ToolDriver, an_invoice, make_driver

pytestmark = pytest.mark.anyio


async def refers_to(driver: ToolDriver, entity_id: str) -> list[str]:
    """Return the names of the entities to which an entity refers; all tools agree on them."""
    listed = await driver.call("list_relationships", entity_id=entity_id, direction="outbound")
    ids = sorted(each["target_entity_id"] for each in listed["relationships"])
    assert listed["total"] == len(ids)
    related = await driver.call("get_related_entities", entity_id=entity_id, direction="outbound")
    assert sorted(each["id"] for each in related["entities"]) == ids
    assert related["total_relationships"] == len(ids)
    return sorted(str(each["canonical_name"]) for each in related["entities"])


CONTACT = {"entity_type": "contact", "name": "Ann Lee", "email": "ann@lee.test"}


async def test_a_moving_contact_refers_only_to_its_new_company() -> None:
    driver = make_driver()
    contact = await driver.entity(**CONTACT, organization="Alpha Ltd")
    assert await refers_to(driver, contact) == ["Alpha Ltd"]
    await driver.ingest({**CONTACT, "organization": "Beta Ltd"})
    assert await refers_to(driver, contact) == ["Beta Ltd"]
    await driver.ingest({**CONTACT, "organization": "ALPHA Ltd.", "role": "cook"})
    assert await refers_to(driver, contact) == ["Alpha Ltd"]
    await driver.ingest({**CONTACT, "phone": "+4930123456"})
    assert await refers_to(driver, contact) == ["Alpha Ltd"]


async def test_a_corrected_vendor_removes_the_edge_to_the_wrong_one() -> None:
    driver = make_driver()
    invoice = await driver.entity(**an_invoice(vendor_name="Alpha Ltd", customer_name="Carl GmbH"))
    await driver.correct(invoice, "vendor_name", "Beta Ltd")
    assert await refers_to(driver, invoice) == ["Beta Ltd", "Carl GmbH"]
    companies = await driver.call("retrieve_entities", entity_type="company")
    assert companies["total"] == 3
    await driver.correct(invoice, "vendor_name", "Alpha Ltd")
    assert await refers_to(driver, invoice) == ["Alpha Ltd", "Carl GmbH"]
    await driver.correct(invoice, "vendor_name", None)
    assert await refers_to(driver, invoice) == ["Carl GmbH"]


async def test_an_entity_named_by_another_field_keeps_its_edge() -> None:
    driver = make_driver()
    invoice = await driver.entity(**an_invoice(vendor_name="Alpha Ltd", customer_name="Alpha Ltd"))
    await driver.correct(invoice, "vendor_name", "Beta Ltd")
    assert await refers_to(driver, invoice) == ["Alpha Ltd", "Beta Ltd"]


async def test_an_edge_requested_by_the_user_stays() -> None:
    driver = make_driver()
    contact = await driver.entity(**CONTACT, organization="Alpha Ltd")
    (alpha,) = (await driver.call("retrieve_entities", entity_type="company"))["entities"]
    assert (await driver.relate(contact, "REFERS_TO", alpha["id"]))["existing"]
    await driver.ingest({**CONTACT, "organization": "Beta Ltd"})
    assert await refers_to(driver, contact) == ["Alpha Ltd", "Beta Ltd"]


async def test_an_ended_edge_can_be_requested_again() -> None:
    driver = make_driver()
    contact = await driver.entity(**CONTACT, organization="Alpha Ltd")
    (alpha,) = (await driver.call("retrieve_entities", entity_type="company"))["entities"]
    await driver.ingest({**CONTACT, "organization": "Beta Ltd"})
    asked = await driver.relate(contact, "REFERS_TO", alpha["id"])
    assert not asked["existing"]
    await driver.ingest({**CONTACT, "organization": "Gamma Ltd"})
    assert await refers_to(driver, contact) == ["Alpha Ltd", "Gamma Ltd"]


async def test_the_current_value_of_two_in_one_source_has_the_edge() -> None:
    driver = make_driver()
    one, other = [{**CONTACT, "organization": name} for name in ("Alpha Ltd", "Beta Ltd")]
    reply = await driver.ingest(one, other)
    contact = reply["entities"][0]["entity_id"]
    assert await refers_to(driver, contact) == ["Beta Ltd"]


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_edges_do_not_depend_on_the_order_of_arrival(order: tuple[int, ...]) -> None:
    driver = make_driver()
    names = ("Alpha Ltd", "Beta Ltd", "Gamma Ltd")
    for place in order:
        provenance = {"extracted_at": f"2020-01-0{place + 1}", "extractor_version": "1"}
        record = {**CONTACT, "organization": names[place]}
        reply = await driver.ingest(record, provenance=provenance)
    contact = reply["entities"][0]["entity_id"]
    assert (await driver.snapshot(contact))["organization"] == "Gamma Ltd"
    assert await refers_to(driver, contact) == ["Gamma Ltd"]


async def test_a_file_imported_again_restores_its_edge() -> None:
    driver = make_driver()
    table = "name,email,organization\nAnn Lee,ann@lee.test,Alpha Ltd\n"
    file = {"file_content": b64encode(table.encode()).decode(), "mime_type": "text/csv"}
    first = await driver.call(
        "ingest", user_id=driver.user, original_filename="contacts.csv", **file
    )
    (contact,) = [each["entity_id"] for each in first["entities"]]
    assert await refers_to(driver, contact) == ["Alpha Ltd"]
    driver.wait()
    await driver.correct(contact, "role", "cook")
    kind = first["entities"][0]["entity_type"]
    await driver.ingest({**CONTACT, "entity_type": kind, "organization": "Beta Ltd"})
    assert await refers_to(driver, contact) == ["Beta Ltd"]
    driver.wait()
    again = await driver.call(
        "ingest", user_id=driver.user, original_filename="contacts.csv", **file
    )
    assert again["observations_added"] == 1
    assert await refers_to(driver, contact) == ["Alpha Ltd"]


async def test_parallel_edges_of_a_merged_pair_are_one() -> None:
    driver = make_driver()
    a, b, x, y = [await driver.entity("task", title=title) for title in "abxy"]
    first = await driver.relate(a, "DEPENDS_ON", x, metadata={"why": "first", "who": "a"})
    await driver.relate(b, "DEPENDS_ON", x, metadata={"why": "second"})
    await driver.relate(a, "REFERS_TO", x)
    await driver.merge(b, a)
    listed = await driver.call("list_relationships", entity_id=a)
    assert listed["total"] == 2
    (edge,) = [e for e in listed["relationships"] if e["relationship_type"] == "DEPENDS_ON"]
    assert edge["id"] == first["id"]
    assert edge["metadata"] == {"why": "second", "who": "a"}
    ends = {"source_entity_id": b, "target_entity_id": x}
    reply = await driver.call("get_relationship_snapshot", relationship_type="DEPENDS_ON", **ends)
    assert (reply["snapshot"], reply["observation_count"]) == (edge["metadata"], 2)
    assert (await driver.call("list_relationships", entity_id=x))["total"] == 2
    around = await driver.call("get_graph_neighborhood", node_id=a, node_type="entity")
    assert len(around["relationships"]) == 2
    await driver.relate(a, "DEPENDS_ON", y)
    await driver.merge(y, x)
    assert await refers_to_types(driver, a) == ["DEPENDS_ON", "REFERS_TO"]
    assert await refers_to_types(driver, x) == ["DEPENDS_ON", "REFERS_TO"]


async def refers_to_types(driver: ToolDriver, entity_id: str) -> list[str]:
    """The types of an entity's edges, of which every way of asking tells the same."""
    listed = await driver.call("list_relationships", entity_id=entity_id)
    related = await driver.call("get_related_entities", entity_id=entity_id)
    assert listed["total"] == related["total_relationships"]
    return sorted(each["relationship_type"] for each in listed["relationships"])


async def test_a_merge_that_closes_a_cycle_reports_it() -> None:
    driver = make_driver()
    a, b, x = [await driver.entity("task", title=title) for title in "abx"]
    await driver.relate(a, "DEPENDS_ON", x)
    await driver.relate(x, "DEPENDS_ON", b)
    await driver.relate(x, "REFERS_TO", a)
    merged = await driver.merge(a, b)
    (warning,) = merged["warnings"]
    assert warning["code"] == "relationship.cycle"
    assert "DEPENDS_ON" in warning["message"]
    assert "undo the merge" in warning["message"]
    driver.wait()
    await driver.call("unmerge_entities", user_id=driver.user, entity_id=a)
    other = await driver.entity("task", title="other")
    assert "warnings" not in await driver.merge(other, a)


async def test_an_edge_between_merged_entities_is_no_cycle_of_others() -> None:
    driver = make_driver()
    a, b = [await driver.entity("task", title=title) for title in "ab"]
    await driver.relate(a, "DEPENDS_ON", b)
    (warning,) = (await driver.merge(a, b))["warnings"]
    assert warning["code"] == "relationship.cycle"
    assert (await driver.call("list_relationships", entity_id=b))["total"] == 0


async def test_a_credit_note_corrects_its_invoice_until_it_names_another() -> None:
    driver = make_driver()
    one = await driver.entity(**an_invoice("R-10"))
    other = await driver.entity(**an_invoice("R-11"))
    note: dict[str, Any] = {"entity_type": "credit_note", "credit_note_number": "G-3", "amount": 5}
    credit = await driver.entity(**note, invoice_reference="R-10")
    kinds = []
    for named in ("R-10", "R-11"):
        await driver.ingest({**note, "invoice_reference": named})
        listed = await driver.call("list_relationships", entity_id=credit, direction="outbound")
        kinds.append(
            {(e["relationship_type"], e["target_entity_id"]) for e in listed["relationships"]}
        )

    assert kinds == [{("REFERS_TO", invoice), ("CORRECTS", invoice)} for invoice in (one, other)]
