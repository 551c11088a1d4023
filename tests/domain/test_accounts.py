"""Ids of an account: they follow from what is said, and the short alias leads back to the id."""

from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.log.items.sources import (
    DEFAULT_USER,
    NAMESPACE,
    account_space,
    alias_of,
    entity_id_of,
    entity_id_of_alias,
    relation_id_of,
    source_id_of,
    user_id_of,
)
from canonry.values.ids import is_uuid


def test_a_source_id_is_derived_from_its_user_and_bytes() -> None:
    named = uuid5(UUID(NAMESPACE), f"{DEFAULT_USER}:00ff")
    assert source_id_of(DEFAULT_USER, "00ff") == str(named)


def test_published_ids_never_change() -> None:
    entity = entity_id_of(DEFAULT_USER, "invoice", "invoice_number:inv-9")
    assert [
        account_space(DEFAULT_USER),
        source_id_of(DEFAULT_USER, "00ff"),
        entity,
        alias_of(entity),
        relation_id_of(DEFAULT_USER, "REFERS_TO", entity, entity),
    ] == PUBLISHED


PUBLISHED = [
    "e35647bd-2809-5d7a-9860-224e690a7999",
    "4a984970-2095-59f6-81fb-5c522499ceba",
    "cdd6f53c-46eb-871e-a79a-e7dc5002118e",
    "ent_cdd6f53c46eb871ea79ae7dc",
    "27cf0c1c-5472-52ec-ba69-e060aefadfcf",
]


@given(st.text(), st.text(), st.text())
def test_an_alias_resolves_to_its_original_id(user: str, kind: str, key: str) -> None:
    entity = entity_id_of(user, kind, key)
    alias = alias_of(entity)
    assert is_uuid(entity)
    assert UUID(entity).version == 8
    assert alias is not None
    assert entity_id_of_alias(alias) == entity


@pytest.mark.parametrize("text", ["", "ent_", "ent_xyz", "ent_" + "0" * 23, "0" * 24])
def test_an_unknown_alias_resolves_to_nothing(text: str) -> None:
    assert entity_id_of_alias(text) is None


def test_a_foreign_id_has_no_alias() -> None:
    assert alias_of("0198c0de-0000-7000-8000-000000000001") is None


@given(st.text(min_size=1), st.text(min_size=1), st.text(min_size=1))
def test_two_users_never_share_an_id(one: str, other: str, key: str) -> None:
    same = user_id_of(one) == user_id_of(other)
    ids = [entity_id_of(user_id_of(each), "x", key) for each in (one, other)]
    spaces = [account_space(user_id_of(each)) for each in (one, other)]
    assert (ids[0] == ids[1]) is same
    assert (spaces[0] == spaces[1]) is same


def test_a_user_is_identified_by_a_uuid_or_receives_one() -> None:
    assert user_id_of(None) == DEFAULT_USER
    assert user_id_of("AAAAAAAA-0000-4000-8000-000000000001") == (
        "aaaaaaaa-0000-4000-8000-000000000001"
    )
    assert is_uuid(user_id_of("ada@example.test"))
