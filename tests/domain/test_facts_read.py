"""Statements of facts: read once, kept in the log, erased with their fact, found by their keys."""

import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canonry.app.embedded import Embedded, open_embedded
from canonry.canon.maintenance.erase import erase_items, plan_erasure
from canonry.canon.maintenance.log_transfer import verify_store
from canonry.canon.queries.explain import ChangeQuery, list_changes
from canonry.log.commits import Commit, Position
from canonry.log.entries import (
    Erased,
    FactRead,
    FactResumed,
    FactRetconned,
    FactSuperseded,
    Redacted,
    RelationEnded,
    Tombstone,
)
from canonry.log.fold_commit import fold_commit, ids_of
from canonry.log.folding import keys_of, statements_keys
from canonry.log.items.facts import Fact, Relation
from canonry.log.sealing import (
    ENCODING_VERSION,
    GENESIS,
    decode_entry,
    decode_item,
    encode_entry,
    encode_item,
    kind_of,
    seal_commit,
    unseal,
)
from canonry.testing.clocks import Scribe, a_caller, a_draft
from canonry.testing.example_items import (
    MIDDLE_EARTH,
    a_fact,
    a_relation,
    an_event,
    creation_entries,
    uuid_of,
)
from canonry.values.ids import FactId, RelationId
from canonry.values.json_values import decode_json
from canonry.values.moments import Instant
from canonry.values.statements import Phase, Quantity, Statement
from tests.domain.test_canon import a_commit, fold_commits
from tests.strategies import statements

SECRET = "Xanthippe"
OWNS = Statement(subject=uuid_of("bo"), attribute="owns", value="~mill")
LIVES = Statement(
    subject=uuid_of("bo"), attribute="place", value=uuid_of("velm"), phase=Phase.BEGINS
)
TALL = Statement(subject=uuid_of("bo"), attribute="height", value=Quantity(low=1.8, high=1.8))


def a_reading(*found: Statement, name: str = "mill", reader: int = 1) -> FactRead:
    """The entry with the statements of the fact of this name."""
    return FactRead(fact_id=FactId(uuid_of(name)), reader=reader, statements=found)


def the_fact(*entries: FactRead | FactRetconned | Erased, words: str = "Bo owns a mill.") -> Fact:
    """The fact after these entries, each of them a commit of its own."""
    commits = [a_commit(1, *creation_entries(a_fact("mill", statement=words)))]
    commits += [a_commit(n, entry) for n, entry in enumerate(entries, start=2)]
    fact = fold_commits(*commits)[uuid_of("mill")]
    assert isinstance(fact, Fact)
    return fact


def changes_of(*commits: Commit) -> frozenset[str]:
    """The keys that the last of these commits touches."""
    *before, last = commits
    return fold_commit(last, fold_commits(*before)).touched


@settings(max_examples=60)
@given(found=st.lists(statements(), max_size=4), reader=st.integers(1, 9))
def test_statements_are_read_back_equal(found: list[Statement], reader: int) -> None:
    entry = a_reading(*found, reader=reader)
    payload = encode_entry(entry)
    fact = replace(a_fact("mill"), statements=tuple(found), reader=reader)

    assert decode_entry("fact.read", ENCODING_VERSION, payload) == entry
    assert list(map(Statement.from_json, decode_json(payload)["statements"])) == found
    assert decode_item("fact", encode_item(fact)) == fact


@settings(max_examples=60)
@given(found=statements())
def test_equal_statements_are_equal_bytes(found: Statement) -> None:
    again = replace(found, qualifiers=frozenset(sorted(found.qualifiers, reverse=True)))

    assert encode_entry(a_reading(again)) == encode_entry(a_reading(found))
    assert encode_item(the_fact(a_reading(again))) == encode_item(the_fact(a_reading(found)))


def test_an_unread_fact_keeps_its_form_from_before_statements() -> None:
    (entry,) = creation_entries(a_fact("mill"))

    assert not {"statements", "reader"} & set(decode_json(encode_entry(entry)))
    assert not {"statements", "reader"} & set(decode_json(encode_item(a_fact("mill"))))
    assert (the_fact().statements, the_fact().reader) == ((), None)


def test_a_fact_without_findings_differs_from_an_unread_one() -> None:
    silent = the_fact(a_reading())

    assert (silent.statements, silent.reader) == ((), 1)
    assert decode_item("fact", encode_item(silent)) == silent


def test_a_fact_has_the_statements_of_its_last_reading() -> None:
    fact = the_fact(a_reading(OWNS, LIVES), a_reading(TALL, reader=2))

    assert (fact.statements, fact.reader, fact.changed_at) == ((TALL,), 2, 3)
    assert fact.statement == "Bo owns a mill."


def test_a_replay_takes_statements_from_the_log_and_not_from_the_text() -> None:
    result = the_fact(a_reading(LIVES), words="Ana is dead.")

    assert result.statements == (LIVES,)
    assert statements_keys(the_fact(words="Ana is dead.")) == ()
    assert statements_keys(result) == tuple(sorted(LIVES.index_keys))


