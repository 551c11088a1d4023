"""Contradictions beside a common key: another entity, a reported pair, and nothing lost."""

from typing import Any

import pytest

from tests.toolsets.truth.kit import make_driver

pytestmark = pytest.mark.anyio

MAIL = {"email": "family@berg.example"}
BILL = {"invoice_number": "1", "vendor_name": "Alder Ltd", "currency": "EUR", "amount_due": 100}


async def entities_of(kind: str, *records: dict[str, Any]) -> tuple[int, int]:
    """The number of entities that the records make, and of possible duplicates reported."""
    driver = make_driver()
    ids, reported = set(), 0
    for record in records:
        reply = await driver.ingest({"entity_type": kind, **record})
        ids.add(reply["entities"][0]["entity_id"])
        reported += sum(each["entity_type"] == kind for each in reply["possible_duplicates"])
    return len(ids), reported


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna Berg", "Tom Berg"),
        ("Anna", "Tom"),
        ("Paul Berg", "Paula Berg"),
        ("John Berg Jr.", "John Berg Sr."),
        ("Anna Berg", "Lee Meier"),
        ("\u738b\u4f1f", "\u738b\u82b3"),
        ("Mr Berg", "Mrs Berg"),
        ("Herr Berg", "Frau Dr. Berg"),
        ("M. Dupont", "Mme Dupont"),
        ("Sr. Garc\xeda", "Sra. Garc\xeda"),
        ("Hans Berg jun.", "Hans Berg sen."),
        ("John Berg junior", "John Berg senior"),
        ("Jean Dupont fils", "Jean Dupont p\xe8re"),
        ("Anna Maria Berg", "Tom Maria Berg"),
        ("Ana Garc\xeda L\xf3pez", "Luis Garc\xeda L\xf3pez"),
        ("Anna van Berg", "Tom van Berg"),
        ("Berg Tom", "Anna Berg"),
        ("T. Berg", "Anna Berg"),
        ("Anna & Tom Berg", "Tom Berg"),
        ("\u0410\u043d\u043d\u0430 \u0418\u0432\u0430\u043d\u043e\u0432\u0430", "Boris Ivanov"),
        ("\uae40\ubbfc\uc218", "\uae40\uc9c0\uc601"),
    ],
)
async def test_people_with_other_first_names_at_one_address_stay_two(one: str, other: str) -> None:
    for kind, key in (("person", MAIL), ("contact", {"phone": "+49 30 1234567"})):
        assert await entities_of(kind, {"name": one, **key}, {"name": other, **key}) == (2, 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna Berg", "A. Berg"),
        ("Anna Berg", "Berg, Anna"),
        ("Anna Berg", "Anna Meier"),
        ("Berg", "Anna Berg"),
        ("J\u00fcrgen Berg", "Dr. Juergen Berg"),
        ("Mary Ann Lee", "Ann Lee"),
        ("Anna Berg", "family@berg.example"),
        ("Mr Berg", "Tom Berg"),
        ("John Ronald Reuel Tolkien", "J.R.R. Tolkien"),
        ("John Ronald Tolkien", "JR Tolkien"),
        ("Berg Anna", "Anna Berg"),
        ("Anna Maria Berg", "Maria Anna Berg"),
        ("Ana Garc\xeda L\xf3pez", "Ana Garc\xeda"),
        ("Anna Berg", "Anna Berg-Meier"),
        ("Anna Meier", "Anna Meier geb. Berg"),
        ("Ludwig van Beethoven", "L. v. Beethoven"),
        ("S\xf8ren Kj\xe6r", "Soren Kjaer"),
        ("\u0410\u043d\u043d\u0430 \u0418\u0432\u0430\u043d\u043e\u0432\u0430", "Anna Ivanova"),
        (
            "\u0393\u03b9\u03ce\u03c1\u03b3\u03bf\u03c2 \u03a0\u03b1\u03c0\u03c0\u03ac\u03c2",
            "Giorgos Pappas",
        ),
        ("\u5c71\u7530 \u592a\u90ce", "\u5c71\u7530\u592a\u90ce"),
        ("John Berg, Jr.", "John Berg Jr"),
    ],
)
async def test_a_name_that_may_be_the_same_is_one_person(one: str, other: str) -> None:
    assert await entities_of("person", {"name": one, **MAIL}, {"name": other, **MAIL}) == (1, 0)


async def test_a_third_name_at_one_address_is_a_third_person() -> None:
    records = [{"name": f"{name} Berg", **MAIL} for name in ("Anna", "Tom", "Lou", "Tom", "Anna")]
    assert (await entities_of("person", *records))[0] == 3


async def test_two_namesakes_with_other_birthdays_are_two() -> None:
    born = [{"name": "Anna Berg", "birthday": day} for day in ("1980-01-02", "2010-01-02")]
    assert await entities_of("person", *born) == (2, 1)


