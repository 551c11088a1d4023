"""Settings: file, environment and command line, in rising precedence, each mistake told clearly."""

import tomllib
from pathlib import Path

import pytest

from canonry.app.load_settings import load_settings, user_config
from canonry.app.settings import ENDED, SETTINGS, SettingRow, Settings, user_data
from canonry.values.errors import InvalidInput
from canonry.values.provenance import Authority
from tests.cli.run import run_canonry
from tests.meta.tree import PACKAGE


def a_file(folder: Path, text: str) -> Path:
    path = folder / "canonry.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_need_no_file(tmp_path: Path) -> None:
    settings = load_settings(environment={})

    assert settings.toolsets == ("canon",)
    assert settings.data == user_data()
    assert settings.agent_type is None
    assert settings.authorities is None


def test_the_command_line_wins_over_the_environment_and_the_file(tmp_path: Path) -> None:
    path = a_file(tmp_path, 'agent_type = "Narrator"\nagent_id = "file"\nlog_level = "warning"\n')
    settings = load_settings(
        {"agent_type": "CanonKeeper"},
        config=path,
        environment={"CANONRY_AGENT_TYPE": "Resolver", "CANONRY_AGENT_ID": "environment"},
    )

    assert settings.agent_type == ("CanonKeeper",)
    assert settings.agent_id == "environment"
    assert settings.log_level == "warning"
    sources = {key: source for key, _, source in settings.describe_values()}
    assert sources["agent_type"] == "--agent-type"
    assert sources["agent_id"] == "CANONRY_AGENT_ID"
    assert sources["log_level"] == f"settings file {path}"
    assert sources["http"] == "default"


def test_only_settings_in_tables_have_dotted_keys() -> None:
    rows = {row.field: row for row in SETTINGS}

    assert rows["recall_model_version"].key == "recall.model_version"
    assert rows["recall_model_version"].variable == "CANONRY_RECALL_MODEL_VERSION"
    assert rows["recall_model_version"].option == "--recall-model-version"
    assert rows["http_allowed_hosts"].key == "http_allowed_hosts"


def test_every_setting_has_help_and_no_help_is_unused() -> None:
    text = (PACKAGE / "app" / "settings.toml").read_text(encoding="utf-8")

    assert list(tomllib.loads(text)) == [row.field for row in SETTINGS]
    assert all(row.help.endswith((".", "?")) for row in SETTINGS)


@pytest.mark.parametrize(
    ("key", "default", "in_force"),
    [
        ("recall.patience", "10", "10"),
        ("trust_meta", "no", "no"),
        ("auth.algorithms", "RS256,ES256,EdDSA", "RS256,ES256,EdDSA"),
        ("http_allowed_hosts", "", "none"),
        ("agent_id", "the first agent type", "the first agent type"),
        ("http", "", "not set"),
    ],
)
def test_a_default_is_described_as_it_applies(key: str, default: str, in_force: str) -> None:
    found = {each: value for each, value, _ in load_settings(environment={}).describe_values()}

    assert {row.key: row.default for row in SETTINGS}[key] == default
    assert found[key] == in_force


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: row.key)
def test_every_setting_can_be_given_in_all_three_places(row: SettingRow, tmp_path: Path) -> None:
    text = SAMPLES.get(row.key, "yes" if row.kind.flag else "text")
    rest = {f"CANONRY_{key.upper()}": value for key, value in NEEDED.get(row.key, {}).items()}
    by_option = load_settings({row.field: text}, environment=rest)
    by_variable = load_settings(environment={**rest, row.variable: text})
    table, _, key = row.key.rpartition(".")
    value = (
        {"yes": "true", "no": "false"}[text]
        if row.kind.flag
        else text
        if row.kind.expected.startswith("a num")
        else repr(text)
    )
    content = f"[{table}]\n{key} = {value}\n" if table else f"{key} = {value}\n"
    by_file = load_settings(config=a_file(tmp_path, content), environment=rest)

    found = {getattr(each, row.field) for each in (by_option, by_variable, by_file)}
    assert len(found) == 1
    assert row.key == "authorities" or found != {getattr(Settings(), row.field)}


