"""Nothing is lost: each text of a file is in a field, a fragment, a passage or a member, or noted.

The files hold words that begin with `zq` and end with `x`, one at each place for a text.
"""

import base64
import json
import re
from typing import Any

import pytest

from canonry.canon.ports.files import FileHint
from canonry.documents.readers import LocalReader
from tests.adapters.readers.office import a_letter, a_workbook, an_archive, with_part
from tests.toolsets.truth.kit import a_desk

pytestmark = pytest.mark.anyio

CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
X-WR-CALNAME:zqcalendarx
X-WR-CALDESC:zqcaldescx
BEGIN:VEVENT
UID:zquidx
DTSTAMP:20240501T100000Z
DTSTART:20240603T180000Z
SUMMARY;LANGUAGE=en:zqsummaryx
DESCRIPTION:zqdescx
COMMENT:zqcommentx
COMMENT:zqothercommentx
CONTACT:zqcontactx
ATTENDEE;CN=zqattendeex;ROLE=CHAIR:mailto:a@x.example
ORGANIZER;CN=zqorganizerx:mailto:o@x.example
ATTACH:https://x.example/zqattachx
X-CUSTOM:zqcustomx
BEGIN:VALARM
ACTION:DISPLAY
TRIGGER:-PT15M
DESCRIPTION:zqalarmx
END:VALARM
END:VEVENT
BEGIN:VTODO
UID:t1
DTSTAMP:20240501T100000Z
SUMMARY:zqtodox
DESCRIPTION:zqtododescx
RELATED-TO:zqrelatedx
END:VTODO
BEGIN:VJOURNAL
UID:j1
DTSTAMP:20240501T100000Z
SUMMARY:zqjournalx
END:VJOURNAL
BEGIN:VFREEBUSY
UID:f1
DTSTAMP:20240501T100000Z
COMMENT:zqbusyx
END:VFREEBUSY
END:VCALENDAR
"""
CARD = """BEGIN:VCARD
VERSION:4.0
FN:zqnamex
FN:zqothernamex
EMAIL:zqmailx@x.example
NOTE:zqnotex
NOTE:zqothernotex
TZ:zqzonex
TITLE:zqtitlex
TITLE:zqothertitlex
ROLE:zqrolex
ORG:zqorgx;zqunitx;zqteamx
ADR:zqboxx;zqextx;zqstreetx;zqcityx;;;zqlandx
X-FOO:zqfoox
MEMBER:zqmemberx
END:VCARD
"""
PAGE = """<html><head><title>zqtitlex</title></head><body><!-- zqcommentx -->
<h1>zqheadx</h1><p>zqparax <img src="a.png" alt="zqaltx"> <a href="https://x.example">zqlinkx</a>
<textarea>zqareax</textarea><select><option>zqoptionx</option></select>
<table><caption>zqcaptionx</caption><tr><th>zqthx</th></tr><tr><td>zqtdx</td></tr></table>
<details><summary>zqsumx</summary>zqdetailx</details><s>zqstruckx</s></p></body></html>
"""
MAIL = """From: zqfromx <a@x.example>
To: zqtox <b@x.example>
Cc: zqccx <c@x.example>
Reply-To: zqreplyx <r@x.example>
Subject: zqsubjectx
Date: Mon, 13 May 2024 09:00:00 +0000
Message-ID: <zqidx@x>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: multipart/alternative; boundary=c

--c
Content-Type: text/plain

zqplainx

> zqquotedx
--c
Content-Type: text/html

<p>zqplainx</p>
--c--
--b
Content-Type: text/plain
Content-Disposition: attachment; filename="zqfilex.txt"

zqattachedx
--b
Content-Type: text/plain

zqbelowx
--b
Content-Type: text/html

<p>zqpagex</p>
--b
Content-Type: image/png
Content-ID: <logo>
Content-Disposition: inline; filename=zqlogox.png
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--b--
"""
NOTE = """---
title: zqtitlex
zqkeyx: zqvaluex
list: [zqitemx]
nest: {a: {b: zqnestx}}
---
# zqheadx

