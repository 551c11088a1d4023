"""Bodies: items are packed small, and read the same whoever has packed them."""

import zlib
from pathlib import Path

import apsw
import pytest

from canonry.app.embedded import open_embedded
from canonry.log.entries import KIND_NAMES, StoredItem
from canonry.log.sealing import encode_item
from canonry.stores.sqlite import verification as comparison
from canonry.stores.sqlite.rows import body_of, item_in_row, payload_in
from canonry.testing.example_items import a_turn, an_entity, an_observation
from canonry.values.errors import BrokenInvariant
from tests.cli.test_withdrawing import answer_calls

PERSON = {"name": "Ada Byron", "email": "ada@x.test", "phone": "+4930100001", "role": "cook"}


@pytest.mark.parametrize("item", [an_entity(), an_observation("frodo", "ring"), a_turn()])
def test_a_decoded_body_equals_the_written_item(item: StoredItem) -> None:
    kind = KIND_NAMES[type(item)]
    body = body_of(kind, item)

    assert item_in_row(kind, body) == item
    assert payload_in(kind, body) == encode_item(item)
    assert len(body) <= len(encode_item(item)) + 4


def test_an_entity_takes_less_than_half_of_its_plain_size() -> None:
    item = an_entity()
    assert len(body_of("entity", item)) * 2 < len(encode_item(item))


@pytest.mark.parametrize("place", [0, 1, 10, -1])
def test_a_body_with_a_flipped_bit_is_reported(place: int) -> None:
    body = bytearray(body_of("entity", an_entity()))
    body[place] ^= 4
    with pytest.raises(BrokenInvariant, match="A stored row was altered"):
        item_in_row("entity", bytes(body))


@pytest.mark.anyio
async def test_verification_ignores_how_a_body_was_packed(
    tmp_path: Path,
) -> None:
    await answer_calls(tmp_path, ("ingest", {"entity_type": "person", **PERSON}))
    (path,) = tmp_path.rglob("canon.db")
    db = apsw.Connection(str(path))
    rows = list(db.execute("SELECT n, body FROM things WHERE kind = 'entity'"))
    for n, body in rows:  # as a library would that packs nothing
        bare = payload_in("entity", body)
        stored = bare + zlib.crc32(bare, zlib.crc32(b"entity")).to_bytes(4, "little")
        db.execute("UPDATE things SET body = ? WHERE n = ?", (stored, n))
    db.close()
    assert rows
    store = await open_embedded(tmp_path)
    try:
        assert not (await store.maintenance.verify(lambda _done, _total: None)).findings
    finally:
        await store.close()
    assert comparison._payload_or_body("entity", b"torn") == b"torn"
