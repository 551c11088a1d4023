"""Cards, calendars and mail: each value is kept, and an older version does not win."""

import base64
from typing import Any

import pytest

from tests.toolsets.truth.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio

CARD = ("BEGIN:VCARD", "VERSION:3.0", "FN:Ann Lee", "EMAIL:ann@x.example")
EVENT = ("BEGIN:VEVENT", "UID:u1", "SUMMARY:Dinner", "DTSTART:20240603T180000Z")


async def ingest_file(driver: ToolDriver, media: str, *lines: str) -> dict[str, Any]:
    """Ingest a file, a minute after the one before, and return the first entity with fragments."""
    driver.wait()
    content = base64.b64encode("\r\n".join((*lines, "")).encode()).decode()
    reply = await driver.call("ingest", user_id=driver.user, file_content=content, mime_type=media)
    reported = reply.get("entities") or (await driver.call("retrieve_entities"))["entities"]
    (known, *_) = (each.get("entity_id") or each["id"] for each in reported)
    entity = await driver.call("get_entity_snapshot", entity_id=known)
    kept = {name: each["value"] for name, each in (entity.get("raw_fragments") or {}).items()}
    return {**entity["snapshot"], **kept}


async def read_card(driver: ToolDriver, *lines: str) -> dict[str, Any]:
    return await ingest_file(driver, "text/vcard", *CARD, *lines, "END:VCARD")


async def read_event(driver: ToolDriver, *lines: str, method: str = "REQUEST") -> dict[str, Any]:
    head = ("BEGIN:VCALENDAR", "VERSION:2.0", f"METHOD:{method}")
    tail = ("END:VEVENT", "END:VCALENDAR")
    return await ingest_file(driver, "text/calendar", *head, *EVENT, *lines, *tail)


async def test_a_card_keeps_nicknames_second_values_and_unknown_fields() -> None:
    driver = make_driver()
    kept = await read_card(
        driver,
        "NICKNAME:Annie,Nan",
        "ADR;type=HOME:;;Elm St 1;Berlin;;10115;Germany",
        "ADR;type=WORK:;;Oak St 2;Bonn;;53111;Germany",
        "ORG:Acme",
        "ORG:Alder",
        "item2.X-ABDATE;type=pref:2015-06-20",
        "item2.X-ABLabel:_$!<Anniversary>!$_",
        "RELATED;TYPE=spouse:Tom Lee",
        "CATEGORIES:friends",
        "IMPP:xmpp:ann@x.example",
    )
    found = await driver.call("get_entity_by_identifier", identifier="Annie")

    assert set(kept["aliases"]) == {"Annie", "Nan"}
    assert (kept["address"], kept["other_address"]) == (
        "Elm St 1, Berlin, 10115, Germany",
        "Oak St 2, Bonn, 53111, Germany",
    )
    assert (kept["organization"], kept["other_organization"]) == ("Acme", "Alder")
    assert (kept["anniversary"], kept["related"]) == ("2015-06-20", "Tom Lee")
    assert "friends" in str(kept["categories"])
    assert kept["impp"] == "xmpp:ann@x.example"
    assert len(found["entities"]) == 1


@pytest.mark.parametrize(
    ("lines", "field", "value"),
    [
        (("FN;ENCODING=QUOTED-PRINTABLE:=4A=C3=BC=72=67=65=\r\n=6E",), "name", "J\u00fcrgen"),
        (("N:Ito;Ken;;;", "TEL:+81 3 0000 0000"), "name", "Ken Ito"),
        (("FN:Mia", "TEL;VALUE=uri:tel:+4912345678;ext=9"), "phone", "+4912345678 ext. 9"),
        (("FN:Mia", "EMAIL:mailto:mia@x.example"), "email", "mia@x.example"),
    ],
)
async def test_telephone_cards_are_read_completely(
    lines: tuple[str, ...], field: str, value: str
) -> None:
    version = "VERSION:2.1" if "QUOTED" in lines[0] else "VERSION:3.0"
    whole = ("BEGIN:VCARD", version, *lines, "END:VCARD")
    assert (await ingest_file(make_driver(), "text/vcard", *whole))[field] == value


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("REV:2024-06-01T10:00:00Z", "REV:2011-06-01T10:00:00Z"),
        ("REV:20240601T100000Z", "REV:20110601T100000Z"),
        ("REV:2024-06-01", "REV:2011-06-01"),
    ],
)
async def test_an_older_card_imported_later_does_not_win(newer: str, older: str) -> None:
    driver = make_driver()
    await read_card(driver, "TITLE:CTO", newer)
    assert (await read_card(driver, "TITLE:Intern", older))["title"] == "CTO"
    assert (await read_card(driver, "TITLE:Intern", older))["title"] == "CTO"


