"""A store moves into a database and back, with its files, and both export the same bytes."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from canonry.app.doctor import move_store, report_nothing
from canonry.canon.maintenance.log_transfer import export_log
from canonry.log.commits import ORIGIN
from canonry.log.ports.ledger import Ledger
from canonry.testing.clocks import Scribe
from canonry.testing.conformance.chronicle import write_chronicle
from canonry.testing.conformance.kit import require_part, view_answers
from canonry.testing.example_items import MIDDLE_EARTH, a_fact
from canonry.values.errors import BrokenInvariant, Conflict
from tests.conformance.postgres_store import Schemas, open_schemas
from tests.conformance.sqlite_store import Folders

pytestmark = pytest.mark.anyio


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[tuple[Folders, Schemas]]:
    async with open_schemas(tmp_path / "shared") as opened:
        yield Folders(root=tmp_path, closing=opened.closing), opened


async def export_ledger(ledger: Ledger) -> Sequence[bytes]:
    return [line async for line in export_log(ledger, report_nothing)]


async def test_a_store_moved_there_and_back_stays_the_same(
    both: tuple[Folders, Schemas],
) -> None:
    folders, databases = both
    embedded, shared, back = await folders.fresh(), await databases.fresh(), await folders.fresh()
    await write_chronicle(embedded)
    before = await export_ledger(embedded.canon.ledger)

    there = await move_store(embedded.canon, shared.canon, report_nothing)
    again = await move_store(shared.canon, back.canon, report_nothing)

    assert there.digest == again.digest
    assert (
        await export_ledger(shared.canon.ledger) == await export_ledger(back.canon.ledger) == before
    )
    answer = await view_answers(embedded.canon)
    assert await view_answers(shared.canon) == answer
    assert await view_answers(back.canon) == answer
    assert (await require_part(shared.maintenance).verify(report_nothing)).findings == ()


async def test_an_interrupted_move_continues(both: tuple[Folders, Schemas]) -> None:
    folders, databases = both
    source, target = await folders.fresh(), await databases.fresh()
    scribe = Scribe(source.canon)
    for n in range(20):
        await scribe.make_items(a_fact(f"fact {n}"))
    log = await source.canon.ledger.read_sealed(MIDDLE_EARTH, after=ORIGIN, limit=7)
    await target.canon.ledger.restore_commits(log)

    moved = await move_store(source.canon, target.canon, report_nothing)
    once_more = await move_store(source.canon, target.canon, report_nothing)

    assert (moved.log.commits, moved.log.known) == (20, 7)
    assert once_more.log.known == 20


async def test_a_target_with_other_content_is_refused(
    both: tuple[Folders, Schemas],
) -> None:
    folders, databases = both
    source, target = await folders.fresh(), await databases.fresh()
    await Scribe(source.canon, "ours").make_items(a_fact("ours"))
    await Scribe(target.canon, "theirs").make_items(a_fact("theirs"))

    with pytest.raises(Conflict) as caught:
        await move_store(source.canon, target.canon, report_nothing)

    assert caught.value.code == "import.diverged"


async def test_writes_into_the_target_meanwhile_are_reported(
    both: tuple[Folders, Schemas],
) -> None:
    folders, databases = both
    source, target = await folders.fresh(), await databases.fresh()
    await Scribe(source.canon).make_items(a_fact("one"))
    await move_store(source.canon, target.canon, report_nothing)
    await Scribe(target.canon, "late").make_items(a_fact("two"))

    with pytest.raises(BrokenInvariant) as caught:
        await move_store(source.canon, target.canon, report_nothing)

    assert caught.value.code == "move.differs"
