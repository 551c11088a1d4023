"""Print the identities of every order of arrival as bytes; run it as a program.

The records are such that nothing is ambiguous in any order, so that every order must tell the same.
"""

import asyncio
import json
import locale
import sys
import time
from collections.abc import Iterator
from itertools import permutations
from typing import Any

from tests.toolsets.truth.kit import ToolDriver, make_driver

SETS: tuple[tuple[dict[str, Any], ...], ...] = (
    (
        {"entity_type": "person", "name": "İpek Ißler", "email": "i@x.test", "role": "cook"},
        {"entity_type": "person", "email": "I@X.test", "phone": "+49 30 100001"},
        {"entity_type": "person", "phone": "+4930100001", "email": ["i@x.test", "k@x.test"]},
        {"entity_type": "person", "email": "i@x.test", "name": "Ipek I.", "role": "clerk"},
    ),
    (
        {"entity_type": "contact", "email": "a@x.test", "organization": "Alpha Ltd"},
        {"entity_type": "contact", "email": "a@x.test", "name": "Ann", "organization": "Beta Ltd"},
        {"entity_type": "contact", "email": "a@x.test", "organization": "Gamma GmbH"},
    ),
    (
        {"entity_type": "invoice", "invoice_number": "R-1", "vendor_name": "Straße AG"},
        {"entity_type": "invoice", "invoice_number": "r-1", "amount_due": 5},
        {"entity_type": "company", "name": "STRASSE AG", "tax_id": "T-1"},
        {"entity_type": "company", "name": "Strasse AG", "aliases": ["Straßen", "Weg"]},
    ),
)


async def describe_account(driver: ToolDriver) -> dict[str, Any]:
    """Everything about an account, by names and never by ids or instants of the log."""
    listed = (await driver.call("retrieve_entities"))["entities"]
    called = {each["id"]: f"{each['entity_type']} {each['canonical_name']}" for each in listed}
    found: dict[str, Any] = {}
    for entity_id, name in called.items():
        read = await driver.call("get_entity_snapshot", entity_id=entity_id)
        edges = await driver.call("list_relationships", entity_id=entity_id, direction="outbound")
        found[name] = {
            "snapshot": {n: order_sets(v) for n, v in sorted(read["snapshot"].items())},
            "keys": [(each["key"], each["status"]) for each in read["keys"]],
            "edges": sorted(called[each["target_entity_id"]] for each in edges["relationships"]),
            "doubts": (await driver.call("list_possible_duplicates", entity_id=entity_id))["total"],
        }
    assert len(found) == len(listed), "two are called the same"
    return dict(sorted(found.items()))


def order_sets(value: Any) -> Any:
    """A list that holds a set, in order."""
    return sorted(value, key=str) if isinstance(value, list) else value


async def statements_of(records: tuple[tuple[int, dict[str, Any]], ...]) -> dict[str, Any]:
    """Return the statements after the records arrive in this order, each on its own day."""
    driver = make_driver()
    for day, record in records:
        at = {"extracted_at": f"2024-03-{day + 1:02}T00:30:00+01:00", "extractor_version": "1"}
        await driver.ingest(record, provenance=at)
    return await describe_account(driver)


def every_order() -> Iterator[list[dict[str, Any]]]:
    """Of each set of records what every order of them comes to."""
    for records in SETS:
        orders = permutations(enumerate(records))
        yield [asyncio.run(statements_of(order)) for order in orders]


if __name__ == "__main__":
    time.tzset()
    locale.setlocale(locale.LC_ALL, "")
    sys.stdout.buffer.write(json.dumps(list(every_order())).encode())
