"""What claims mean beyond their words: whom they are about, and what ends where they begin."""

import base64

import pytest

from tests.toolsets.canon.kit import a_desk

pytestmark = pytest.mark.anyio


async def test_a_fact_is_about_whom_it_names_unless_it_says_otherwise() -> None:
    desk = a_desk()
    await desk.saltmere()
    claims = [
        {"kind": "entity", "name": "Silver Lantern", "type": "object"},
        {"kind": "fact", "says": "Ilsa Vane carries Odo Brand\u2019s silver lantern"},
        {"kind": "event", "says": "Ilsa Vane is seen at Marrow", "about": ["Odo Brand"]},
        {"kind": "fact", "says": "Nobody sails at night"},
    ]

    await desk.call("propose", claims=claims, said="It is so.")

    found = (await desk.call("find", text="lantern", kinds=["fact"]))["found"]
    assert found[0]["about"] == ["Ilsa Vane", "Odo Brand", "Silver Lantern"]
    told = (await desk.call("timeline"))["timeline"]
    assert [row["about"] for row in told] == [["Odo Brand"]]
    held = (await desk.call("get", of="Ilsa Vane"))["facts"]
    assert [row["says"] for row in held] == ["Ilsa Vane carries Odo Brand\u2019s silver lantern"]


async def test_a_name_that_two_bear_makes_a_fact_about_neither() -> None:
    desk = a_desk()
    await desk.saltmere()
    twins = [{"kind": "entity", "name": "Ann", "type": kind} for kind in ("character", "object")]
    twins[1]["same_as"] = "nobody"
    for twin in twins:
        await desk.call("propose", claims=[twin], said="There are two.")

    await desk.call("propose", claims=[{"kind": "fact", "says": "Ann is at sea"}], said="So.")

    assert "about" not in (await desk.call("find", text="sea", kinds=["fact"]))["found"][0]


async def test_what_overrules_with_a_time_ends_what_had_none_and_undoes_nothing() -> None:
    desk = a_desk()
    await desk.saltmere()
    first, later = "The rent of Odo Brand is 1450 EUR", "The rent of Odo Brand is 1600 EUR"
    written = [{"kind": "fact", "says": first}]
    await desk.call("propose", claims=written, evidence=["Harbour book"])
    claim = {"kind": "fact", "says": later, "when": "2025-02-01"}

    done = await desk.call("propose", claims=[claim], said="It went up.")

    assert done["accepted"] == 1
    assert done["note"].startswith("Ends then: Harbour book ")
    assert done["note"].endswith(f" says: {first}.")
    for at, says in (("2024-06-01", first), ("2025-06-01", later)):
        found = (await desk.call("find", text="rent", kinds=["fact"], at=at))["found"]
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


async def test_somebody_is_found_by_each_address_of_a_card() -> None:
    desk = a_desk(user="u")
    card = base64.b64encode(CARD).decode()
    await desk.call("tell", file=card, mime_type="text/vcard", space="account")

    found = await desk.call("get", of="ana@prado.example", space="account")

    assert found["name"] == "Ana Prado"
    assert found["fields"]["emails"] == ["ana@prado.example"]


async def test_a_warning_about_a_column_is_told_once() -> None:
    desk = a_desk(user="u")
    table = base64.b64encode(TABLE).decode()

    told = await desk.call("tell", file=table, mime_type="text/csv", space="account")

    assert told["warnings"] == [
        "The running balances prove the amounts of 2 lines.",
        "umsatzart of 2 records: The value is kept as a raw fragment.",
    ]


async def test_the_brief_of_somebody_at_a_time_tells_where_they_were_then() -> None:
    desk = a_desk()
    await desk.saltmere()
    moves = [
        {"kind": "entity", "name": "Far Quay", "type": "location"},
        *(
            {"kind": "relation", "from": "Ilsa Vane", "type": "LOCATED_IN", "to": place, "when": at}
            for place, at in (("Marrow Lighthouse", "2019-01-01"), ("Far Quay", "2024-03-01"))
        ),
    ]
    await desk.call("propose", claims=moves, said="She moved.")

    then = (await desk.call("context", of="Ilsa Vane", at="2020-06-01"))["brief"]
    now = (await desk.call("context", of="Ilsa Vane"))["brief"]

    assert "Ilsa Vane located in Marrow Lighthouse" in then
    assert "Far Quay" not in then
    assert "Ilsa Vane located in Far Quay" in now
    assert "Marrow" not in now
