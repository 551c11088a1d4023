"""Erasing what records said: with an entity go its corrections, with a source what it told."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from canonry.app.embedded import Embedded, open_embedded
from canonry.canon.maintenance.erase import Mention, erase_items, plan_erasure
from canonry.canon.maintenance.log_transfer import verify_store
from canonry.log.entries import Tombstone
from canonry.log.items.sources import SourceType
from canonry.readmodels.ports.state import IdentifierQuery, TimelineQuery
from canonry.testing.clocks import Scribe, a_caller
from canonry.testing.example_items import (
    a_record,
    a_run,
    a_source,
    a_space,
    an_entity,
    some_evidence,
    uuid_of,
)
from canonry.values.provenance import EvidenceKind

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("plain_rows")]

SECRET = "xanthippe@agora.org"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Embedded]:
    opened = await open_embedded(tmp_path)
    scribe = Scribe(opened.canon)
    result = a_record("guest", "told", due=1)
    result = replace(result, fields={**result.fields, "properties.email": SECRET})
    fixed = replace(
        a_record("guest", "fixed", due=2, correction=True, priority=1000),
        evidence=some_evidence("fix", EvidenceKind.SOURCE),
    )
    await scribe.make_items(
        a_space(),
        a_source("ledger", source_type=SourceType.RECORDS, content=f'["{SECRET}"]'),
        an_entity("guest", entity_type="person"),
        an_entity("other", entity_type="person"),
        result,
        a_record("other", "told of another", due=1),
        a_run("run", "ledger"),
    )
    await scribe.make_items(a_source("fix", source_type=SourceType.CORRECTION, content="{}"), fixed)
    yield opened
    await opened.close()


def ignore_progress(done: int, total: int | None) -> None:
    """Ignore progress, because no test watches it."""


async def test_corrections_are_erased_with_their_entity_and_sources_named(
    store: Embedded,
) -> None:
    plan = await plan_erasure(store.canon, "entity", uuid_of("guest"))

    assert dict(plan.counts) == {"entity": 1, "observation": 2, "source": 1}
    assert uuid_of("fix") in plan.targets
    assert plan.mentions == (Mention(kind="source", id=uuid_of("ledger")),)


async def test_a_source_is_erased_with_everything_read_from_it(
    store: Embedded, tmp_path: Path
) -> None:
    canon = store.canon
    for kind, name in (("entity", "guest"), ("source", "ledger")):
        plan = await plan_erasure(canon, kind, uuid_of(name))
        await erase_items(canon, store.maintenance, a_caller(), plan, reason="asked for")

    assert not (await verify_store(canon.ledger, store.maintenance, ignore_progress)).findings
    assert await canon.state.entities_identified(IdentifierQuery(keys=(SECRET,))) == {}
    assert (await canon.state.timeline(TimelineQuery(superseded=True))).total == 0
    other = (await canon.state.items_by_id((uuid_of("other"),)))[uuid_of("other")]
    assert isinstance(other, Tombstone)  # of which nothing else told
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert SECRET.encode() not in path.read_bytes(), path