@pytest.mark.parametrize("key", [MAIL, {"phone": "+49 30 1234567"}, {}])
async def test_a_namesake_with_another_birthday_or_title_is_another_person(
    key: dict[str, str],
) -> None:
    for kind in ("person", "contact"):
        born = [
            {"name": "Anna Berg", "birthday": day, **key} for day in ("1980-01-02", "2010-03-04")
        ]
        assert await entities_of(kind, *born) == (2, 1)
        initial = {**born[1], "name": "A. Berg"}
        assert (await entities_of(kind, born[0], initial))[0] == 2
        same = {**born[0], "birthday": "2 January 1980"}
        assert await entities_of(kind, born[0], same) == (1, 0)
        titled = [{"name": f"{title} Berg", **key} for title in ("Mr", "Mrs", "Mr")]
        assert (await entities_of(kind, *titled))[0] == 2


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ("+1 212 555 0100 ext. 12", "+1 (212) 555-0100 x13", 2),
        ("+43 1 5150 DW 12", "+43 1 5150 Durchwahl 13", 2),
        ("+33 1 23 45 67 89 poste 12", "+33 1 23 45 67 89 poste 21", 2),
        ("+1 212 555 0100 ext. 12", "+1 (212) 555-0100 x12", 1),
        ("+43 1 5150 Dw. 12", "+43 1 5150 DW 12", 1),
        ("+1 212 555 0100 ext 12", "+1 212 555 0100", 1),
    ],
)
async def test_another_extension_of_one_telephone_is_another_contact(
    one: str, other: str, count: int
) -> None:
    drivers = [{"organization": "Acme", "phone": each} for each in (one, other)]
    assert await entities_of("contact", *drivers) == (count, count - 1)


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ("Acme GmbH", "Acme GmbH Niederlassung Wien", 2),
        ("Acme Berlin", "Acme Wien", 2),
        ("Acme", "Acme Branch", 2),
        ("Anna's Shop", "Tom's Shop", 2),
        ("Acme GmbH", "ACME", 1),
        ("Acme", "Acme Europe Ltd", 1),
    ],
)
async def test_a_branch_or_another_shop_at_one_website_is_another_company(
    one: str, other: str, count: int
) -> None:
    firms = [{"name": name, "website": "https://www.acme.example/x"} for name in (one, other)]
    assert await entities_of("company", *firms) == (count, count - 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("DE 136 695 976", "DE136695976"),
        ("ATU 13585627", "atu13585627"),
        ("CHE-107.787.577 MWST", "CHE107787577"),
        ("12-3456789", "123456789"),
    ],
)
async def test_a_tax_number_is_one_however_it_is_divided(one: str, other: str) -> None:
    driver = make_driver()
    first = await driver.entity("company", name="Acme Holding", tax_id=one)
    assert await driver.entity("company", name="Acme", tax_id=other) == first
    found = await driver.call("get_entity_by_identifier", identifier=other)
    assert [each["id"] for each in found["entities"]] == [first]


@pytest.mark.parametrize(
    ("kind", "record", "field", "right"),
    [
        ("invoice", BILL, "vendor_name", "Birch Ltd"),
        ("invoice", {**BILL, "invoice_date": "2024-01-02"}, "invoice_date", "2024-02-02"),
        ("transaction", {"transaction_id": "1", "date": "2024-01-02"}, "date", "2024-02-02"),
        ("person", {"name": "Anna Berg", "birthday": "1980-01-02"}, "birthday", "1980-02-02"),
        ("person", {"name": "Anna Berg", **MAIL}, "name", "Tom Lee"),
        ("contract", {"contract_number": "C-1", "parties": ["A Ltd"]}, "parties", ["B Ltd"]),
    ],
)
async def test_a_source_with_the_corrected_value_is_about_the_same_entity(
    kind: str, record: dict[str, Any], field: str, right: Any
) -> None:
    driver = make_driver()
    entity = await driver.entity(kind, **record)
    await driver.correct(entity, field, right)
    for more in ({}, {"notes": "again"}, {"notes": "right", field: right}):
        assert await driver.entity(kind, **{**record, **more}) == entity
    assert (await driver.snapshot(entity))[field] == right


async def test_an_equal_reference_in_another_currency_is_another_payment() -> None:
    paid = {"transaction_id": "1", "date": "2024-01-02", "amount": -5}
    both = [{**paid, "currency": code} for code in ("EUR", "USD")]
    assert await entities_of("transaction", *both) == (2, 1)


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ("Acme GmbH", "Acme Inc.", 2),
        ("Acme GmbH", "Acme GmbH & Co. KG", 2),
        ("Acme Ltd", "Acme plc", 2),
        ("Acme GmbH", "ACME Gesellschaft mit beschr\u00e4nkter Haftung", 1),
        ("Acme SAS", "Acme Soci\u00e9t\u00e9 par actions simplifi\u00e9e", 1),
        ("Acme Corp", "ACME, Inc.", 1),
        ("Acme", "Acme AG", 1),
    ],
)
async def test_another_legal_form_is_another_company(one: str, other: str, count: int) -> None:
    assert await entities_of("company", {"name": one}, {"name": other}) == (count, count - 1)


