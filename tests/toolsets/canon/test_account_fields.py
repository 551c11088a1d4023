"""Fields of one's own records: whatever is accepted is shown, found and corrected, and marked."""

from typing import Any

import pytest

from canonry.assistant import CANON
from canonry.values.json_values import encode_json
from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio
HILDE: dict[str, Any] = {
    "kind": "entity",
    "name": "Hilde",
    "type": "person",
    "says": "my grandmother",
    "fields": {"address": "Elm Street 5", "medication": "warfarin", "allergy": "penicillin"},
}
DEEP = {"floor": {"room": {"shelf": {"box": {"tray": "amethyst"}}}}}
VALUES: dict[str, tuple[Any, str]] = {
    "shoe_size": (38, "38"),
    "height": (1.64, "1.64"),
    "vegetarian": (False, "vegetarian"),
    "left_handed": (True, "left handed"),
    "pets": (["Tom", {"parrot": "Lora"}], "lora"),
    "storage": (DEEP, "amethyst"),
    "diary": ("word " * 9_000 + "zyzzyva", "zyzzyva"),
    "Lieblingsgröße": ("riesig", "riesig"),
    "薬": ("ワルファリン", "ワルファリン"),
    "دواء": ("وارفارين", "وارفارين"),
    "type": ("widow", "widow"),
    "id": ("H-1", "H-1"),
    "version": ("v7", "v7"),
    "_secret": ("dragonfruit", "dragonfruit"),
    "a/b~c.d": ("slashed", "slashed"),
}
"""Values of every kind under names of every kind, and what each is found by."""


async def claim_field(driver: ToolDriver, *claims: dict[str, Any], **more: Any) -> dict[str, Any]:
    return await driver.call("propose", space="account", claims=list(claims), **more)


async def read_fields(driver: ToolDriver, of: str = "Hilde") -> dict[str, Any]:
    """Every field that the record has, known to its schema or not."""
    got = await driver.call("get", of=of, space="account", full=True)
    raw = {name: each["value"] for name, each in got.get("raw_fields", {}).items()}
    return {**got.get("fields", {}), **raw, "says": got.get("says")}


async def find_fields(driver: ToolDriver, text: str) -> list[dict[str, Any]]:
    rows = (await driver.call("find", text=text, space="account", kinds=["entity"]))["found"]
    return [row for row in rows if row["name"] == "Hilde"]


def claim_correction(field: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"kind": "correction", "of": "Hilde", "field": field, "value": value, **more}


async def test_fields_unknown_to_the_schema_are_shown_found_and_marked() -> None:
    driver = make_driver()

    reply = await claim_field(driver, HILDE)

    unknown = {"allergy": "unknown to the schema", "medication": "unknown to the schema"}
    assert reply["verdicts"][0]["raw_fields"] == unknown
    got = await driver.call("get", of="Hilde", space="account")
    assert got["says"] == "my grandmother"
    assert {"name", "description"}.isdisjoint(got["fields"])
    named = await driver.call("find", type="Person", space="account")
    assert [row["name"] for row in named["found"]] == ["Hilde"]
    assert got["fields"]["address"] == "Elm Street 5"
    assert got["raw_fields"]["medication"] == {
        "value": "warfarin",
        "because": "unknown to the schema",
    }
    for text in ("warfarin", "penicillin", "grandmother", "Elm Street"):
        (row,) = await find_fields(driver, text)
        assert text in encode_json(row).decode(), text


async def test_values_of_every_kind_and_name_are_kept() -> None:
    driver = make_driver()
    fields = {name: value for name, (value, _) in VALUES.items()}

    await claim_field(driver, HILDE | {"fields": fields})

    kept = await read_fields(driver)
    assert {name: kept.get(name) for name in fields} == fields
    for name, (_, text) in VALUES.items():
        assert await find_fields(driver, text), name


@pytest.mark.parametrize("kind", ["person", "pet"])
async def test_a_correction_changes_any_field_and_keeps_the_old_value(
    kind: str,
) -> None:
    driver = make_driver()
    await claim_field(driver, HILDE | {"type": kind})

    reply = await claim_field(
        driver,
        claim_correction("medication", "apixaban", says="the doctor changed it"),
        claim_correction("allergy", ["nuts", "bees"]),
        claim_correction("address", "Oak Road 9"),
        claim_correction("shoe_size", 38),
        claim_correction("says", "my aunt"),
    )

    assert reply["accepted"] == 5, reply
    kept = await read_fields(driver)
    assert (kept["medication"], kept["address"]) == ("apixaban", "Oak Road 9")
    assert (kept["allergy"], kept["shoe_size"], kept["says"]) == (["nuts", "bees"], 38, "my aunt")
    assert await find_fields(driver, "apixaban")
    assert not await find_fields(driver, "warfarin")
    (why,) = (await driver.call("why", of="Hilde", field="medication"))["fields"]
    assert [(word["value"], word["stands"]) for word in why["said"]] == [
        ("apixaban", True),
        ("warfarin", False),
    ]
    assert why["said"][0]["reason"] == "the doctor changed it"


