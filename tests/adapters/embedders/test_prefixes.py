"""Prefixes: they are part of what a model is, and come back from how an index names it."""

import pytest

from canonry.readmodels.ports.text import Purpose
from canonry.recall.embedders import Endpoint, HubEmbedder, Library, OpenAICompatibleEmbedder
from canonry.recall.embedders.embedding import Prefixes

E5 = Prefixes(query="query: ", passage="passage: ")


@pytest.mark.parametrize(
    "prefixes",
    [Prefixes(), E5, Prefixes(query='say "so": '), Prefixes(passage="with prefixes [1] ")],
)
def test_a_model_version_contains_the_prefixes(prefixes: Prefixes) -> None:
    for version in ("1", "2024-05 beta"):
        assert Prefixes.in_version(prefixes.version_with(version)) == (version, prefixes)


@pytest.mark.parametrize("text", ["1 with prefixes", "1 with prefixes x", ""])
def test_a_version_that_only_looks_similar_contains_no_prefixes(text: str) -> None:
    assert Prefixes.in_version(text) == (text, Prefixes())


def test_different_prefixes_make_a_different_model() -> None:
    def by_endpoint(prefixes: Prefixes) -> OpenAICompatibleEmbedder:
        return OpenAICompatibleEmbedder(
            Endpoint(base_url="u", model="e5", dimensions=3, prefixes=prefixes)
        )

    def by_hub(prefixes: Prefixes) -> HubEmbedder:
        return HubEmbedder(library=Library.FASTEMBED, name="e5", dimensions=3, prefixes=prefixes)

    assert by_endpoint(Prefixes()).model.version == "1"
    assert by_endpoint(E5).model == by_hub(E5).model
    assert by_endpoint(E5).model != by_endpoint(Prefixes()).model


def test_each_purpose_has_its_own_prefix() -> None:
    assert [E5.prefix_for(purpose) for purpose in Purpose] == ["query: ", "passage: "]
