"""Ingesting a source: what is kept, that again adds nothing, and what happens with others about."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from canonry.app.compose import compose_memory
from canonry.app.embedded import open_embedded
from canonry.canon.commands.sources import (
    SNIPPETS_PER_COMMIT,
    Ingested,
    NewSource,
    create_source,
    ingest_source,
)
from canonry.canon.commands.universes import create_universe
from canonry.canon.queries.listings import query_snippets
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import Change, commit_change, first_made
from canonry.language.texts.sentences import DocumentType
from canonry.log.entries import Erased, Tombstone
from canonry.log.items.sources import Snippet, SourceDraft, SourceType
from canonry.testing.clocks import a_caller
from canonry.values.errors import InvalidInput, NotFound, Unavailable
from canonry.values.ids import NewId, SpaceDraft, SpaceId, SpaceKind
from canonry.values.provenance import CanonLevel

pytestmark = pytest.mark.anyio

KEEPER = a_caller()
RULES = b"# Fire\nFire burns.\n\n# Ice\nIce cools."
LONG = "".join(f"## Rule {n}\nDo number {n}.\n\n" for n in range(600)).encode()


@pytest.fixture(params=["memory", "embedded"])
async def canon(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Canon]:
    if request.param == "memory":
        yield compose_memory()
        return
    opened = await open_embedded(tmp_path)
    yield opened.canon
    await opened.close()


async def a_source(canon: Canon, doc_id: str = "rules") -> SourceDraft:
    made = await create_universe(
        canon, KEEPER, kind=SpaceKind.UNIVERSE, name=doc_id, description="A world.", properties={}
    )
    new = NewSource(
        space=first_made(made, SpaceDraft).id,
        doc_id=doc_id,
        title="Rules",
        edition=None,
        origin=None,
        source_type=SourceType.RULEBOOK,
        level=CanonLevel.AUTHORITATIVE,
    )
    return first_made(await create_source(canon, KEEPER, new), SourceDraft)


async def ingest_data(
    canon: Canon,
    source: SourceDraft,
    data: bytes = RULES,
    kind: DocumentType = DocumentType.MARKDOWN,
    *,
    title: str | None = None,
) -> Ingested:
    return await ingest_source(canon, KEEPER, source.id, data, kind, title=title)


async def list_snippets(canon: Canon, source: SourceDraft) -> list[Snippet]:
    found: list[Snippet] = []
    while True:
        page = await query_snippets(canon, KEEPER, source.id, limit=500, offset=len(found))
        found.extend(page.items)
        if len(found) >= page.total:
            return found


async def test_a_document_becomes_snippets_in_reading_order(canon: Canon) -> None:
    source = await a_source(canon)

    done = await ingest_data(canon, source, title="House rules")

    assert (done.first, done.snippets, done.added) == (0, 2, 2)
    assert [(s.index, s.section, s.text, s.page) for s in await list_snippets(canon, source)] == [
        (0, "House rules > Fire", "# Fire\nFire burns.", None),
        (1, "House rules > Ice", "# Ice\nIce cools.", None),
    ]


async def test_a_repeated_document_adds_nothing(canon: Canon) -> None:
    source = await a_source(canon)
    await ingest_data(canon, source)
    head = await canon.ledger.head_position(source.space)

    again = await ingest_data(canon, source)
    as_utf_16 = await ingest_data(canon, source, RULES.decode().encode("utf-16"))

    assert (again.first, again.snippets, again.added) == (0, 2, 0)
    assert as_utf_16 == again
    assert await canon.ledger.head_position(source.space) == head


async def test_another_document_is_appended_and_the_first_is_still_known(canon: Canon) -> None:
    source = await a_source(canon)
    await ingest_data(canon, source)

    other = await ingest_data(canon, source, b"# Wind\nIt blows.")

    assert (other.first, other.added) == (2, 1)
    assert (await ingest_data(canon, source)).added == 0
    assert [each.index for each in await list_snippets(canon, source)] == [0, 1, 2]


async def test_the_same_document_of_another_source_is_separate(canon: Canon) -> None:
    one, other = await a_source(canon, "one"), await a_source(canon, "other")

    await ingest_data(canon, one)

    assert (await ingest_data(canon, other)).added == 2


async def test_a_long_document_is_stored_in_bounded_commits(canon: Canon) -> None:
    source = await a_source(canon)
    before = await canon.ledger.head_position(source.space)
    found: list[tuple[float, float | None]] = []

    async def report_progress(done: float, total: float | None, message: str) -> None:
        found.append((done, total))

    request = (source.id, LONG, DocumentType.MARKDOWN)
    done = await ingest_source(canon, replace(KEEPER, progress=report_progress), *request)

    assert done.added == 600
    assert await canon.ledger.head_position(source.space) == before + -(-600 // SNIPPETS_PER_COMMIT)
    assert [each.index for each in await list_snippets(canon, source)] == list(range(600))
    assert [each.section for each in (await list_snippets(canon, source))[:2]] == [
        "Rule 0",
        "Rule 1",
    ]
    assert found[-1] == (600, 600)


async def test_two_concurrent_documents_keep_separate_positions(canon: Canon) -> None:
    source = await a_source(canon)

    await asyncio.gather(
        ingest_data(canon, source, LONG),
        ingest_data(canon, source, LONG.replace(b"Rule", b"Law")),
        ingest_data(canon, source, LONG),
    )

    found = await list_snippets(canon, source)
    assert [each.index for each in found] == list(range(1_200))
    firsts = [each.section for each in found[::600]]
    assert sorted(each or "" for each in firsts) == ["Law 0", "Rule 0"]


async def test_an_interrupted_ingestion_continues_when_repeated() -> None:
    canon = compose_memory()
    source = await a_source(canon)
    request = (source.id, LONG, DocumentType.MARKDOWN)

    async def leave(done: float, total: float | None, message: str) -> None:
        raise Unavailable("call.deadline", "the caller left after the first commit")

    with pytest.raises(Unavailable):
        await ingest_source(canon, replace(KEEPER, progress=leave), *request)
    assert len(await list_snippets(canon, source)) == 100
    await ingest_data(canon, source)

    assert (await ingest_data(canon, source, LONG)).added == 500
    found = await list_snippets(canon, source)
    assert [each.index for each in found] == list(range(602))
    assert found[599].section == "Rule 599"


async def test_an_erased_snippet_stays_erased(canon: Canon) -> None:
    source = await a_source(canon)
    await ingest_data(canon, source)
    first = (await list_snippets(canon, source))[0]

    async def prepare(new_id: NewId) -> Change:
        return Change(entries=(Erased(targets=(first.id,), reason="asked"),), reads=frozenset())

    await commit_change(canon, KEEPER, source.space, prepare)

    assert (await ingest_data(canon, source)).added == 0
    assert isinstance((await canon.state.items_by_id([first.id]))[first.id], Tombstone)


async def test_an_unreadable_document_writes_nothing(canon: Canon) -> None:
    source = await a_source(canon)
    head = await canon.ledger.head_position(source.space)

    with pytest.raises(InvalidInput) as refused:
        await ingest_data(canon, source, b"\xff\xff\xff", DocumentType.PLAIN)

    assert refused.value.code == "document.encoding"
    assert await canon.ledger.head_position(source.space) == head


async def test_an_invisible_source_takes_no_document(canon: Canon) -> None:
    source = await a_source(canon)
    stranger = replace(KEEPER, spaces=frozenset((SpaceId("elsewhere"),)))
    request = (source.id, RULES, DocumentType.MARKDOWN)

    with pytest.raises(NotFound):
        await ingest_source(canon, stranger, *request)
    with pytest.raises(NotFound):
        await query_snippets(canon, stranger, source.id, limit=1, offset=0)
