"""The default embedder: the measured model and no other, the same vector to the last bit."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from canonry.readmodels.ports.text import Purpose
from canonry.recall.embedders import OnnxEmbedder
from canonry.recall.embedders.onnx import FILE, MINILM, installed_file
from canonry.values.errors import Unavailable
from tests.adapters.embedders.likeness import inner_product, vector_length, vector_numbers

pytestmark = pytest.mark.anyio

BREAD = "A man is eating a piece of bread."
FOOD = "A man is eating food."
BABY = "The girl is carrying a baby."
SHORT = 500
"""A text of fewer characters stands twice in its batch."""


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder()


async def test_vectors_equal_the_published_ones(
    embedder: OnnxEmbedder,
) -> None:
    food, bread, baby = await embedder.embed([FOOD, BREAD, BABY], Purpose.PASSAGE)

    assert inner_product(food, bread) == pytest.approx(0.7553, abs=1e-2)
    assert inner_product(food, baby) == pytest.approx(-0.1050, abs=1e-2)
    assert vector_numbers(food)[:3] == pytest.approx((0.03324, 0.00441, -0.00628), abs=5e-3)


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """One loop for the module, on which the texts are embedded alone once."""
    return "asyncio"


@pytest.fixture(scope="module")
async def alone(embedder: OnnxEmbedder) -> Mapping[str, Any]:
    """Texts of lengths on both sides of each limit, each with the vector that it has alone."""
    lots = random.Random(1)
    words = ("dragon", "gold", "bell", "tower", "sails", "dawn", "the", "beneath", "mountain")
    lengths = (0, 1, 2, 7, 40, 250, 253, 254, 255, 400, 700)
    texts = [" ".join(lots.choices(words, k=length)) for length in lengths]
    return {text: (await embedder.embed([text], Purpose.QUERY))[0] for text in texts}


@pytest.mark.parametrize("threads", [1, 3])
async def test_a_text_has_the_same_vector_alone_and_in_any_batch(
    threads: int, alone: Mapping[str, Any]
) -> None:
    texts = [*alone, *[text for text in alone if len(text) < SHORT]]
    random.Random(threads).shuffle(texts)
    other = OnnxEmbedder(threads=threads)

    among = await other.embed(texts, Purpose.PASSAGE)
    await other.close()

    assert [text for text, vector in zip(texts, among, strict=True) if vector != alone[text]] == []


@pytest.mark.parametrize("words", [1, 6, 14, 30, 62, 100])
async def test_texts_of_equal_length_have_the_same_vectors_in_a_batch(
    words: int, embedder: OnnxEmbedder
) -> None:
    lots = random.Random(words)
    known = ("dragon", "gold", "bell", "tower", "dawn", "the", "mountain", "bread", "eating")
    texts = [" ".join(lots.choices(known, k=words)) for _ in range(300 // words + 2)]
    alone = [(await embedder.embed([text], Purpose.QUERY))[0] for text in texts[:20]]

    assert (await embedder.embed(texts, Purpose.PASSAGE))[:20] == alone


async def test_texts_are_embedded_singly_if_batches_change_their_vectors(
    embedder: OnnxEmbedder,
) -> None:
    class Uneven:
        """A runtime whose numbers depend on how many texts go together."""

        def run(self, names: None, inputs: dict[str, Any]) -> list[Any]:
            states = session.run(names, inputs)[0]
            return [states + 1e-6 * (len(states) - 1)]

    alone = [(await embedder.embed([text], Purpose.QUERY))[0] for text in (FOOD, BREAD, FOOD)]
    other = OnnxEmbedder()
    loaded = other._load_model()
    session = loaded.session
    other._loaded = replace(loaded, session=Uneven())

    assert await other.embed([FOOD, BREAD, FOOD], Purpose.PASSAGE) == alone
    await other.close()


async def test_the_model_file_is_not_stored_next_to_the_model(embedder: OnnxEmbedder) -> None:
    await embedder.embed([FOOD], Purpose.QUERY)

    assert embedder._loaded is not None
    assert [kept for kept in vars(embedder._loaded.session).values() if type(kept) is bytes] == []


async def test_the_end_of_a_long_text_affects_its_vector(embedder: OnnxEmbedder) -> None:
    filler = "The rain falls on the road and the carts stand still. " * 60
    plain, ended = await embedder.embed([filler, filler + BREAD * 30], Purpose.PASSAGE)
    (asked,) = await embedder.embed([BREAD], Purpose.QUERY)

    assert vector_length(ended) == pytest.approx(1.0, abs=1e-4)
    assert inner_product(asked, ended) > inner_product(asked, plain) + 0.1


async def test_queries_and_passages_are_embedded_concurrently(embedder: OnnxEmbedder) -> None:
    passages, query, nothing = await asyncio.gather(
        embedder.embed([BREAD, ""] * 8, Purpose.PASSAGE),
        embedder.embed([BREAD], Purpose.QUERY),
        embedder.embed([], Purpose.QUERY),
    )

    assert inner_product(passages[14], query[0]) == pytest.approx(1.0, abs=1e-4)
    assert nothing == []


async def test_an_earlier_model_format_keeps_its_own_name(
    embedder: OnnxEmbedder,
) -> None:
    former = OnnxEmbedder(identity=MINILM.forms[0])

    assert former.model == MINILM.forms[0]
    assert former.model != embedder.model
    assert await former.embed([FOOD], Purpose.QUERY) == await embedder.embed([FOOD], Purpose.QUERY)
    await former.close()


async def test_a_folder_without_the_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"has no model\.onnx\. .*recall\.model_folder") as no:
        await OnnxEmbedder(folder=tmp_path).embed([FOOD], Purpose.QUERY)

    assert no.value.code == "embedder.unavailable"


async def test_an_uninstalled_model_error_names_the_extra_to_install() -> None:
    absent = replace(MINILM, package="a_package_that_nobody_has")

    with pytest.raises(Unavailable, match=r"Install canonry\[meaning\]"):
        await OnnxEmbedder(model=absent).embed([FOOD], Purpose.QUERY)


async def test_a_file_with_an_unknown_hash_is_never_opened(tmp_path: Path) -> None:
    changed = bytearray(installed_file(MINILM).read_bytes())
    changed[-1] ^= 1
    (tmp_path / FILE).write_bytes(changed)

    with pytest.raises(Unavailable, match="is not the tested all-MiniLM-L6-v2") as caught:
        await OnnxEmbedder(folder=tmp_path).embed([FOOD], Purpose.QUERY)

    assert caught.value.code == "embedder.unavailable"


async def test_a_closed_embedder_reopens_when_asked(embedder: OnnxEmbedder) -> None:
    await embedder.close()
    await embedder.close()

    assert len(await embedder.embed([FOOD], Purpose.QUERY)) == 1
    assert embedder.model.digest == MINILM.identity.digest
