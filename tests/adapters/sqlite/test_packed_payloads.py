"""Packed records: a row is shorter than what was said, and gives it back byte by byte."""

import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.stores.sqlite.commits import PartPacking, is_long, pack_body, unpack_body

OWN = "2d02c19d-a1bf-821f-a1f3-ee996592de84"
SPACE = "e35647bd-2809-5d7a-9860-224e690a7999"
RUN = "47e15b85-820e-5d2f-bd9a-509925ca200d"


def a_body() -> dict[str, Any]:
    kinds = [("entity.made", OWN), ("observation.made", SPACE), ("run.made", RUN)]
    return {"space": SPACE, "entries": [[kind, 3, [one], "00"] for kind, one in kinds]}


@given(st.binary(max_size=20_000).map(lambda data: b"{" + data))
def test_every_payload_is_unpacked_unchanged(payload: bytes) -> None:
    packing = PartPacking(a_body())

    assert packing.unpack_payload(1, packing.pack_payload(1, payload)) == payload


def test_ids_already_in_the_sealed_bytes_take_almost_no_space() -> None:
    packing = PartPacking(a_body())
    said = f'{{"id":"{OWN}","space":"{SPACE}","run_id":"{RUN}","text":"{"a dragon " * 20}"}}'

    assert len(packing.pack_payload(0, said.encode())) < 60


def test_data_of_an_earlier_version_is_read_unchanged() -> None:
    said = b'{"id":"' + b"x" * 5_000 + b'"}'

    assert PartPacking(a_body()).unpack_payload(0, said) == said
    assert unpack_body(said) == said


def test_a_byte_more_or_less_makes_a_row_invalid() -> None:
    packing = PartPacking(a_body())
    row = packing.pack_payload(0, b'{"text":"' + b"a dragon " * 50 + b'"}')
    body = pack_body(b"{" + b'"entries":' * 1_000 + b"}")

    assert unpack_body(body)[:1] == b"{"
    for harmed in (row + b" ", row[:-2]):
        with pytest.raises(zlib.error):
            packing.unpack_payload(0, harmed)
    for harmed in (body + b" ", body[:-2]):
        with pytest.raises(zlib.error):
            unpack_body(harmed)


def test_a_payload_that_is_short_when_packed_needs_no_file() -> None:
    assert not is_long(b"y" * 64_000)
    assert not is_long(b"a dragon " * 20_000)
    assert is_long(b"a dragon " * 40_000)
