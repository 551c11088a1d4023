"""Settings of recall: which model they name, where it comes from, and what a doctor tells of it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from canonry.app.load_settings import load_settings
from canonry.app.recall_models import embedder_for, origin_of
from canonry.app.settings import Settings
from canonry.readmodels.ports.text import EmbeddingModel
from canonry.recall.embedders import HashingEmbedder, OnnxEmbedder
from canonry.values.errors import InvalidInput
from tests.cli.run import SOURCE, run_canonry

EXAMPLES = SOURCE.parent / "examples"
E5 = {
    "recall_model": "multilingual-e5-small",
    "recall_dimensions": "384",
    "recall_query_prefix": "query: ",
    "recall_passage_prefix": "passage: ",
}
ENDPOINT = {**E5, "recall_embedder": "openai", "recall_url": "http://127.0.0.1:80/v1?key=secret"}
HUB = {**E5, "recall_embedder": "hub"}


def make_settings(**given: Any) -> Settings:
    return load_settings(given, environment={})


def model_of(one: Settings, model: EmbeddingModel | None = None) -> EmbeddingModel | None:
    embedder = embedder_for(one, model)
    return None if embedder is None else embedder.model


@pytest.mark.parametrize("given", [ENDPOINT, HUB])
def test_prefixes_are_part_of_the_model_and_older_ones_are_still_used(
    given: dict[str, str],
) -> None:
    now = make_settings(**given)
    before = replace(
        now,
        recall_model="another",
        recall_dimensions=512.0,
        recall_model_version="7",
        recall_query_prefix=None,
    )
    older = model_of(before)

    assert model_of(now) != model_of(replace(now, recall_query_prefix=None))
    assert older is not None
    assert older.version == '7 with prefixes ["", "passage: "]'
    assert model_of(now, older) == older


def test_local_models_serve_until_another_one_is_ready() -> None:
    onnx, hashing = make_settings(), make_settings(recall_embedder="hashing")

    for now in (onnx, make_settings(**ENDPOINT), make_settings(**HUB)):
        assert isinstance(embedder_for(now, model_of(hashing)), HashingEmbedder)
        assert isinstance(embedder_for(now, model_of(onnx)), OnnxEmbedder)
    assert model_of(onnx, model_of(make_settings(**HUB))) is None
    assert model_of(make_settings(recall_embedder="none")) is None


@pytest.mark.parametrize(
    ("given", "origin"),
    [
        ({}, "sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0), pinned by digest"),
        ({"recall_embedder": "hashing"}, "likeness of spelling"),
        (ENDPOINT, "the endpoint http://127.0.0.1:80/v1"),
        (HUB, "the hub, fetched and run by fastembed"),
        ({"recall_embedder": "none"}, "none"),
    ],
)
def test_a_models_origin_is_reported_without_secrets(given: dict[str, str], origin: str) -> None:
    result = origin_of(make_settings(**given))

    assert origin in result
    assert "secret" not in result


@pytest.mark.parametrize(
    "url",
    ["models/v1", "ftp://models/v1", "http://", "http://[", "http://a:99999999", "http://u:p@a"],
)
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"recall\.url must be an http or https address"):
        make_settings(**{**ENDPOINT, "recall_url": url})


def test_the_doctor_names_model_size_version_and_origin(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    session = str(EXAMPLES / "session.json")
    made = run_canonry("import", "transcript", session, "--universe", "Saltmere", *data)
    assert made.returncode == 0, made.stderr

    reply = run_canonry(
        "doctor", *data, "--json", environment={"CANONRY_RECALL_EMBEDDER": "hashing"}
    )

    store = json.loads(reply.stdout)["store"]
    assert store["recall_model"] == "hashing, version 1, 384 dimensions"
    assert store["recall_model_origin"] == origin_of(make_settings(recall_embedder="hashing"))