SAMPLES = {
    "postgres.url": "postgresql://canonry@127.0.0.1/canonry",
    "postgres.connections": "4",
    "records.shards": "postgresql://canonry@127.0.0.1/one,postgresql://canonry@127.0.0.1/two",
    "mongodb.url": "mongodb://canonry@127.0.0.1",
    "neo4j.url": "bolt://neo4j@127.0.0.1",
    "opensearch.url": "http://127.0.0.1:9200",
    "qdrant.url": "http://127.0.0.1:6333",
    "durability": "normal",
    "http": "127.0.0.1:8123",
    "authorities": "gm,player",
    "user": "01890a5d-ac96-774b-bcce-b302099a8057",
    "spaces": "01890a5d-ac96-774b-bcce-b302099a8057",
    "world": "01890a5d-ac96-774b-bcce-b302099a8057",
    "error_mode": "jsonrpc",
    "deadline": "5",
    "rate_limit": "60",
    "http_inspector": "no",
    "http_connections": "300",
    "http_connections_each": "300",
    "http_idle": "75",
    "http_sessions_each": "20",
    "http_in_flight": "64.5",
    "auth.algorithms": "ES256",
    "auth.default_spaces": "01890a5d-ac96-774b-bcce-b302099a8057",
    "http_trusted_proxies": "10.0.0.0/8",
    "log_level": "warning",
    "recall.embedder": "hashing",
    "recall.dimensions": "384",
    "auth.keys_hours": "3",
    "recall.patience": "3",
    "recall.url": "https://models/v1",
    "recall.library": "sentence_transformers",
    "recall.reranker": "tei",
    "recall.rerank_url": "https://models/v1",
    "recall.rerank_patience": "3",
    "truth.interpreter": "anthropic",
    "truth.url": "https://models/v1",
    "truth.public_url": "https://files.example",
    "dialogue.url": "https://models/v1",
    "dialogue.seconds": "3",
}
_AUTH = {
    "auth_issuer": "https://issuer",
    "auth_audience": "canonry",
    "auth_jwks_url": "https://keys",
}
NEEDED: dict[str, dict[str, str]] = {
    row.key: {k: v for k, v in _AUTH.items() if k != row.field}
    for row in SETTINGS
    if row.key.startswith("auth.")
}
NEEDED["auth.key_file"].pop("auth_jwks_url")
NEEDED["dialogue.url"] = {"dialogue_model": "m-1"}
NEEDED["dialogue.model"] = NEEDED["dialogue.moderator"] = {"dialogue_url": "https://models/v1"}
NEEDED["dialogue.intents"] = NEEDED["dialogue.model"]
NEEDED["recall.reranker"] = {"recall_rerank_url": "https://models/v1"}
NEEDED["files.url"] = {"postgres_url": "postgresql://canonry@127.0.0.1/canonry"}
NEEDED["opensearch.url"] = {"mongodb_url": "mongodb://canonry@127.0.0.1"}
NEEDED["neo4j.url"] = NEEDED["qdrant.url"] = {"mongodb_url": "mongodb://canonry@127.0.0.1"}
NEEDED["files.endpoint"] = {**NEEDED["files.url"], "files_url": "s3://files"}
NEEDED["truth.interpreter"] = {"truth_url": "https://models/v1", "truth_model": "m-1"}


@pytest.mark.parametrize("url", ["postgresql://canonry@127.0.0.1/canonry", None])
def test_views_always_lie_in_the_replica(url: str | None, tmp_path: Path) -> None:
    given = {"postgres_url": url, "data": str(tmp_path)}
    assert load_settings({**given, "postgres_copy": "yes"}, environment={}).postgres_copy

    with pytest.raises(InvalidInput, match="cannot be turned off") as caught:
        load_settings({**given, "postgres_copy": "no"}, environment={})
    assert str(tmp_path / "copy") in caught.value.message


def test_a_speech_model_needs_an_address_and_a_name() -> None:
    for given in ({"dialogue_url": "https://models/v1"}, {"dialogue_model": "m-1"}):
        with pytest.raises(InvalidInput, match=r"dialogue\.model") as caught:
            load_settings(given, environment={})
        assert caught.value.details["path"] == "dialogue.url"
    with pytest.raises(InvalidInput, match="without a password"):
        load_settings({"dialogue_url": "ftp://x", "dialogue_model": "m"}, environment={})


