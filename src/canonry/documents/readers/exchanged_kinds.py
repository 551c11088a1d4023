"""Files that programs exchange: told by what they begin with, whatever they are called."""

from typing import Final

from canonry.canon.ports.files import FileType

_HEAD: Final = 4_000
_ROOTS: Final = ("Document", "Invoice", "CreditNote", "CrossIndustry")
_SPACES: Final = (
    *("camt.052", "camt.053", "camt.054"),
    *("names:specification:ubl:schema", "CrossIndustryInvoice", "CrossIndustryDocument"),
)
"""What the names of their elements are of."""

_QIF: Final = ("!type:", "!account", "!option:", "!clear:")
_BLOCKS_MAX: Final = 8


def exchanged(begin: str) -> FileType | None:
    """The kind of an exchanged file by its beginning, None where it is none."""
    head = begin[:_HEAD]
    upper = head.upper()
    if upper.startswith(("OFXHEADER", "<OFX>", "<?OFX ")):
        return FileType.OFX
    if upper.startswith("<?XML") and "<?OFX " in upper:
        return FileType.OFX
    if head.lower().startswith(_QIF):
        return FileType.QIF
    if _is_mt940(head):
        return FileType.MT940
    return FileType.XML if head.startswith("<") and _is_known(_root_of(begin)) else None


def _is_mt940(head: str) -> bool:
    """Whether a statement begins there, perhaps behind the blocks of SWIFT."""
    lines = [line for line in head.splitlines() if line.strip()]
    first = next((n for n, line in enumerate(lines[:_BLOCKS_MAX]) if ":20:" in line[:200]), None)
    if first is None or any(line[:1] != "{" for line in lines[:first]):
        return False
    return any(line.startswith((":60F:", ":60M:")) for line in lines[first:])


def _root_of(text: str) -> str:
    """The first tag of a document of XML, behind its declaration and comments."""
    place = 0
    for begin, end in (("<?", "?>"), ("<!--", "-->"), ("<!--", "-->")):
        rest = text[place:].lstrip()
        place = len(text) - len(rest)
        if rest.startswith(begin) and end in rest:
            place += rest.index(end) + len(end)
    tag = text[place : place + _HEAD].lstrip()
    return tag[: tag.find(">") + 1] if tag.startswith("<") else ""


def _is_known(tag: str) -> bool:
    name = tag[1:].split(None, 1)[0].rpartition(":")[2] if len(tag) > 2 else ""  # noqa: PLR2004
    return name.startswith(_ROOTS) and any(space in tag for space in _SPACES)