<!-- zqcommentx -->
![zqaltx](https://x.example/zqimagex.png "zqimagetitlex") [zqlinkx](https://x.example/zqurlx)

[^1]: zqfootx

> zqquotex

```
zqcodex
```

| a | b |
|---|---|
| zqleftx | zqrightx |
"""
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:p="p"'


def of_word(kind: str, text: str) -> str:
    return f"<w:{kind} {W}><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:{kind}>"


def a_letter_with_parts() -> bytes:
    letter = a_letter("zqbodyx", table=[["zqcellx", "zqothercellx"]])
    for name, kind, text in (
        ("header1", "hdr", "zqheaderx"),
        ("footer2", "ftr", "zqfooterx"),
        ("comments", "comments", "zqcommentx"),
    ):
        letter = with_part(letter, f"word/{name}.xml", of_word(kind, text))
    return letter


def an_open_text() -> bytes:
    content = (
        '<o:body xmlns:o="o" xmlns:t="t"><t:p>zqbodyx<t:note><t:note-body><t:p>zqnotex</t:p>'
        "</t:note-body></t:note></t:p><t:annotation><t:p>zqannotationx</t:p></t:annotation>"
        "</o:body>"
    )
    styles = '<o:s xmlns:o="o" xmlns:t="t"><t:header><t:p>zqheaderx</t:p></t:header></o:s>'
    kind = "application/vnd.oasis.opendocument.text"
    return an_archive({"mimetype": kind, "content.xml": content, "styles.xml": styles})


def some_slides() -> bytes:
    def of(kind: str, text: str) -> str:
        return f"<p:{kind} {A}><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:{kind}>"

    return an_archive(
        {
            "[Content_Types].xml": "<Types/>",
            "ppt/presentation.xml": f"<p:p {A}/>",
            "ppt/slides/slide1.xml": of("sld", "zqslidex"),
            "ppt/notesSlides/notesSlide1.xml": of("notes", "zqspeakerx"),
            "ppt/comments/comment1.xml": f"<p:c {A}><p:text>zqcommentx</p:text></p:c>",
        }
    )


def nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"zqinnerx": "zqdeepestx"}
    for number in range(depth):
        inner = {"level": f"zqlevel{number}x", "inner": inner}
    return {"title": "Deep", **inner}


FILES: dict[str, tuple[str | bytes, dict[str, str]]] = {
    "a.ics": (CALENDAR, {"zqalarmx": "Alarms of entries", "zqbusyx": "somebody is busy"}),
    "a.vcf": (CARD, {}),
    "a.html": (PAGE, {"zqcommentx": "Comments in the source", "zqstruckx": "Struck-out text"}),
    "a.eml": (MAIL, {}),
    "a.md": (NOTE, {}),
    "a.docx": (a_letter_with_parts(), {"zqcommentx": "not read: zqcommentx"}),
    "a.odt": (an_open_text(), {"zqannotationx": "not read: zqannotationx"}),
    "a.pptx": (some_slides(), {"zqcommentx": "not read: zqcommentx"}),
    "a.rtf": (
        r"{\rtf1\ansi{\header zqheaderx}zqbodyx{\footnote zqfootx}{\*\annotation zqnotex}\par}",
        {"zqnotex": "not read: zqnotex"},
    ),
    "a.xlsx": (a_workbook({"Sheet": [["Name", "zqtitlex"], ["zqleftx", "zqrightx"]]}), {}),
    "a.csv": ("Name;zqcolumnx;;\nAnn;zqvaluex;zquntitledx;\n;;;zqfarx\nzqsinglex\n", {}),
    "deep.json": (json.dumps(nested(40)), {}),
    "wrapped.json": (
        json.dumps({"people": [{"name": "zqannx"}], "note": "zqbesidex", "count": 1}),
        {"zqbesidex": "Values beside the list were not read: note: zqbesidex"},
    ),
    "a.zip": (an_archive({"zqfilex.txt": b"zqwithinx"}), {}),
    "a.txt": ("zqfirstx\n\nzqsecondx\n" + "more\n" * 5 + "zqlastx", {}),
}


def marks_in(content: str | bytes, name: str) -> set[str]:
    if isinstance(content, str):
        return set(re.findall(r"zq[a-z0-9]+x", content))
    known = {
        "a.docx": "zqbodyx zqcellx zqothercellx zqheaderx zqfooterx zqcommentx",
        "a.odt": "zqbodyx zqnotex zqannotationx zqheaderx",
        "a.pptx": "zqslidex zqspeakerx zqcommentx",
        "a.xlsx": "zqtitlex zqleftx zqrightx",
        "a.zip": "zqfilex zqwithinx",
    }
    return set(known[name].split())


@pytest.mark.parametrize("name", FILES)
async def test_each_text_of_a_file_can_be_found_or_is_reported(name: str) -> None:
    content, noted = FILES[name]
    data = content.encode() if isinstance(content, str) else content
    desk = a_desk()
    reply = await desk.call(
        "ingest",
        user_id=desk.user,
        file_content=base64.b64encode(data).decode(),
        mime_type="application/octet-stream",
        original_filename=name,
    )
    shown = [json.dumps(reply.get("members", []))]
    for each in (await desk.call("retrieve_entities", limit=100))["entities"]:
        whole = await desk.call("get_entity_snapshot", entity_id=each["id"])
        kept = (whole["snapshot"], whole.get("raw_fragments"))
        shown.append(json.dumps(kept, ensure_ascii=False))
    reading = await LocalReader().examine(data, FileHint(name=name))
    # The text of other kinds is cut into passages.
    shown.append("" if reading.kind.is_data else reading.text)
    lost = {mark for mark in marks_in(content, name) if not any(mark in each for each in shown)}
    notes = " ".join(each["message"] for each in reply["warnings"])

    assert lost == noted.keys()
    assert all(note in notes for note in noted.values())
