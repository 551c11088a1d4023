"""Edges that records made follow the fields that made them; those of merged entities are one."""

from base64 import b64encode
from itertools import permutations
from typing import Any

import pytest

from tests.toolsets.truth.kit import Desk, a_desk, an_invoice

pytestmark = pytest.mark.anyio


async def refers_to(desk: Desk, entity_id: str) -> list[str]:
    """How those are called to whom edges lead from an entity, however that is asked."""
    listed = await desk.call("list_relationships", entity_id=entity_id, direction="outbound")
    ids = sorted(each["target_entity_id"] for each in listed["relationships"])
    assert listed["total"] == len(ids)
    related = await desk.call("get_related_entities", entity_id=entity_id, direction="outbound")
    assert sorted(each["id"] for each in related["entities"]) == ids
    assert related["total_relationships"] == len(ids)
    return sorted(str(each["canonical_name"]) for each in related["entities"])


CONTACT = {"entity_type": "contact", "name": "Ann Lee", "email": "ann@lee.test"}


async def test_t14_a_contact_that_moves_refers_to_its_new_company_alone() -> None:
    desk = a_desk()
    contact = await desk.entity(**CONTACT, organization="Alpha Ltd")
    assert await refers_to(desk, contact) == ["Alpha Ltd"]
    await desk.ingest({**CONTACT, "organization": "Beta Ltd"})
    assert await refers_to(desk, contact) == ["Beta Ltd"]
    await desk.ingest({**CONTACT, "organization": "ALPHA Ltd.", "role": "cook"})
    assert await refers_to(desk, contact) == ["Alpha Ltd"]
    await desk.ingest({**CONTACT, "phone": "+4930123456"})
    assert await refers_to(desk, contact) == ["Alpha Ltd"]


async def test_t14_a_corrected_vendor_takes_the_edge_of_the_wrong_one() -> None:
    desk = a_desk()
    invoice = await desk.entity(**an_invoice(vendor_name="Alpha Ltd", customer_name="Carl GmbH"))
    await desk.correct(invoice, "vendor_name", "Beta Ltd")
    assert await refers_to(desk, invoice) == ["Beta Ltd", "Carl GmbH"]
    companies = await desk.call("retrieve_entities", entity_type="company")
    assert companies["total"] == 3
    await desk.correct(invoice, "vendor_name", "Alpha Ltd")
    assert await refers_to(desk, invoice) == ["Alpha Ltd", "Carl GmbH"]
    await desk.correct(invoice, "vendor_name", None)
    assert await refers_to(desk, invoice) == ["Carl GmbH"]


async def test_t14_whoever_is_named_by_another_field_still_is_referred_to() -> None:
    desk = a_desk()
    invoice = await desk.entity(**an_invoice(vendor_name="Alpha Ltd", customer_name="Alpha Ltd"))
    await desk.correct(invoice, "vendor_name", "Beta Ltd")
    assert await refers_to(desk, invoice) == ["Alpha Ltd", "Beta Ltd"]


async def test_t14_an_edge_that_the_user_asked_for_stays() -> None:
    desk = a_desk()
    contact = await desk.entity(**CONTACT, organization="Alpha Ltd")
    (alpha,) = (await desk.call("retrieve_entities", entity_type="company"))["entities"]
    assert (await desk.relate(contact, "REFERS_TO", alpha["id"]))["existing"]
    await desk.ingest({**CONTACT, "organization": "Beta Ltd"})
    assert await refers_to(desk, contact) == ["Alpha Ltd", "Beta Ltd"]


async def test_t14_an_edge_that_has_ended_can_be_asked_for_again() -> None:
    desk = a_desk()
    contact = await desk.entity(**CONTACT, organization="Alpha Ltd")
    (alpha,) = (await desk.call("retrieve_entities", entity_type="company"))["entities"]
    await desk.ingest({**CONTACT, "organization": "Beta Ltd"})
    asked = await desk.relate(contact, "REFERS_TO", alpha["id"])
    assert not asked["existing"]
    await desk.ingest({**CONTACT, "organization": "Gamma Ltd"})
    assert await refers_to(desk, contact) == ["Alpha Ltd", "Gamma Ltd"]


async def test_t14_of_two_words_in_one_source_the_one_that_stands_has_the_edge() -> None:
    desk = a_desk()
    one, other = [{**CONTACT, "organization": name} for name in ("Alpha Ltd", "Beta Ltd")]
    reply = await desk.ingest(one, other)
    contact = reply["entities"][0]["entity_id"]
    assert await refers_to(desk, contact) == ["Beta Ltd"]


@pytest.mark.parametrize("order", list(permutations(range(3))))
async def test_t14_edges_do_not_depend_on_the_order_of_arrival(order: tuple[int, ...]) -> None:
    desk = a_desk()
    names = ("Alpha Ltd", "Beta Ltd", "Gamma Ltd")
    for place in order:
        provenance = {"extracted_at": f"2020-01-0{place + 1}", "extractor_version": "1"}
        record = {**CONTACT, "organization": names[place]}
        reply = await desk.ingest(record, provenance=provenance)
    contact = reply["entities"][0]["entity_id"]
    assert (await desk.snapshot(contact))["organization"] == "Gamma Ltd"
    assert await refers_to(desk, contact) == ["Gamma Ltd"]