async def test_a_correction_may_be_undone_repeated_and_emptied() -> None:
    driver = make_driver()
    await claim_field(driver, HILDE)

    for value in ("apixaban", "apixaban", "warfarin", "heparin"):
        await claim_field(driver, claim_correction("medication", value))
        assert (await read_fields(driver))["medication"] == value
    await claim_field(driver, claim_correction("medication", None))

    assert "medication" not in await read_fields(driver)
    assert not await find_fields(driver, "heparin")


async def test_a_value_that_does_not_fit_its_field_is_shown_with_the_reason() -> None:
    driver = make_driver()
    reply = await claim_field(driver, HILDE | {"fields": {"date_of_birth": "some day in April"}})

    assert reply["verdicts"][0]["raw_fields"] == {"date_of_birth": "not a date"}
    assert (await read_fields(driver))["date_of_birth"] == "some day in April"
    await claim_field(driver, claim_correction("birthday", "1984-02-29"))

    kept = await read_fields(driver)
    assert (kept["birthday"], kept.get("date_of_birth")) == ("1984-02-29", None)
    assert not await find_fields(driver, "April")


async def test_a_field_known_to_a_later_schema_is_no_longer_raw() -> None:
    driver = make_driver()
    await claim_field(driver, HILDE | {"type": "pet", "fields": {"species": "cat"}})
    await claim_field(driver, claim_correction("weight", 4))
    assert (await driver.call("get", of="Hilde"))["raw_fields"]["weight"]["value"] == 4

    await claim_field(driver, HILDE | {"type": "pet", "name": "Tom", "fields": {"weight": 5}})

    got = await driver.call("get", of="Hilde")
    assert got["fields"]["weight"] == 4
    assert "raw_fields" not in got or "weight" not in got["raw_fields"]


async def test_fields_that_collide_with_claim_members_are_refused() -> None:
    driver = make_driver()
    for field, value in (("name", "Hildegard"), ("description", "somebody"), ("entity_type", "x")):
        error = await driver.refused(
            "propose", space="account", claims=[HILDE | {"fields": {field: value}}]
        )
        assert error["details"]["path"] == f"/claims/0/fields/{field}"
    await claim_field(driver, HILDE | {"fields": {"name": "Hilde"}, "tags": ["beloved"]})

    assert await find_fields(driver, "beloved")
    wrong = HILDE | {"fields": {"": "x"}}
    error = await driver.refused("propose", space="account", claims=[wrong], said="She said so.")
    assert error["details"]["path"] == "/claims/0"
    versioned = [{"type": "app", "name": "Tide", "schema_version": 2}]
    error = await driver.refused("tell", space="account", records=versioned)
    assert error["details"]["path"] == "/records/0/schema_version"
    error = await driver.refused("propose", space="account", claims=[HILDE | {"for": ["Bob"]}])
    assert error["details"]["path"] == "/claims/0/for"


async def test_words_and_evidence_of_an_account_claim_are_kept() -> None:
    driver = make_driver()
    note = await driver.call("tell", space="account", text="Hilde takes warfarin.", title="Note")

    await claim_field(driver, HILDE, said="She told me on the phone.", evidence=[note["document"]])

    (why,) = (await driver.call("why", of="Hilde", field="medication"))["fields"]
    cited = why["said"][0]["evidence"]
    assert f"source:{note['document']}" in cited
    (words,) = (await driver.call("find", text="on the phone", kinds=["passage"]))["found"]
    assert words["says"] == "She told me on the phone."
    assert len(cited) == 2
    right = claim_correction("medication", "apixaban", says="a new doctor")
    await claim_field(driver, right, said="It is apixaban now.")
    (why,) = (await driver.call("why", of="Hilde", field="medication"))["fields"]
    assert (why["said"][0]["reason"], len(why["said"][0]["evidence"])) == ("a new doctor", 1)


async def test_a_refusal_names_no_unserved_tool() -> None:
    driver = make_driver()
    await claim_field(driver, HILDE)
    names = {tool.name for tool in CANON.tools}

    reply = await claim_field(
        driver, claim_correction("birthday", "soon"), claim_correction("entity_type", "x")
    )
    gone = await driver.refused("why", of="Hilde", field="shoe_size")

    because = [row["because"] for row in reply["verdicts"]] + [gone["message"]]
    assert reply["accepted"] == 0
    words = {word.strip(".,;") for each in because for word in each.split() if "_" in word}
    assert not {w for w in words if w.startswith(("get_", "list_"))} - names, because
