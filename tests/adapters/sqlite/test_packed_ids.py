"""Packing: every id comes back, UUIDs keep their order, and sets of keys keep their numbers."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from canonry.stores.sqlite.rows import pack_id, pack_keys, unpack_id, unpack_keys

NUMBERS = st.integers(-(2**63), 2**63 - 1)
UUIDS = st.integers(0, 2**128 - 1).map(lambda n: str(UUID(int=n)))


@given(UUIDS | UUIDS.map(str.upper) | st.text() | st.text("0123456789abcdef-", min_size=36))
def test_every_id_is_unpacked_unchanged(identity: str) -> None:
    assert unpack_id(pack_id(identity)) == identity


@given(UUIDS, UUIDS)
def test_uuids_are_short_and_keep_their_order(one: str, two: str) -> None:
    packed = [pack_id(one), pack_id(two)]

    assert all(isinstance(p, bytes) and len(p) == 16 for p in packed)
    assert (one < two) == (bytes(packed[0]) < bytes(packed[1]))  # type: ignore[arg-type]


@given(st.frozensets(NUMBERS))
def test_keys_are_returned_sorted(keys: frozenset[int]) -> None:
    assert list(unpack_keys(pack_keys(keys))) == sorted(keys)
