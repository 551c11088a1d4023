"""Fields of one's own records: whatever is accepted is shown, found and corrected, and marked."""

from typing import Any

import pytest

from canonry.assistant import CANON
from canonry.values.json_values import encode_json
from tests.toolsets.canon.kit import Desk, a_desk

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


async def claimed(desk: Desk, *claims: dict[str, Any], **more: Any) -> dict[str, Any]:
    return await desk.call("propose", space="account", claims=list(claims), **more)


async def shown(desk: Desk, of: str = "Hilde") -> dict[str, Any]:
    """Every field that the record has, known to its schema or not."""
    got = await desk.call("get", of=of, space="account", full=True)
    raw = {name: each["value"] for name, each in got.get("raw_fields", {}).items()}
    return {**got["fields"], **raw, "says": got.get("says")}


async def found(desk: Desk, text: str) -> list[dict[str, Any]]:
    rows = (await desk.call("find", text=text, space="account", kinds=["entity"]))["found"]
    return [row for row in rows if row["name"] == "Hilde"]


def correction(field: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"kind": "correction", "of": "Hilde", "field": field, "value": value, **more}


async def test_n1_fields_that_the_schema_does_not_know_are_shown_found_and_marked() -> None:
    desk = a_desk()

    told = await claimed(desk, HILDE)

    unknown = {"allergy": "unknown to the schema", "medication": "unknown to the schema"}
    assert told["verdicts"][0]["raw_fields"] == unknown
    got = await desk.call("get", of="Hilde", space="account")
    assert got["says"] == "my grandmother"
    assert got["fields"]["address"] == "Elm Street 5"
    assert got["raw_fields"]["medication"] == {
        "value": "warfarin",
        "because": "unknown to the schema",
    }
    for text in ("warfarin", "penicillin", "grandmother", "Elm Street"):
        (row,) = await found(desk, text)
        assert text in encode_json(row).decode(), text


async def test_n1_values_of_every_kind_under_names_of_every_kind_are_kept() -> None:
    desk = a_desk()
    fields = {name: value for name, (value, _) in VALUES.items()}

    await claimed(desk, HILDE | {"fields": fields})

    kept = await shown(desk)
    assert {name: kept.get(name) for name in fields} == fields
    for name, (_, text) in VALUES.items():
        assert await found(desk, text), name


@pytest.mark.parametrize("kind", ["person", "pet"])
async def test_n1_a_correction_changes_any_field_and_leaves_the_old_value_as_history(
    kind: str,
) -> None:
    desk = a_desk()
    await claimed(desk, HILDE | {"type": kind})

    told = await claimed(
        desk,
        correction("medication", "apixaban", says="the doctor changed it"),
        correction("allergy", ["nuts", "bees"]),
        correction("address", "Oak Road 9"),
        correction("shoe_size", 38),
        correction("says", "my aunt"),
    )

    assert told["accepted"] == 5, told
    kept = await shown(desk)
    assert (kept["medication"], kept["address"]) == ("apixaban", "Oak Road 9")
    assert (kept["allergy"], kept["shoe_size"], kept["says"]) == (["nuts", "bees"], 38, "my aunt")
    assert await found(desk, "apixaban")
    assert not await found(desk, "warfarin")
    (why,) = (await desk.call("why", of="Hilde", field="medication"))["fields"]
    assert [(word["value"], word["stands"]) for word in why["said"]] == [
        ("apixaban", True),
        ("warfarin", False),
    ]
    assert why["said"][0]["reason"] == "the doctor changed it"


async def test_n1_a_correction_may_be_taken_back_said_again_and_emptied() -> None:
    desk = a_desk()
    await claimed(desk, HILDE)

    for value in ("apixaban", "apixaban", "warfarin", "heparin"):
        await claimed(desk, correction("medication", value))
        assert (await shown(desk))["medication"] == value
    await claimed(desk, correction("medication", None))

    assert "medication" not in await shown(desk)
    assert not await found(desk, "heparin")


