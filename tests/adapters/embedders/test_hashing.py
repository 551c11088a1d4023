"""The hashing embedder: equal texts are equal, like spelling is near, and every length is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.readmodels.ports.text import Purpose
from canonry.recall.embedders import HashingEmbedder
from tests.adapters.embedders.likeness import inner_product, vector_length

pytestmark = pytest.mark.anyio

PINNED = "ed2962beafe445bf00000000ed2962beed29e23eed2962beed29623eed29e2bd"


@given(texts=st.lists(st.text(max_size=60), max_size=4))
async def test_every_text_has_a_vector_of_length_one(texts: list[str]) -> None:
    vectors = await HashingEmbedder().embed(texts, Purpose.PASSAGE)

    assert [len(vector) for vector in vectors] == [4 * 384] * len(texts)
    assert all(vector_length(vector) == pytest.approx(1.0, abs=1e-5) for vector in vectors)


async def test_a_misspelt_name_is_nearer_than_another_one() -> None:
    asked, near, far = await HashingEmbedder().embed(
        ["Vexahlia aims her bow", "Vex'ahlia draws the bow", "Grog drinks ale"], Purpose.PASSAGE
    )

    assert inner_product(asked, near) > 2 * max(0.05, inner_product(asked, far))


async def test_the_same_text_gives_the_same_bytes_in_every_process() -> None:
    (vector,) = await HashingEmbedder(8).embed(["Minas Tirith"], Purpose.QUERY)

    assert vector.hex() == PINNED


async def test_the_model_is_named_with_its_size() -> None:
    embedder = HashingEmbedder(64)
    await embedder.close()

    assert (embedder.model.name, embedder.model.dimensions) == ("hashing", 64)