async def test_a_card_of_the_future_counts_as_of_now() -> None:
    driver = make_driver()
    await read_card(driver, "TITLE:Seer", "REV:2999-01-01T00:00:00Z")
    assert (await read_card(driver, "TITLE:CTO"))["title"] == "CTO"


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        (("DTSTAMP:20240502T100000Z",), ("DTSTAMP:20240501T100000Z",)),
        (
            ("DTSTAMP:20240501T100000Z", "SEQUENCE:2"),
            ("DTSTAMP:20240501T100000Z", "SEQUENCE:1"),
        ),
        (
            ("DTSTAMP:20240601T100000Z", "LAST-MODIFIED:20240502T100000Z"),
            ("DTSTAMP:20240601T100000Z", "LAST-MODIFIED:20240501T100000Z"),
        ),
    ],
)
async def test_an_older_invitation_imported_later_does_not_win(
    newer: tuple[str, ...], older: tuple[str, ...]
) -> None:
    driver = make_driver()
    await read_event(driver, "LOCATION:Roof", *newer)
    assert (await read_event(driver, "LOCATION:Cellar", *older))["location"] == "Roof"


async def test_a_called_off_invitation_is_cancelled() -> None:
    driver = make_driver()
    await read_event(driver, "DTSTAMP:20240501T100000Z", "STATUS:CONFIRMED")
    kept = await read_event(driver, "DTSTAMP:20240502T100000Z", "STATUS:CONFIRMED", method="CANCEL")
    assert kept["status"] == "CANCELLED"


async def test_an_event_keeps_values_without_a_field() -> None:
    kept = await read_event(
        make_driver(), "URL:https://x.example/1", "CATEGORIES:home", "GEO:52.5;13.4"
    )
    assert kept["url"] == "https://x.example/1"
    assert kept["tags"] == ["home"]
    assert "geo" in kept


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("Mon, 13 May 2024 09:00:00 -0000", "2024-05-13T09:00:00Z"),
        ("Mon, 13 May 2024 09:00:00 GMT", "2024-05-13T09:00:00Z"),
        ("13 May 2024 09:00 +0200 (CEST)", "2024-05-13T07:00:00Z"),
        ("Mon, 13 May 2024 09:00:00", "Mon, 13 May 2024 09:00:00"),
        ("yesterday", "yesterday"),
    ],
)
async def test_a_message_has_its_instant_or_keeps_its_date_as_written(
    written: str, sent: str
) -> None:
    head = ("From: Ann <ann@x.example>", "To: me@y.example", "Subject: Lunch", f"Date: {written}")
    kept = await ingest_file(
        make_driver(), "message/rfc822", *head, "Message-ID: <a@x>", "", "At noon."
    )
    assert kept["sent_at"] == sent


async def test_an_older_message_does_not_rename_its_sender() -> None:
    driver = make_driver()
    for year, name in ((2024, "Ann Lee"), (2011, "Ann Roe")):
        head = (f"From: {name} <ann@x.example>", "To: me@y.example", "Subject: Lunch")
        date = f"Date: Mon, 13 May {year} 09:00:00 +0000"
        await ingest_file(
            driver, "message/rfc822", *head, date, f"Message-ID: <{year}@x>", "", "Noon."
        )
    found = await driver.call("get_entity_by_identifier", identifier="ann@x.example")
    assert {each["canonical_name"] for each in found["entities"]} >= {"Ann Lee"}
    assert not [e for e in found["entities"] if e["snapshot"].get("name") == "Ann Roe"]
