"""The stored form: everything ever written can be read, and what is written now is known."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canonry.log.entries import (
    CHANGE_KINDS,
    KIND_NAMES,
    Entry,
    Made,
    Redacted,
    StoredItem,
    Tombstone,
)
from canonry.log.fold_commit import fold_commit
from canonry.log.sealing import (
    ENCODING_VERSION,
    MIN_READER,
    UPCASTERS,
    decode_entry,
    decode_item,
    encode_entry,
    encode_item,
    kind_of,
    upcast_payload,
)
from canonry.values.errors import BrokenInvariant
from canonry.values.json_values import decode_json, encode_json
from tests.conformance.histories import HistoryStep, draw_history
from tests.domain.golden_entries import golden_entries
from tests.domain.test_canon import a_commit, fold_commits
from tests.strategies import json_values

GOLDEN = Path(__file__).parent / "golden"
NEWER: Mapping[int, frozenset[str]] = {
    1: frozenset(
        {
            *("audience.changed", "entity.disowned", "proposal.deferred", "proposal.waived"),
            *("relation.resumed", "scene.extended", "thing.said_at"),
        }
    ),
    2: frozenset({"audience.changed", "entity.disowned", "scene.extended", "thing.said_at"}),
    3: frozenset({"call.undone", "fact.read", "thing.restored"}),
}
"""The kinds that a version did not know yet."""


def read_golden(version: int) -> list[Mapping[str, Any]]:
    """The stored entries of a version: kind and payload, one a line."""
    lines = (GOLDEN / f"encoding-{version}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_current_encoding_equals_its_golden_file() -> None:
    written = [(kind_of(e), encode_entry(e).decode()) for e in golden_entries()]

    assert [(line["kind"], line["payload"]) for line in read_golden(ENCODING_VERSION)] == written


@pytest.mark.parametrize("version", range(1, ENCODING_VERSION + 1))
def test_every_version_ever_written_is_read(version: int) -> None:
    lines = read_golden(version)
    known = {line["kind"] for line in lines}
    read = [decode_entry(e["kind"], version, e["payload"].encode()) for e in lines]

    assert read == [entry for entry in golden_entries() if kind_of(entry) in known]


def test_the_golden_file_contains_every_kind() -> None:
    kinds = {f"{kind}.made" for kind in KIND_NAMES.values()} - {"tombstone.made"}

    assert {line["kind"] for line in read_golden(ENCODING_VERSION)} == kinds | {
        *CHANGE_KINDS.values()
    }


def test_every_entry_of_the_union_has_a_kind() -> None:
    changes = set(get_args(Entry)) - {Redacted}

    assert {type(entry) for entry in golden_entries()} == changes
    assert set(KIND_NAMES) == set(get_args(StoredItem))


@settings(max_examples=40)
@given(steps=draw_history())
def test_entries_and_items_are_read_back_equal(steps: list[HistoryStep]) -> None:
    for step in steps:
        for entry in step.entries:
            kind = kind_of(entry)
            assert decode_entry(kind, ENCODING_VERSION, encode_entry(entry)) == entry
    commits = [a_commit(n, *step.entries) for n, step in enumerate(steps, start=1)]
    for item in fold_commits(*commits).values():
        again = decode_item(KIND_NAMES[type(item)], encode_item(item))
        assert again == item
        assert encode_item(again) == encode_item(item)


def test_an_item_is_stored_in_the_order_of_its_entry() -> None:
    made = [entry for entry in golden_entries() if isinstance(entry, Made)]
    items = fold_commit(a_commit(1, *made), {}).items

    assert {type(item) for item in items.values()} == {*KIND_NAMES} - {Tombstone}
    for entry in made:
        stored = encode_item(items[entry.thing.id])
        kept = [name for name in decode_json(stored) if name != "reached"]  # the fold adds it
        assert kept == list(decode_json(encode_entry(entry)))


@settings(max_examples=60)
@given(value=st.dictionaries(st.text(max_size=4), json_values(), max_size=4))
def test_equal_values_are_equal_bytes(value: dict[str, Any]) -> None:
    backwards = dict(reversed(list(value.items())))

    assert encode_json(backwards) == encode_json(value)
    assert decode_json(encode_json(value)) == value


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(BrokenInvariant) as caught:
        decode_entry("dragon.made", ENCODING_VERSION, b"{}")

    assert caught.value.code == "encoding.unknown-kind"


@pytest.mark.parametrize("payload", [b"", b"{", b"{}", b"[]", b'{"fact_id": 1}', b"\xff"])
def test_an_unreadable_payload_is_refused(payload: bytes) -> None:
    with pytest.raises(BrokenInvariant) as caught:
        decode_entry("fact.retconned", ENCODING_VERSION, payload)

    assert caught.value.code == "encoding.unreadable"
    assert "fact.retconned" in caught.value.message


def test_a_later_version_is_refused_with_advice() -> None:
    with pytest.raises(BrokenInvariant, match="Update") as caught:
        decode_entry("fact.retconned", ENCODING_VERSION + 1, b"{}")

    assert caught.value.code == "encoding.newer"


def test_upcasters_lift_step_by_step() -> None:
    steps = {
        1: lambda kind, old: {**old, "two": kind},
        2: lambda kind, old: {"three": old["two"], "one": old["one"]},
    }

    assert upcast_payload("k", 1, {"one": 1}, steps=steps, target=3) == {"one": 1, "three": "k"}
    assert upcast_payload("k", 2, {"one": 1, "two": 2}, steps=steps, target=3) == {
        "one": 1,
        "three": 2,
    }
    assert upcast_payload("k", 3, {"x": 1}, steps=steps, target=3) == {"x": 1}


def test_there_is_an_upcaster_from_every_earlier_version() -> None:
    assert sorted(UPCASTERS) == list(range(1, ENCODING_VERSION))
    assert 1 <= MIN_READER <= ENCODING_VERSION
