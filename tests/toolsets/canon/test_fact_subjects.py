"""Claims have subjects and ends that their words do not name."""

import base64

import pytest

from tests.toolsets.canon.kit import make_driver

pytestmark = pytest.mark.anyio


async def test_a_fact_is_about_the_named_entities_unless_stated_otherwise() -> None:
    driver = make_driver()
    await driver.saltmere()
    claims = [
        {"kind": "entity", "name": "Silver Lantern", "type": "object"},
        {"kind": "fact", "says": "Ilsa Vane carries Odo Brand\u2019s silver lantern"},
        {"kind": "event", "says": "Ilsa Vane is seen at Marrow", "about": ["Odo Brand"]},
        {"kind": "fact", "says": "Nobody sails at night"},
    ]

    await driver.call("propose", claims=claims, said="It is so.")

    found = (await driver.call("find", text="lantern", kinds=["fact"]))["found"]
    assert found[0]["about"] == ["Ilsa Vane", "Odo Brand", "Silver Lantern"]
    reported = (await driver.call("timeline"))["timeline"]
    assert [row["about"] for row in reported] == [["Odo Brand"]]
    held = (await driver.call("get", of="Ilsa Vane"))["facts"]
    assert [row["says"] for row in held] == ["Ilsa Vane carries Odo Brand\u2019s silver lantern"]


async def test_a_name_of_two_entities_makes_a_fact_about_neither() -> None:
    driver = make_driver()
    await driver.saltmere()
    twins = [{"kind": "entity", "name": "Ann", "type": kind} for kind in ("character", "object")]
    twins[1]["same_as"] = "nobody"
    for twin in twins:
        await driver.call("propose", claims=[twin], said="There are two.")

    await driver.call("propose", claims=[{"kind": "fact", "says": "Ann is at sea"}], said="So.")

    assert "about" not in (await driver.call("find", text="sea", kinds=["fact"]))["found"][0]


async def test_a_dated_override_ends_an_undated_value_without_retracting_it() -> None:
    driver = make_driver()
    await driver.saltmere()
    first, later = "The rent of Odo Brand is 1450 EUR", "The rent of Odo Brand is 1600 EUR"
    written = [{"kind": "fact", "says": first}]
    await driver.call("propose", claims=written, evidence=["Harbour book"])
    claim = {"kind": "fact", "says": later, "when": "2025-02-01"}

    done = await driver.call("propose", claims=[claim], said="It went up.")

    assert done["accepted"] == 1
    assert done["note"].startswith("Ends then: Harbour book ")
    assert done["note"].endswith(f" says: {first}.")
    for at, says in (("2024-06-01", first), ("2025-06-01", later)):
        found = (await driver.call("find", text="rent", kinds=["fact"], at=at))["found"]
        assert [row["says"] for row in found] == [says]


CARD = b"""BEGIN:VCARD
VERSION:4.0
FN:Ana Prado
EMAIL:ana@ribeira.example
EMAIL:ana@prado.example
END:VCARD
"""
TABLE = b"""Buchungstag;Umsatzart;Verwendungszweck;Betrag (EUR);Saldo (EUR)
31.03.2026;Lastschrift;Strom;-84,00;2.871,44
28.03.2026;Gutschrift;Gehalt;2.950,00;2.955,44
"""


async def test_a_person_is_found_by_each_address_of_a_card() -> None:
    driver = make_driver(user="u")
    card = base64.b64encode(CARD).decode()
    await driver.call("tell", file=card, mime_type="text/vcard", space="account")

    found = await driver.call("get", of="ana@prado.example", space="account")

    assert found["name"] == "Ana Prado"
    assert found["fields"]["emails"] == ["ana@prado.example"]


async def test_a_warning_about_a_column_is_given_once() -> None:
    driver = make_driver(user="u")
    table = base64.b64encode(TABLE).decode()

    reply = await driver.call("tell", file=table, mime_type="text/csv", space="account")

    assert reply["warnings"] == [
        "The running balances prove the amounts of 2 lines.",
        "umsatzart of 2 records: The value is kept as a raw fragment.",
    ]


async def test_the_brief_of_a_person_in_the_past_states_their_location_then() -> None:
    driver = make_driver()
    await driver.saltmere()
    moves = [
        {"kind": "entity", "name": "Far Quay", "type": "location"},
        *(
            {"kind": "relation", "from": "Ilsa Vane", "type": "LOCATED_IN", "to": place, "when": at}
            for place, at in (("Marrow Lighthouse", "2019-01-01"), ("Far Quay", "2024-03-01"))
        ),
    ]
    await driver.call("propose", claims=moves, said="She moved.")

    then = (await driver.call("context", of="Ilsa Vane", at="2020-06-01"))["brief"]
    now = (await driver.call("context", of="Ilsa Vane"))["brief"]

    assert "Ilsa Vane located in Marrow Lighthouse" in then
    assert "Far Quay" not in then
    assert "Ilsa Vane located in Far Quay" in now
    assert "Marrow" not in now
