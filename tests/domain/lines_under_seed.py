"""Print the bytes that extraction and canonization make of many inputs; run it as a program.

Python orders sets of texts by a seed of the process, so that only other processes can show that
nothing depends on it.
"""

import asyncio
import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import msgspec

from canonry.canon.maintenance.log_transfer import export_log
from canonry.canon.ports.files import FileHint
from canonry.documents.extraction.rules import interpret_reading
from canonry.documents.readers import LocalReader
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.testing.example_items import MIDDLE_EARTH
from tests.toolsets.truth.kit import make_driver
from tests.usecases.stage import Stage, a_stage

DOCUMENTS = Path(__file__).parents[3] / "shared" / "data" / "documents"
READ_AT_ONCE = {".csv", ".json", ".md"}
COLUMNS = {
    "date": "2025-01-15",
    "amount": "12.50",
    "merchant": "Market",
    "description": "Tea",
    "currency": "EUR",
    "name": "Ada Byron",
    "email": "ada@example.org",
    "company": "Example GmbH",
}
TEXTS = (
    "Invoice\n\nInvoice Number: R-7\nDate: 2025-01-15\nVendor: Acme\nTotal: 1.250,00 EUR\n",
    "Rechnung Nr. 7\nDatum: 15.01.2025\nGesamtbetrag: 1.250,00 EUR\nFällig: 30.01.2025\n",
    "Receipt\nStore: Market\nTotal: $12.50\nPaid by card\nDate: 01/15/2025\n",
    "Service Agreement\nParties: Acme Ltd, Byron GmbH\nEffective Date: 2025-01-15\n",
    "Meeting notes\nAttendees: Ada, Ben\nAgenda: tea\nAction items: Ada buys tea\nTags: a, b\n",
)
SCENE = (
    ("fact", {"statement": "Sam trusts Frodo", "entity_ids": ["$sam", "$f"]}),
    ("event", {"title": "They leave", "actors": ["$sam", "$f"]}),
    ("state_change", {"entity": "$sam", "changes": {"add": ["tired", "hungry", "brave"]}}),
    ("relationship", {"from": "$sam", "to": "$f", "rel_type": "ALLY_OF"}),
    ("entity", {"name": "Sam", "entity_type": "character", "ref": "$sam"}),
    ("entity", {"name": "Frodo", "entity_type": "character", "ref": "$f"}),
    ("fact", {"statement": "Sam does not trust Frodo", "entity_ids": ["$sam", "$f"]}),
    ("state_change", {"entity": "$sam", "changes": {"add": ["dead", "alive"]}}),
)


def files() -> Iterator[tuple[str, bytes]]:
    """Tables of all sorts of columns, texts, and the sample files where they are."""
    for size in (2, 3):
        for names in permutations(COLUMNS, size):
            row = ",".join(COLUMNS[name] for name in names)
            yield "table.csv", f"{','.join(names)}\n{row}\n{row}\n".encode()
    for text in TEXTS:
        yield "text.md", text.encode()
    for path in sorted(DOCUMENTS.glob("*")):
        if path.suffix in READ_AT_ONCE:
            yield path.name, path.read_bytes()


def silent(done: int, total: int | None) -> None:
    """Nobody watches."""


async def list_lines() -> Iterator[bytes]:
    """Everything, a line each."""
    reader, lines = LocalReader(), list[bytes]()
    for name, data in files():
        reading = await reader.examine_file(data, FileHint(mime_type="", name=name))
        lines.append(msgspec.json.encode(interpret_reading(reading, tuple(TRUTH_TYPES.values()))))
    driver = make_driver()
    for number, text in enumerate(TEXTS):
        record = {"entity_type": "note", "title": f"t{number}", "content": text, "tags": ["b", "a"]}
        await driver.ingest(record, {"entity_type": f"kind{number}", **COLUMNS})
    lines += [line async for line in export_log(driver.canon.ledger, silent)]
    lines += [line async for line in export_log((await canonized()).canon.ledger, silent)]
    return iter(lines)


async def canonized() -> Stage:
    """A stage whose proposals were judged."""
    stage = await a_stage()
    for kind, content in SCENE:
        await stage.propose(kind, content)
    await stage.canonize()
    assert await stage.canon.ledger.head_position(MIDDLE_EARTH) > len(SCENE)
    return stage


if __name__ == "__main__":
    for line in asyncio.run(list_lines()):
        sys.stdout.buffer.write(line.rstrip(b"\n") + b"\n")
