"""Print the megabytes that an import of so many rows takes; run it as a program.

`read` prints the memory that stays after reading, `kept` the most that the whole import had
resident, `few-pages` the same with page caches that are soon full.
"""

import asyncio
import base64
import gc
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from canonry.app.embedded import open_embedded
from canonry.canon.ports.files import FileHint
from canonry.documents.interpreters.rules import RulesInterpreter
from canonry.documents.readers import LocalReader
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.log.items.sources import DEFAULT_USER
from canonry.log.schemas.truth_types import TRUTH_TYPES
from canonry.records.domain import interpretations
from canonry.records.domain import interpretations as record_bounds
from canonry.records.toolset import TRUTH
from canonry.records.usecases import record_source as record_batches
from canonry.stores.sqlite import connections

BATCH = 400
PAGES_KB = 2_048
"""So many pages each connection holds, so that what grows is not what a store may hold anyway."""


def payments_table(rows: int) -> bytes:
    """Payments of which no two are the same."""

    def lines() -> Iterator[str]:
        yield "transaction_id,date,payee,amount,currency\n"
        for n in range(rows):
            day = f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}"
            yield f"T-{n},{day},Shop {n % 500},-{n % 1000}.50,EUR\n"

    return "".join(lines()).encode()


def resident_megabytes(line: str) -> int:
    """Megabytes of this process, by a line of its status."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(each for each in status if each.startswith(line)).split()[1]) // 1024


async def read_rows(rows: int) -> int:
    """Read the rows, and keep nothing but what was found in them."""
    reading = await LocalReader().examine_file(payments_table(rows), FileHint(name="bank.csv"))
    found = await RulesInterpreter().interpret_reading(reading, {}, tuple(TRUTH_TYPES.values()))
    del reading
    gc.collect()
    assert len(found.entities) == rows
    return resident_megabytes("VmRSS")


async def few_pages(rows: int) -> int:
    """The same, where each connection holds few pages of the store."""
    for name in ("CACHE_KB", "_WRITERS_CACHE_KB"):
        setattr(connections, name, PAGES_KB)
    return await keep_rows(rows)


async def keep_rows(rows: int) -> int:
    """Make them canon in batches that are small, so that most of the memory is what grows."""
    for module, name in (
        (record_batches, "RECORDS_MAX"),
        (record_batches, "TOGETHER"),
        (record_bounds, "RECORDS_MAX"),
        (interpretations, "_HELD_MAX"),
        (interpretations, "_TOGETHER"),
    ):
        setattr(module, name, BATCH)
    with tempfile.TemporaryDirectory() as folder:
        store = await open_embedded(Path(folder))
        file = {
            "file_content": base64.b64encode(payments_table(rows)).decode(),
            "mime_type": "text/csv",
        }
        gateway, user = Gateway(store.canon, [TRUTH]), Principal(agent_id="bank")
        outcome = await gateway.call("ingest", {"user_id": DEFAULT_USER, **file}, user)
        await store.close()
    assert outcome.body["entities_total"] == rows, outcome.text
    return resident_megabytes("VmHWM")


if __name__ == "__main__":
    _, what, count = sys.argv
    measures = {"read": read_rows, "kept": keep_rows, "few-pages": few_pages}
    print(asyncio.run(measures[what](int(count))))  # noqa: T201 - the reply of this program
