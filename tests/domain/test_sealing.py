"""Sealing: a chain shows every alteration, and erasing is none."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from canonry.log.commits import Position
from canonry.log.entries import Redacted
from canonry.log.fold_commit import ids_of
from canonry.log.sealing import (
    GENESIS,
    ErasablePart,
    Sealed,
    commit_of,
    fault_in,
    kind_of,
    seal_commit,
    unseal,
)
from canonry.testing.clocks import a_draft
from canonry.testing.example_items import a_fact, a_memory, a_turn, creation_entries, uuid_of
from canonry.values.ids import CommitId
from canonry.values.moments import Instant
from tests.conformance.histories import HistoryStep, draw_history
from tests.domain.golden_entries import golden_entries
from tests.domain.test_canon import a_log

SECRET = "nobody may know"


def a_sealed() -> Sealed:
    draft = a_draft("one", creation_entries(a_fact("a fact"), a_memory(text=SECRET), a_turn()))
    return seal_commit(
        draft,
        position=Position(1),
        recorded_at=Instant(1_000),
        previous=GENESIS,
        salts=[bytes([n]) * 16 for n in range(3)],
    )


def raise_fault(sealed: Sealed) -> str | None:
    return fault_in(sealed, position=Position(1), previous=GENESIS)


@settings(max_examples=40)
@given(steps=draw_history())
def test_a_log_is_a_chain_that_unseals_to_its_content(steps: list[HistoryStep]) -> None:
    previous = GENESIS
    for number, (sealed, step) in enumerate(zip(a_log(steps), steps, strict=True), start=1):
        assert fault_in(sealed, position=Position(number), previous=previous) is None
        commit = unseal(sealed)
        assert commit.entries == step.entries
        assert commit.previous == previous
        assert commit == commit_of(a_draft(str(number), step.entries), sealed, previous)
        previous = sealed.hash


@given(where=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_any_altered_bit_is_detected(where: int, bit: int) -> None:
    sealed = a_sealed()

    def flipped(data: bytes) -> bytes:
        at = where % len(data)
        return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]

    part = sealed.parts[1]
    assert part is not None
    altered = (
        replace(sealed, body=flipped(sealed.body)),
        replace(
            sealed, parts=(sealed.parts[0], replace(part, payload=flipped(part.payload)), None)
        ),
        replace(sealed, parts=(sealed.parts[0], replace(part, salt=flipped(part.salt)), None)),
    )
    assert all(raise_fault(one) is not None for one in altered)


def test_columns_that_differ_from_the_sealed_bytes_are_detected() -> None:
    sealed = a_sealed()

    for other in (
        replace(sealed, id=CommitId(uuid_of("other"))),
        replace(sealed, position=Position(2)),
        replace(sealed, recorded_at=Instant(999)),
        replace(sealed, space=uuid_of("other")),
        replace(sealed, hash=GENESIS),
        replace(sealed, parts=sealed.parts[:2]),
        replace(sealed, parts=(*sealed.parts, ErasablePart(salt=b"", payload=b""))),
        replace(sealed, parts=tuple(reversed(sealed.parts))),
    ):
        assert raise_fault(other) is not None


def test_a_gap_a_swap_and_a_foreign_chain_are_detected() -> None:
    sealed = a_sealed()

    assert fault_in(sealed, position=Position(2), previous=GENESIS) == "position 2 is missing"
    assert fault_in(sealed, position=Position(1), previous="f" * 64) is not None


def test_erasing_leaves_the_chain_valid_and_the_rest_readable() -> None:
    sealed = a_sealed()
    erased = replace(sealed, parts=(sealed.parts[0], None, sealed.parts[2]))

    fact, memory, turn = unseal(erased).entries

    assert raise_fault(erased) is None
    assert (erased.hash, erased.body) == (sealed.hash, sealed.body)
    assert memory == Redacted(kind="memory.made", ids=(uuid_of("memory"),))
    assert [fact, turn] == [unseal(sealed).entries[n] for n in (0, 2)]


def test_the_sealed_bytes_reveal_no_content() -> None:
    assert SECRET.encode() not in a_sealed().body


def test_equal_words_have_different_commitments_under_different_salts() -> None:
    one, other = creation_entries(a_memory(text="yes")), creation_entries(a_memory(text="yes"))
    log = [
        seal_commit(
            a_draft("same", entries),
            position=Position(1),
            recorded_at=Instant(0),
            previous=GENESIS,
            salts=[salt],
        )
        for entries, salt in ((one, b"1" * 16), (other, b"2" * 16))
    ]

    assert log[0].body != log[1].body


def test_every_kind_of_entry_names_its_subjects() -> None:
    """Erased items stay findable by id, so no entry may be without one."""
    for entry in golden_entries():
        assert ids_of(entry), kind_of(entry)
        redacted = Redacted(kind=kind_of(entry), ids=ids_of(entry))
        assert ids_of(redacted) == ids_of(entry)
