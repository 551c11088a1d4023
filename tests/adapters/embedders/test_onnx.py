"""The default embedder: the measured model and no other, batch by batch the same vectors."""

import asyncio
import importlib.util
from pathlib import Path

import pytest

from canonry.adapters.embedders import OnnxEmbedder
from canonry.adapters.embedders.pinned import MINILM, TOKENIZER, WEIGHTS, installed_folder
from canonry.domain.errors import Unavailable
from canonry.ports.embedder import Purpose
from tests.adapters.embedders.likeness import length, likeness, numbers

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(
        importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
    ),
]

BREAD = "A man is eating a piece of bread."
FOOD = "A man is eating food."
BABY = "The girl is carrying a baby."


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    try:
        installed_folder(MINILM)
    except Unavailable as error:
        pytest.skip(error.message)
    return OnnxEmbedder()


async def test_the_vectors_are_those_that_the_model_is_published_with(
    embedder: OnnxEmbedder,
) -> None:
    food, bread, baby = await embedder.embed([FOOD, BREAD, BABY], Purpose.PASSAGE)

    assert likeness(food, bread) == pytest.approx(0.7553, abs=2e-3)
    assert likeness(food, baby) == pytest.approx(-0.1050, abs=2e-3)
    assert numbers(food)[:3] == pytest.approx((0.03324, 0.00441, -0.00628), abs=1e-4)


async def test_a_vector_does_not_depend_on_its_batch(embedder: OnnxEmbedder) -> None:
    (alone,) = await embedder.embed([FOOD], Purpose.QUERY)
    among = await embedder.embed([*(f"{BABY} {i}" * i for i in range(9)), FOOD], Purpose.PASSAGE)

    assert likeness(alone, among[-1]) == pytest.approx(1.0, abs=1e-4)


async def test_the_end_of_a_long_text_counts(embedder: OnnxEmbedder) -> None:
    filler = "The rain falls on the road and the carts stand still. " * 60
    plain, ended = await embedder.embed([filler, filler + BREAD * 30], Purpose.PASSAGE)
    (asked,) = await embedder.embed([BREAD], Purpose.QUERY)

    assert length(ended) == pytest.approx(1.0, abs=1e-4)
    assert likeness(asked, ended) > likeness(asked, plain) + 0.1


async def test_queries_and_passages_are_embedded_side_by_side(embedder: OnnxEmbedder) -> None:
    passages, query, nothing = await asyncio.gather(
        embedder.embed([BREAD, ""] * 8, Purpose.PASSAGE),
        embedder.embed([BREAD], Purpose.QUERY),
        embedder.embed([], Purpose.QUERY),
    )

    assert likeness(passages[14], query[0]) == pytest.approx(1.0, abs=1e-4)
    assert nothing == []


async def test_a_model_that_is_not_installed_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="not installed") as caught:
        await OnnxEmbedder(folder=tmp_path).embed([FOOD], Purpose.QUERY)

    assert caught.value.code == "embedder.unavailable"


@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
async def test_a_file_that_was_not_measured_is_never_opened(
    tmp_path: Path, name: str, embedder: OnnxEmbedder
) -> None:
    for file in (WEIGHTS, TOKENIZER):
        (tmp_path / file).symlink_to(installed_folder(MINILM) / file)
    (tmp_path / name).unlink()
    (tmp_path / name).write_bytes(b"{}")

    with pytest.raises(Unavailable, match=name) as caught:
        await OnnxEmbedder(folder=tmp_path).embed([FOOD], Purpose.QUERY)

    assert caught.value.code == "embedder.unavailable"


async def test_a_closed_embedder_opens_again_when_it_is_asked(embedder: OnnxEmbedder) -> None:
    await embedder.close()
    await embedder.close()

    assert len(await embedder.embed([FOOD], Purpose.QUERY)) == 1
    assert embedder.model.digest == MINILM.identity.digest