async def test_t14_a_file_that_is_brought_again_takes_its_edge_back() -> None:
    desk = a_desk()
    table = "name,email,organization\nAnn Lee,ann@lee.test,Alpha Ltd\n"
    file = {"file_content": b64encode(table.encode()).decode(), "mime_type": "text/csv"}
    first = await desk.call("ingest", user_id=desk.user, original_filename="contacts.csv", **file)
    (contact,) = [each["entity_id"] for each in first["entities"]]
    assert await refers_to(desk, contact) == ["Alpha Ltd"]
    desk.wait()
    await desk.correct(contact, "role", "cook")
    kind = first["entities"][0]["entity_type"]
    await desk.ingest({**CONTACT, "entity_type": kind, "organization": "Beta Ltd"})
    assert await refers_to(desk, contact) == ["Beta Ltd"]
    desk.wait()
    again = await desk.call("ingest", user_id=desk.user, original_filename="contacts.csv", **file)
    assert again["observations_added"] == 1
    assert await refers_to(desk, contact) == ["Alpha Ltd"]


async def test_t27_parallel_edges_of_a_merged_pair_are_one() -> None:
    desk = a_desk()
    a, b, x, y = [await desk.entity("task", title=title) for title in "abxy"]
    first = await desk.relate(a, "DEPENDS_ON", x, metadata={"why": "first", "who": "a"})
    await desk.relate(b, "DEPENDS_ON", x, metadata={"why": "second"})
    await desk.relate(a, "REFERS_TO", x)
    await desk.merge(b, a)
    listed = await desk.call("list_relationships", entity_id=a)
    assert listed["total"] == 2
    (edge,) = [e for e in listed["relationships"] if e["relationship_type"] == "DEPENDS_ON"]
    assert edge["id"] == first["id"]
    assert edge["metadata"] == {"why": "second", "who": "a"}
    ends = {"source_entity_id": b, "target_entity_id": x}
    told = await desk.call("get_relationship_snapshot", relationship_type="DEPENDS_ON", **ends)
    assert (told["snapshot"], told["observation_count"]) == (edge["metadata"], 2)
    assert (await desk.call("list_relationships", entity_id=x))["total"] == 2
    around = await desk.call("get_graph_neighborhood", node_id=a, node_type="entity")
    assert len(around["relationships"]) == 2
    await desk.relate(a, "DEPENDS_ON", y)
    await desk.merge(y, x)
    assert await refers_to_types(desk, a) == ["DEPENDS_ON", "REFERS_TO"]
    assert await refers_to_types(desk, x) == ["DEPENDS_ON", "REFERS_TO"]


async def refers_to_types(desk: Desk, entity_id: str) -> list[str]:
    """The types of an entity's edges, of which every way of asking tells the same."""
    listed = await desk.call("list_relationships", entity_id=entity_id)
    related = await desk.call("get_related_entities", entity_id=entity_id)
    assert listed["total"] == related["total_relationships"]
    return sorted(each["relationship_type"] for each in listed["relationships"])


async def test_t27_a_merge_that_closes_a_cycle_tells_of_it() -> None:
    desk = a_desk()
    a, b, x = [await desk.entity("task", title=title) for title in "abx"]
    await desk.relate(a, "DEPENDS_ON", x)
    await desk.relate(x, "DEPENDS_ON", b)
    await desk.relate(x, "REFERS_TO", a)
    merged = await desk.merge(a, b)
    (warning,) = merged["warnings"]
    assert warning["code"] == "relationship.cycle"
    assert "DEPENDS_ON" in warning["message"]
    assert "undo the merge" in warning["message"]
    desk.wait()
    await desk.call("unmerge_entities", user_id=desk.user, entity_id=a)
    other = await desk.entity("task", title="other")
    assert "warnings" not in await desk.merge(other, a)


async def test_t27_an_edge_between_the_two_that_are_merged_is_no_cycle_of_others() -> None:
    desk = a_desk()
    a, b = [await desk.entity("task", title=title) for title in "ab"]
    await desk.relate(a, "DEPENDS_ON", b)
    (warning,) = (await desk.merge(a, b))["warnings"]
    assert warning["code"] == "relationship.cycle"
    assert (await desk.call("list_relationships", entity_id=b))["total"] == 0


async def test_a_credit_note_corrects_its_invoice_until_it_names_another() -> None:
    desk = a_desk()
    one = await desk.entity(**an_invoice("R-10"))
    other = await desk.entity(**an_invoice("R-11"))
    note: dict[str, Any] = {"entity_type": "credit_note", "credit_note_number": "G-3", "amount": 5}
    credit = await desk.entity(**note, invoice_reference="R-10")
    kinds = []
    for named in ("R-10", "R-11"):
        await desk.ingest({**note, "invoice_reference": named})
        listed = await desk.call("list_relationships", entity_id=credit, direction="outbound")
        kinds.append(
            {(e["relationship_type"], e["target_entity_id"]) for e in listed["relationships"]}
        )

    assert kinds == [{("REFERS_TO", invoice), ("CORRECTS", invoice)} for invoice in (one, other)]