def test_log_and_stores_load_no_text_reader() -> None:
    code = (
        "import sys, canonry.log.fold_commit, canonry.log.sealing, canonry.readmodels.listing\n"
        "import canonry.stores.sqlite, canonry.stores.memory\n"
        "print([name for name in sys.modules if name.startswith('canonry.language.reading')])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert found.stdout.strip() == "[]"


def test_the_keys_of_a_fact_are_those_of_its_statements() -> None:
    fact = the_fact(a_reading(OWNS, LIVES, replace(OWNS, holds=False), TALL))

    keys = statements_keys(fact)
    assert list(keys) == sorted({*OWNS.index_keys, *LIVES.index_keys, *TALL.index_keys})
    assert keys_of(fact) > set(keys)


def test_a_reading_touches_the_keys_before_and_after_it() -> None:
    first, second = the_fact(a_reading(OWNS)), the_fact(a_reading(OWNS), a_reading(LIVES))
    commits = [
        a_commit(1, *creation_entries(a_fact("mill", statement="Bo owns a mill."))),
        a_commit(2, a_reading(OWNS)),
        a_commit(3, a_reading(LIVES)),
    ]

    assert fold_commits(*commits)[uuid_of("mill")] == second
    touched = [changes_of(*commits[:n]) for n in (1, 2, 3)]
    assert not touched[0] & set(statements_keys(first))
    assert touched[1] >= set(statements_keys(first))
    assert touched[2] >= {*statements_keys(first), *statements_keys(second)}


def test_an_erased_fact_stays_erased_despite_a_later_reading() -> None:
    making = a_commit(1, *creation_entries(a_fact("mill")), a_reading(OWNS))
    erased = Erased(targets=(uuid_of("mill"),), reason="asked")
    parts = tuple(Redacted(kind=kind_of(each), ids=ids_of(each)) for each in making.entries)

    late = fold_commits(making, a_commit(2, erased), a_commit(3, a_reading(LIVES)))
    gone = fold_commits(a_commit(1, *parts), a_commit(2, erased))

    assert isinstance(late[uuid_of("mill")], Tombstone)
    assert isinstance(gone[uuid_of("mill")], Tombstone)


def test_the_sealed_header_of_a_reading_names_only_the_fact() -> None:
    entry = a_reading(replace(OWNS, value=f"~{SECRET}", when="1402"))
    sealed = seal_commit(
        a_draft("one", [entry]),
        position=Position(1),
        recorded_at=Instant(1),
        previous=GENESIS,
        salts=[b"0" * 16],
    )
    without = unseal(replace(sealed, parts=(None,)))

    for word in (SECRET, "owns", "1402", OWNS.subject):
        assert word.encode() not in sealed.body
    assert without.entries == (Redacted(kind="fact.read", ids=(uuid_of("mill"),)),)


def test_an_item_of_another_kind_may_end_a_fact_or_relation() -> None:
    fire, fact, edge = uuid_of("fire"), FactId(uuid_of("mill")), RelationId(uuid_of("owns"))
    making = a_commit(
        1, *creation_entries(a_fact("mill"), an_event("fire"), a_relation("owns", "bo", "velm"))
    )
    ending = a_commit(
        2,
        FactSuperseded(fact_id=fact, until=Instant(5), superseded_by=fire),
        RelationEnded(relation_id=edge, until=None, superseded_by=fact, reason=""),
    )
    resuming = a_commit(3, FactResumed(fact_id=fact, fallen=fire))

    ended, again = fold_commits(making, ending), fold_commits(making, ending, resuming)

    burnt, left, stands = ended[fact], ended[edge], again[fact]
    assert isinstance(burnt, Fact)
    assert isinstance(left, Relation)
    assert isinstance(stands, Fact)
    assert (burnt.superseded_by, burnt.until, left.superseded_by) == (fire, 5, fact)
    assert (stands.superseded_by, stands.until) == (None, None)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Embedded]:
    opened = await open_embedded(tmp_path)
    yield opened
    await opened.close()


def ignore_progress(done: int, total: int | None) -> None:
    """Nobody watches the progress."""


@pytest.mark.anyio
@pytest.mark.usefixtures("plain_rows")
async def test_erasing_a_fact_erases_its_statements(store: Embedded, tmp_path: Path) -> None:
    scribe, fact = Scribe(store.canon), a_fact("mill", statement=f"Bo owns {SECRET}'s mill.")
    await scribe.open_spaces("space")
    await scribe.write_entries(
        *creation_entries(fact), a_reading(replace(OWNS, value=f"~mill {SECRET}"))
    )
    await scribe.write_entries(a_reading(replace(OWNS, value=f"~{SECRET}"), reader=2))

    plan = await plan_erasure(store.canon, "fact", fact.id)
    done = await erase_items(store.canon, store.maintenance, a_caller(), plan, reason="asked")
    found = await verify_store(store.canon.ledger, store.maintenance, ignore_progress)

    assert done.entries == 3
    assert found.findings == ()
    await store.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.anyio
async def test_changes_show_a_later_reading_but_not_that_of_a_new_fact(store: Embedded) -> None:
    scribe = Scribe(store.canon)
    await scribe.open_spaces("space")
    await scribe.write_entries(*creation_entries(a_fact("mill")), a_reading(OWNS))
    await scribe.write_entries(a_reading(LIVES, reader=2))

    query = ChangeQuery(space=MIDDLE_EARTH, after=Position(1))
    found = await list_changes(store.canon, a_caller(), query)

    kinds = [[kind_of(entry) for entry in each.entries] for each in found.written]
    assert kinds == [["fact.made"], ["fact.read"]]