@pytest.mark.parametrize("missing", ["truth_url", "truth_model"])
def test_a_language_model_needs_an_address_and_a_name(missing: str) -> None:
    given = {"truth_interpreter": "openai", **NEEDED["truth.interpreter"]}
    assert load_settings(given, environment={}).truth_model == "m-1"

    with pytest.raises(InvalidInput, match="set both") as caught:
        load_settings({k: v for k, v in given.items() if k != missing}, environment={})
    assert caught.value.details["path"] == missing.replace("_", ".", 1)


@pytest.mark.parametrize("missing", ["recall_url", "recall_model", "recall_dimensions"])
def test_an_endpoint_for_embeddings_needs_an_address_a_model_and_its_size(missing: str) -> None:
    given = {
        "recall_embedder": "openai",
        "recall_url": "https://models/v1",
        "recall_model": "text-embedding-3-small",
        "recall_dimensions": "1536",
    }
    assert load_settings(given, environment={}).recall_dimensions == 1536

    with pytest.raises(InvalidInput, match="set both") as caught:
        load_settings({k: v for k, v in given.items() if k != missing}, environment={})
    assert caught.value.details["path"] == missing.replace("_", ".", 1)


def test_a_reranker_needs_a_valid_address() -> None:
    given = {"recall_reranker": "cohere", "recall_rerank_url": "https://models/v1"}
    assert load_settings(given, environment={}).recall_reranker == "cohere"

    with pytest.raises(InvalidInput, match="set both"):
        load_settings({"recall_reranker": "tei"}, environment={})
    with pytest.raises(InvalidInput, match=r"recall\.rerank_url"):
        load_settings({**given, "recall_rerank_url": "models"}, environment={})


def test_the_key_of_an_endpoint_stands_only_in_the_environment(tmp_path: Path) -> None:
    settings = load_settings(environment={"CANONRY_RECALL_KEY": "secret"})

    assert not any("secret" in value for _, value, _ in settings.describe_values())
    with pytest.raises(InvalidInput):
        load_settings(config=a_file(tmp_path, '[recall]\nkey = "secret"\n'), environment={})


def test_dimensions_are_a_whole_number() -> None:
    with pytest.raises(InvalidInput, match="whole number"):
        load_settings({"recall_dimensions": "1.5"}, environment={})