@pytest.mark.parametrize(
    ("other", "count"),
    [
        ({"invoice_date": "2024-01-03", "amount_due": 250}, 2),
        ({"invoice_date": "2024-01-03"}, 2),
        ({"vendor_name": "Alder GmbH"}, 2),
        ({"amount_due": 250}, 1),
        ({"invoice_number": "No. 1"}, 1),
    ],
)
async def test_a_restarted_invoice_number_is_another_invoice(
    other: dict[str, Any], count: int
) -> None:
    first = {**BILL, "invoice_date": "2023-01-01"}
    assert await entities_of("invoice", first, {**first, **other}) == (count, count - 1)


@pytest.mark.parametrize("written", ["inv 0012", "INV0012", "INV/0012", "Inv.0012", "#INV-0012"])
async def test_a_number_written_with_another_mark_is_the_same(written: str) -> None:
    driver = make_driver()
    numbers = [{**BILL, "invoice_number": number} for number in ("INV-0012", written)]
    replies = [await driver.ingest({"entity_type": "invoice", **each}) for each in numbers]
    found = await driver.call("get_entity_by_identifier", identifier=written)

    assert len({each["entities"][0]["entity_id"] for each in replies}) == 1
    assert len(found["entities"]) == 1


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ("We agreed on blue for the door.", "We agreed on red for the roof.", 2),
        ("Milk", "Milk and eggs", 1),
        ("Milk\nEggs\nBread", "Milk\nEggs\nButter", 1),
        ("Milk\nEggs", "Nails\nScrews", 2),
    ],
)
async def test_other_texts_of_one_title_are_two_notes_and_versions_are_one(
    one: str, other: str, count: int
) -> None:
    notes = [{"title": "Meeting", "content": text} for text in (one, other)]
    assert await entities_of("note", *notes) == (count, count - 1)


async def test_a_contract_number_of_other_parties_is_another_contract() -> None:
    contract = {"contract_number": "C-1", "parties": ["Acme GmbH", "Anna Berg"]}
    others = {"contract_number": "C-1", "parties": ["Alder Ltd", "Tom Lee"]}
    assert await entities_of("contract", contract, others) == (2, 1)


@pytest.mark.parametrize(
    "differing",
    [
        {"repo": ("a/b", "c/d")},
        {"project": ("x", "y")},
        {"order_number": (7, 8)},
        {"city": ("Bonn", "Kiel")},
        {"place_id": ("p1", "p2")},
    ],
)
async def test_another_number_unit_or_place_under_one_name_is_another_item(
    differing: dict[str, tuple[Any, Any]],
) -> None:
    ((field, values),) = differing.items()
    items = [{"title": "Fix login", field: value} for value in values]
    assert await entities_of("matter", *items) == (2, 1)


async def test_the_same_number_in_two_repositories_is_two_issues() -> None:
    issue = {"title": "Fix login", "issue_number": 12}
    assert await entities_of("issue", {**issue, "repo": "a/b"}, {**issue, "repo": "c/d"}) == (2, 1)


async def test_a_match_by_name_alone_that_changes_a_number_is_reported() -> None:
    driver = make_driver()
    await driver.ingest({"entity_type": "workout", "name": "Run", "km": 5})
    again = await driver.ingest({"entity_type": "workout", "name": "Run", "km": 5, "mood": "good"})
    other = await driver.ingest({"entity_type": "workout", "name": "Run", "km": 7})

    assert "identity.by-name" not in {each["code"] for each in again["warnings"]}
    assert "identity.by-name" in {each["code"] for each in other["warnings"]}


async def test_a_name_prefix_and_a_number_without_country_are_reported() -> None:
    driver = make_driver()
    simon = await driver.entity("contact", name="Simon")
    bergeron = await driver.entity("contact", name="Simon Bergeron", email="s@b.example")
    await driver.entity("contact", name="Simone Roux")
    ann = await driver.entity("contact", name="Ann Lee", phone="030 1234567")
    lee = await driver.entity("contact", name="A. Lee", phone="+49 30 1234567")

    reported = (await driver.call("list_possible_duplicates"))["pairs"]
    about = (await driver.call("list_possible_duplicates", entity_id=simon))["pairs"]

    pairs = {frozenset((each["entity_id"], each["candidate_id"])) for each in reported}
    assert pairs == {frozenset((simon, bergeron)), frozenset((ann, lee))}
    assert len(about) == 1
