"""A user's canon of a stated size: companies, their invoices, and edges between invoices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.worlds import Scribe
from canonry.app.embedded import Embedded, open_embedded
from canonry.canon.session.lookup import Account as Whose
from canonry.gateway.call import Gateway
from canonry.gateway.principal import Principal
from canonry.log.entries import Made
from canonry.log.items.sources import DEFAULT_USER, account_space
from canonry.records.toolset import TRUTH
from canonry.records.usecases.relationships import make_edge
from canonry.stores.sqlite import Durability
from canonry.values.ids import EntityId
from canonry.values.moments import DAY, Instant, parse_instant, render_instant
from canonry.values.provenance import Authority

BULK = 1_000
OFTEN, SELDOM, A_SITTING = 10_000, 10, 100
STEPS = (1, 7, 13)
"""Each invoice refers to those so many places on, and to its vendor: two edges an entity."""

_CALLER = Principal(agent_id="bench")
_BEGINNING = parse_instant("1995-01-01T00:00:00Z")


@dataclass(slots=True)
class Account:
    """The written items, for drawing arguments from; `middle` is an instant amid the writing."""

    user_id: str = DEFAULT_USER
    companies: list[str] = field(default_factory=list)
    invoices: list[str] = field(default_factory=list)
    single: Mapping[str, Any] = field(default_factory=dict)
    middle: str = ""


def company(number: int) -> dict[str, Any]:
    """A company that is distinguished by its tax number."""
    return {
        "entity_type": "company",
        "name": f"Company {number:07}",
        "tax_id": f"DE{number:09}",
        "email": f"office@company-{number}.test",
    }


def invoice(number: int, vendor: int) -> dict[str, Any]:
    """An invoice of the company with the number `vendor`."""
    issued = Instant(_BEGINNING + number % 9_000 * DAY)
    return {
        "entity_type": "invoice",
        "invoice_number": f"INV-{number:07}",
        "vendor_name": f"Company {vendor:07}",
        "invoice_date": render_instant(issued)[:10],
        "due_date": render_instant(Instant(issued + 30 * DAY))[:10],
        "amount_due": 100.0 + number,
        "currency": "EUR",
    }


def transactions(series: int, merchants: int = 0) -> list[dict[str, Any]]:
    """Records of one bank statement, with so many different merchants."""
    return [
        {
            "entity_type": "transaction",
            "transaction_id": f"T{series}-{merchants}-{number}",
            "posting_date": f"2025-{number % 12 + 1:02}-{number % 28 + 1:02}",
            "amount": number / 4,
            "currency": "EUR",
            "description": f"Payment {number}",
            **({"merchant_name": f"Shop {number % merchants}"} if merchants else {}),
        }
        for number in range(BULK)
    ]


async def fill(folder: Path, entities: int) -> Account:
    """Half companies, half invoices, two edges for each entity."""
    account, half = Account(), entities // 2
    store = await open_embedded(folder, durability=Durability.NORMAL)
    try:
        gateway = Gateway(store.canon, [TRUTH])
        for start in range(0, half, 100):
            numbers = range(start, min(start + 100, half))
            account.companies += await _ingest_records(gateway, [company(each) for each in numbers])
            account.invoices += await _ingest_records(
                gateway, [invoice(each, each) for each in numbers]
            )
            if start <= half // 2:
                account.middle = render_instant(store.canon.clock.now())
        account.single = invoice(half, 0)
        await _ingest_records(gateway, [account.single])
        await _relate(store, account)
    finally:
        await store.close()
    return account


async def _relate(store: Embedded, account: Account) -> None:
    whose = Whose(user_id=account.user_id, space=account_space(account.user_id))
    scribe = Scribe(store.canon, whose.space)
    ids, count = account.invoices, len(account.invoices)
    for number, from_id in enumerate(ids):
        for step in STEPS:
            to_id = EntityId(ids[(number + step) % count])
            relation = make_edge(
                whose,
                "REFERS_TO",
                EntityId(from_id),
                to_id,
                metadata={},
                authority=Authority.PLAYER,
            )
            await scribe.add(Made(thing=relation))
    await scribe.flush()


async def long_histories(folder: Path) -> dict[str, tuple[str, str]]:
    """Write long histories in several orders; return their entities and an instant within each."""
    store = await open_embedded(folder, durability=Durability.NORMAL)
    try:
        gateway = Gateway(store.canon, [TRUTH])
        return {
            name: await _history(gateway, name, days)
            for name, days in (
                (f"{SELDOM} observations", range(SELDOM)),
                (f"{OFTEN:,} observations", range(OFTEN)),
                (f"{OFTEN:,} told in reverse", range(OFTEN - 1, -1, -1)),
            )
        }
    finally:
        await store.close()


async def _history(gateway: Gateway, name: str, days: Sequence[int]) -> tuple[str, str]:
    """Write the observations of `days` in their order; return the entity and a day among them."""
    size = 1 if len(days) == SELDOM else A_SITTING
    for start in range(0, len(days), size):
        sitting = days[start : start + size]
        (entity_id, *_) = await _ingest_records(gateway, _seen(name, sitting), seen_at=sitting[-1])
    return entity_id, _day(len(days) // 2)


def _seen(name: str, days: Sequence[int]) -> list[dict[str, Any]]:
    return [
        {"entity_type": "invoice", "invoice_number": name, "amount_due": float(day), "notes": name}
        for day in days
    ]


def _day(number: int) -> str:
    return render_instant(Instant(_BEGINNING + number * DAY))


async def _ingest_records(
    gateway: Gateway, records: Sequence[Mapping[str, Any]], *, seen_at: int | None = None
) -> list[str]:
    arguments: dict[str, Any] = {"user_id": DEFAULT_USER, "entities": list(records)}
    if seen_at is not None:
        arguments["provenance"] = {"extracted_at": _day(seen_at), "extractor_version": "1"}
    outcome = await gateway.call("ingest", arguments, _CALLER)
    if outcome.error is not None:
        raise RuntimeError(f"ingest answers {outcome.text}")
    return [each["entity_id"] for each in outcome.body["entities"]]
