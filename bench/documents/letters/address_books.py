"""Address books as the large services export them, with the columns that each of them writes."""

from collections.abc import Iterator
from typing import Any, Final

from bench.documents.case import Case

_GOOGLE: Final = """\
First Name,Middle Name,Last Name,Phonetic First Name,Nickname,File As,Organization Name,\
Organization Title,Organization Department,Birthday,Notes,Photo,Labels,E-mail 1 - Label,\
E-mail 1 - Value,E-mail 2 - Label,E-mail 2 - Value,Phone 1 - Label,Phone 1 - Value,\
Address 1 - Label,Address 1 - Formatted,Website 1 - Label,Website 1 - Value
Ada,,Lovelace,,,,Engines Ltd,Analyst,Research,,met at the fair,,* myContacts,* Work,\
ada@engines.example,Home,ada@home.example,Mobile,+44 20 7946 0018,Work,"1 Mill Lane, Ashford",\
Profile,https://ada.example
Bram,,Jansen,,,,,,,,,,* myContacts,* Home,bram@post.example,,,Mobile,+31 6 12345678,,,,
"""
_GOOGLE_OLD: Final = """\
Name,Given Name,Additional Name,Family Name,Yomi Name,Group Membership,E-mail 1 - Type,\
E-mail 1 - Value,Phone 1 - Type,Phone 1 - Value,Organization 1 - Type,Organization 1 - Name,\
Organization 1 - Title,Organization 1 - Department
Katrin Vogel,Katrin,,Vogel,,* myContacts,* Work,katrin@post.example,Mobile,+49 171 1234567,,\
Falkenberg Software GmbH,Entwicklerin,
"""
_OUTLOOK: Final = """\
First Name,Middle Name,Last Name,Title,Suffix,Nickname,E-mail Address,E-mail 2 Address,\
Home Phone,Business Phone,Mobile Phone,Job Title,Company,Department,Business Street,\
Business City,Business Postal Code,Business Country/Region,Web Page,Birthday,Notes
Owen,,Price,,,,owen@brackley.example,,,+44 20 7946 0011,+44 7700 900123,Joiner,\
Brackley Joinery Ltd,Workshop,14 Mill Lane,Ashford,AS1 2BC,United Kingdom,,,
Maya,J.,Whitfield,,,,maya@post.example,,+44 20 7946 0012,,,,,,,,,,,,
"""
_OUTLOOK_GERMAN: Final = """\
Vorname;Weitere Vornamen;Nachname;Firma;Abteilung;Position;Telefon geschäftlich;Mobiltelefon;\
E-Mail-Adresse;Webseite;Notizen
Jens;;Hartwig;Tischlerei Brandt GmbH;Montage;Meister;+49 30 1234567;+49 171 7654321;\
jens@brandt.example;;
Lena;;Kowalski;;;;;+49 171 1112223;lena@post.example;;
"""
_LINKEDIN: Final = """\
Notes:
"When exporting your connection data, you may notice that some of the email addresses are missing."

First Name,Last Name,URL,Email Address,Company,Position,Connected On
Nadia,Rahman,https://www.linkedin.com/in/nadia-r,nadia@post.example,Fairholm Software Ltd,\
Engineer,03 May 2024
Colin,Frost,https://www.linkedin.com/in/colin-f,,Northgate Lettings Limited,Director,28 Feb 2025
"""
_APPLE: Final = """\
First name,Last name,Email (work),Email (home),Phone (mobile),Phone (work),Organization,\
Job title,Department,Note
Camille,Rousset,camille@clairval.example,,+33 6 12 34 56 78,,Clairval Logiciels SAS,Ingénieure,,
Marc,Delaunay,,marc@post.example,,+33 1 23 45 67 89,,,,
"""
_CARDS: Final = """\
BEGIN:VCARD
VERSION:3.0
N:Fontana;Giulia;;;
FN:Giulia Fontana
ORG:Chiaravalle Software S.r.l.;Ricerca
TITLE:Ingegnere
EMAIL;TYPE=WORK:giulia@chiaravalle.example
TEL;TYPE=CELL:+39 333 1234567
END:VCARD
BEGIN:VCARD
VERSION:2.1
N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Zieli=C5=84ska;Agnieszka
FN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:Agnieszka Zieli=C5=84ska
TEL;CELL:+48 601 234 567
END:VCARD
"""


def _contact(name: str, **fields: Any) -> dict[str, Any]:
    return {"entity_type": "contact", "name": name, **fields}


_TRUTH: Final[dict[str, tuple[str, str, list[dict[str, Any]]]]] = {
    "google": (
        "contacts.csv",
        _GOOGLE,
        [
            _contact(
                "Ada Lovelace",
                email="ada@engines.example",
                phone="+44 20 7946 0018",
                organization="Engines Ltd",
                title="Analyst",
                notes="met at the fair",
            ),
            _contact("Bram Jansen", email="bram@post.example", phone="+31 6 12345678"),
        ],
    ),
    "google-old": (
        "google.csv",
        _GOOGLE_OLD,
        [
            _contact(
                "Katrin Vogel",
                email="katrin@post.example",
                phone="+49 171 1234567",
                organization="Falkenberg Software GmbH",
                title="Entwicklerin",
            )
        ],
    ),
    "outlook": (
        "contacts.csv",
        _OUTLOOK,
        [
            _contact(
                "Owen Price",
                email="owen@brackley.example",
                phone=("+44 7700 900123", "+44 20 7946 0011"),
                organization="Brackley Joinery Ltd",
                title="Joiner",
            ),
            _contact("Maya J. Whitfield", email="maya@post.example", phone="+44 20 7946 0012"),
        ],
    ),
    "outlook-german": (
        "kontakte.csv",
        _OUTLOOK_GERMAN,
        [
            _contact(
                "Jens Hartwig",
                email="jens@brandt.example",
                phone=("+49 171 7654321", "+49 30 1234567"),
                organization="Tischlerei Brandt GmbH",
                title="Meister",
            ),
            _contact("Lena Kowalski", email="lena@post.example", phone="+49 171 1112223"),
        ],
    ),
    "linkedin": (
        "Connections.csv",
        _LINKEDIN,
        [
            _contact(
                "Nadia Rahman",
                email="nadia@post.example",
                organization="Fairholm Software Ltd",
                title=("Engineer",),
                linkedin_url="https://www.linkedin.com/in/nadia-r",
                connected_on="2024-05-03",
            ),
            _contact(
                "Colin Frost",
                email=None,
                organization="Northgate Lettings Limited",
                connected_on="2025-02-28",
            ),
        ],
    ),
    "apple": (
        "contacts.csv",
        _APPLE,
        [
            _contact(
                "Camille Rousset",
                email="camille@clairval.example",
                phone="+33 6 12 34 56 78",
                organization="Clairval Logiciels SAS",
                title="Ingénieure",
            ),
            _contact("Marc Delaunay", email="marc@post.example", phone="+33 1 23 45 67 89"),
        ],
    ),
    "cards": (
        "contacts.vcf",
        _CARDS,
        [
            _contact(
                "Giulia Fontana",
                email="giulia@chiaravalle.example",
                phone="+39 333 1234567",
                organization="Chiaravalle Software S.r.l.",
                title="Ingegnere",
            ),
            _contact("Agnieszka Zielińska", phone="+48 601 234 567"),
        ],
    ),
}


def address_books() -> Iterator[Case]:
    """One of each service."""
    for name, (file_name, text, truth) in _TRUTH.items():
        yield Case(
            group="contacts",
            name=f"contacts-{name}",
            file_name=file_name,
            data=text.encode(),
            truth=truth,
            kept=False,
        )
