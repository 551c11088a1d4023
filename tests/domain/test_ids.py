"""Identities: derived ones are UUIDs that repeat, and differ where anything differs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.testing.example_items import uuid_of
from canonry.values.ids import CommitId, derived_id, is_uuid, keyed_commit_id
from tests.strategies import texts

COMMIT = CommitId(uuid_of("commit"))


@given(label=texts())
def test_a_derived_id_is_a_uuid_that_repeats(label: str) -> None:
    derived = derived_id(COMMIT, label)

    assert is_uuid(derived)
    assert derived == derived.lower() == derived_id(COMMIT, label)
    assert derived[:13] == COMMIT[:13]


@given(labels=st.lists(texts(), min_size=2, max_size=2, unique=True))
def test_labels_and_commits_make_derived_ids_differ(labels: list[str]) -> None:
    one, other = labels

    assert derived_id(COMMIT, one) != derived_id(COMMIT, other)
    assert derived_id(COMMIT, one) != derived_id(CommitId(uuid_of("other")), one)


@given(key=texts())
def test_a_key_gives_the_same_commit_only_for_the_same_request(key: str) -> None:
    commit = keyed_commit_id("space", "agent", "tool", key)

    assert is_uuid(commit)
    assert commit == keyed_commit_id("space", "agent", "tool", key)
    others = [("other", "agent", "tool"), ("space", "other", "tool"), ("space", "agent", "other")]
    assert commit not in [keyed_commit_id(*other, key) for other in others]
    assert commit != keyed_commit_id("space", "agent", "tool", f"{key}x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (uuid_of("x"), True),
        (uuid_of("x").upper(), True),
        ("00000000-0000-0000-0000-000000000000", True),
        ("", False),
        (uuid_of("x").replace("-", ""), False),
        (f"{{{uuid_of('x')}}}", False),
        (f"{uuid_of('x')}\n", False),
        (f"urn:uuid:{uuid_of('x')}", False),
        (uuid_of("x")[:-1] + "g", False),
        ("\uff10" + uuid_of("x")[1:], False),
    ],
)
def test_only_hyphenated_uuids_are_uuids(text: str, expected: bool) -> None:
    assert is_uuid(text) is expected