@pytest.mark.parametrize(
    ("text", "key", "advice"),
    [
        ('agnet_type = "Narrator"', "agnet_type", "agent_type"),
        ('[auth]\nissur = "x"', "auth.issur", "auth.issuer"),
        ("[policy.scorin]\nthreshold = 0.4", "policy.scorin", "policy.scoring"),
        ("[policy.scoring]\ntreshold = 0.4", "policy.scoring.treshold", "policy.scoring.threshold"),
        ("[policy.scoring.weights]\ngmm = 0.4", "policy.scoring.weights.gmm", "weights.gm"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(
    text: str, key: str, advice: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="did you mean") as caught:
        load_settings(config=a_file(tmp_path, text), environment={})

    assert caught.value.code == "settings.unknown"
    assert key in caught.value.message
    assert advice in caught.value.message
    assert "canonry.toml" in caught.value.message


@pytest.mark.parametrize("field", list(ENDED))
def test_a_removed_setting_names_its_replacement(field: str, tmp_path: Path) -> None:
    table, _, rest = field.partition("_")
    text = f"[recall]\n{rest} = true" if table == "recall" else f"{field} = true"
    for given in (
        {"environment": {f"CANONRY_{field.upper()}": "yes"}},
        {"config": a_file(tmp_path, text), "environment": {}},
    ):
        with pytest.raises(InvalidInput, match="was removed") as caught:
            load_settings(**given)
        assert ENDED[field] in caught.value.message

    reply = run_canonry("serve", f"--{field.replace('_', '-')}")
    assert reply.returncode == 2
    assert ENDED[field] in reply.stderr


def test_an_unknown_variable_is_named_with_the_nearest_known_one() -> None:
    with pytest.raises(InvalidInput, match="CANONRY_AGENT_TYPE"):
        load_settings(environment={"CANONRY_AGENT_TYP": "Narrator"})


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("trust_meta = 1", "trust_meta"),
        ("data = 3", "data"),
        ("toolsets = [1]", "toolsets"),
        ('durability = "fast"', "durability"),
        ('http = "somewhere"', "http"),
        ('http = "127.0.0.1:99999"', "http"),
        ('user = "Ann"', "user"),
        ("deadline = -1", "deadline"),
        ("deadline = nan", "deadline"),
        ('authorities = ["king"]', "authorities"),
        ('policy = "strict"', "policy"),
        ('[policy.scoring]\nthreshold = "high"', "policy.scoring.threshold"),
        ("[policy.scoring]\nthreshold = 7", "policy.scoring.threshold"),
        ('[policy.scoring]\nbelow = "ask"', "policy.scoring.below"),
        ("[policy.limits]\nturn = -1", "policy.limits.turn"),
        ("[policy.limits]\nturn = true", "policy.limits.turn"),
        ('[policy]\ntags_exclusive = ["up", "down"]', "policy.tags_exclusive"),
    ],
)
def test_a_wrong_value_is_reported_with_its_key(text: str, key: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_settings(config=a_file(tmp_path, text), environment={})

    assert caught.value.code == "settings.malformed"
    assert key in caught.value.message


def test_the_policy_is_read_from_its_table(tmp_path: Path) -> None:
    text = """
[policy]
tags_exclusive = [["asleep", "awake"]]
[policy.scoring]
threshold = 0.6
below = "defer"
[policy.scoring.weights]
player = 0.8
[policy.limits]
turn = 500
[policy.attributes.mood]
kind = "word"
exclusive = [["elated", "gloomy"]]
"""
    policy = load_settings(config=a_file(tmp_path, text), environment={}).policy

    assert policy.scoring.threshold == 0.6
    assert policy.scoring.below == "defer"
    assert policy.scoring.weights[Authority.PLAYER] == 0.8
    assert policy.scoring.weights[Authority.GM] == 0.9
    assert policy.limits.turn == 500
    assert policy.tags_exclusive == (("asleep", "awake"),)
    assert policy.attributes == {"mood": {"kind": "word", "exclusive": [["elated", "gloomy"]]}}


def test_a_malformed_attribute_is_refused_with_its_name(tmp_path: Path) -> None:
    text = '[policy.attributes.mood]\nexclusive = [["elated", "gloomy"]]'
    with pytest.raises(InvalidInput, match="'mood' needs a kind"):
        load_settings(config=a_file(tmp_path, text), environment={})


def test_a_named_file_must_exist_and_the_default_one_need_not(tmp_path: Path) -> None:
    assert not user_config().exists()
    with pytest.raises(InvalidInput, match="no settings file"):
        load_settings(config=tmp_path / "absent.toml", environment={})
    with pytest.raises(InvalidInput, match="no settings file"):
        load_settings(environment={"CANONRY_CONFIG": str(tmp_path / "absent.toml")})


def test_a_broken_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_settings(config=a_file(tmp_path, "a = = b"), environment={})


@pytest.mark.parametrize(
    "variables",
    [
        {"CANONRY_AUTH_AUDIENCE": "canonry"},
        {"CANONRY_AUTH_ISSUER": "https://issuer"},
        {"CANONRY_AUTH_ISSUER": "https://issuer", "CANONRY_AUTH_AUDIENCE": "canonry"},
        {
            "CANONRY_AUTH_ISSUER": "https://issuer",
            "CANONRY_AUTH_AUDIENCE": "canonry",
            "CANONRY_AUTH_JWKS_URL": "https://keys",
            "CANONRY_AUTH_KEY_FILE": "key.pem",
        },
    ],
)
def test_an_incomplete_identity_is_refused(variables: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match=r"auth\.") as caught:
        load_settings(environment=variables)

    assert caught.value.code == "settings.incomplete"