async def test_n1_a_value_that_its_field_cannot_hold_is_shown_with_the_reason() -> None:
    desk = a_desk()
    told = await claimed(desk, HILDE | {"fields": {"date_of_birth": "some day in April"}})

    assert told["verdicts"][0]["raw_fields"] == {"date_of_birth": "not a date"}
    assert (await shown(desk))["date_of_birth"] == "some day in April"
    await claimed(desk, correction("birthday", "1984-02-29"))

    kept = await shown(desk)
    assert (kept["birthday"], kept.get("date_of_birth")) == ("1984-02-29", None)
    assert not await found(desk, "April")


async def test_n1_a_field_that_a_later_schema_knows_is_no_longer_raw() -> None:
    desk = a_desk()
    await claimed(desk, HILDE | {"type": "pet", "fields": {"species": "cat"}})
    await claimed(desk, correction("weight", 4))
    assert (await desk.call("get", of="Hilde"))["raw_fields"]["weight"]["value"] == 4

    await claimed(desk, HILDE | {"type": "pet", "name": "Tom", "fields": {"weight": 5}})

    got = await desk.call("get", of="Hilde")
    assert got["fields"]["weight"] == 4
    assert "raw_fields" not in got or "weight" not in got["raw_fields"]


async def test_n1_what_collides_with_the_claim_itself_is_refused_and_not_dropped() -> None:
    desk = a_desk()
    for field, value in (("name", "Hildegard"), ("description", "somebody"), ("entity_type", "x")):
        error = await desk.refused(
            "propose", space="account", claims=[HILDE | {"fields": {field: value}}]
        )
        assert error["details"]["path"] == f"/claims/0/fields/{field}"
    await claimed(desk, HILDE | {"fields": {"name": "Hilde"}, "tags": ["beloved"]})

    assert await found(desk, "beloved")
    wrong = HILDE | {"fields": {"": "x"}}
    error = await desk.refused("propose", space="account", claims=[wrong], said="She said so.")
    assert error["details"]["path"] == "/claims/0"
    versioned = [{"type": "app", "name": "Tide", "schema_version": 2}]
    error = await desk.refused("tell", space="account", records=versioned)
    assert error["details"]["path"] == "/records/0/schema_version"
    error = await desk.refused("propose", space="account", claims=[HILDE | {"for": ["Bob"]}])
    assert error["details"]["path"] == "/claims/0/for"


async def test_n1_words_and_evidence_of_a_claim_in_the_account_are_kept() -> None:
    desk = a_desk()
    note = await desk.call("tell", space="account", text="Hilde takes warfarin.", title="Note")

    await claimed(desk, HILDE, said="She told me on the phone.", evidence=[note["document"]])

    (why,) = (await desk.call("why", of="Hilde", field="medication"))["fields"]
    cited = why["said"][0]["evidence"]
    assert f"source:{note['document']}" in cited
    (words,) = (await desk.call("find", text="on the phone", kinds=["passage"]))["found"]
    assert words["says"] == "She told me on the phone."
    assert len(cited) == 2
    right = correction("medication", "apixaban", says="a new doctor")
    await claimed(desk, right, said="It is apixaban now.")
    (why,) = (await desk.call("why", of="Hilde", field="medication"))["fields"]
    assert (why["said"][0]["reason"], len(why["said"][0]["evidence"])) == ("a new doctor", 1)


async def test_n1_what_is_refused_names_no_tool_that_is_not_served() -> None:
    desk = a_desk()
    await claimed(desk, HILDE)
    names = {tool.name for tool in CANON.tools}

    told = await claimed(desk, correction("birthday", "soon"), correction("entity_type", "x"))
    gone = await desk.refused("why", of="Hilde", field="shoe_size")

    because = [row["because"] for row in told["verdicts"]] + [gone["message"]]
    assert told["accepted"] == 0
    words = {word.strip(".,;") for each in because for word in each.split() if "_" in word}
    assert not {w for w in words if w.startswith(("get_", "list_"))} - names, because
