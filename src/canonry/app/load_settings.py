"""Read settings from the file, the environment and the command line."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from ipaddress import ip_network
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import platformdirs

from canonry.app.packages import PACKAGES, require_package
from canonry.app.settings import (
    DEFAULT,
    POLICY,
    SETTINGS,
    SettingKind,
    Settings,
    parse_address,
    policy_from,
    unknown_setting,
    wrong_value,
)
from canonry.server.options import EVERY_SPACE
from canonry.values.errors import InvalidInput
from canonry.values.ids import is_uuid
from canonry.values.policy import Policy


class SecretVariable(StrEnum):
    """The environment variables with secrets, which no other source may hold."""

    RECALL = "CANONRY_RECALL_KEY"
    RERANK = "CANONRY_RERANK_KEY"
    TRUTH = "CANONRY_TRUTH_KEY"
    DIALOGUE = "CANONRY_DIALOGUE_KEY"
    FILES = "CANONRY_FILES_KEY"  # signs links on several servers; else each store has its own key
    MONGODB = "CANONRY_MONGODB_PASSWORD"
    NEO4J = "CANONRY_NEO4J_PASSWORD"
    OPENSEARCH = "CANONRY_OPENSEARCH_PASSWORD"
    QDRANT = "CANONRY_QDRANT_KEY"

    def read_secret(self) -> str | None:
        """Return the secret, or None without one."""
        return os.environ.get(self) or None


_CONNECTIONS_MAX: Final = 1_000  # a typing error shall not exhaust the database server
_FIELDS: Final = {row.key: row.field for row in SETTINGS}
_SCHEMA: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


_WITHOUT: Final = (
    ("neo4j.url", ("postgres.url", "mongodb.url")),
    ("opensearch.url", ("postgres.url", "mongodb.url")),
    ("qdrant.url", ("postgres.url", "mongodb.url")),
    ("files.url", ("postgres.url", "mongodb.url")),
    ("files.endpoint", ("files.url",)),
)
"""Settings without effect unless one of others is set."""


def _check_store(settings: Settings) -> None:
    for key, others in _WITHOUT:
        if _value_of(settings, key) and not any(_value_of(settings, each) for each in others):
            message = f"{key} has no effect without {' or '.join(others)}. Set both."
            raise _incomplete_settings(message, others[0])
    for key in ("postgres.schema", "mongodb.database"):
        if not _SCHEMA.fullmatch(_value_of(settings, key)):
            expected = "up to 40 small letters, digits and underscores, the first one a letter"
            raise _wrong_setting(settings, key, expected)
    _check_postgres(settings)
    for key, schemes in (
        ("neo4j.url", ("bolt", "neo4j")),
        ("opensearch.url", ("http",)),
        ("qdrant.url", ("http",)),
    ):
        given = _value_of(settings, key) or schemes[0]
        if not given.startswith(schemes) or ("@" in given and ":" in given.split("@")[0][8:]):
            raise _wrong_setting(
                settings, key, f"an address like {schemes[0]}://host, without a password"
            )
    url = settings.mongodb_url
    parts = None if url is None else _without_password(url, "mongodb", "mongodb+srv")
    if url is not None and (parts is None or parts.hostname is None):
        expected = f"like mongodb://user@host; the password goes into {SecretVariable.MONGODB}"
        raise _wrong_setting(settings, "mongodb.url", expected)
    if url is not None and (settings.memory or settings.postgres_url is not None):
        message = "mongodb.url, postgres.url and memory exclude each other. Set only one of them."
        raise _incomplete_settings(message, "mongodb.url")


def _check_postgres(settings: Settings) -> None:
    url, shards = settings.postgres_url, settings.records_shards
    most = settings.postgres_connections
    if "postgres.copy" in settings.sources and not settings.postgres_copy:
        message = (
            "postgres.copy cannot be turned off: PostgreSQL has the records, and the views are in "
            f"a copy in {settings.data / 'copy'}. Leave out postgres.copy."
        )
        raise InvalidInput("settings.malformed", message, path="postgres.copy")
    for key, address in (("postgres.url", url), *(("records.shards", each) for each in shards)):
        parts = None if address is None else _without_password(address, "postgres", "postgresql")
        if address is not None and (parts is None or "password" in parts.query):
            expected = "like postgresql://user@host/database; the password goes into PGPASSWORD"
            raise _wrong_setting(settings, key, expected)
    if shards and url != shards[0]:
        message = (
            "postgres.url must be the first server of records.shards. Set it so, or leave it out."
        )
        raise _incomplete_settings(message, "records.shards")
    if url is not None and settings.memory:
        message = "memory and postgres.url exclude each other. Leave out one of them."
        raise _incomplete_settings(message, "postgres.url")
    if not float(most).is_integer() or most > _CONNECTIONS_MAX:
        raise _wrong_setting(
            settings, "postgres.connections", f"a whole number up to {_CONNECTIONS_MAX}"
        )


def _without_password(text: str, *schemes: str) -> SplitResult | None:
    """Return the parts of an address with one of these schemes and no password; else None."""
    try:
        parts = urlsplit(text)
        fits = parts.scheme in schemes and parts.password is None
    except ValueError:
        return None
    return parts if fits else None


def _value_of(settings: Settings, key: str) -> Any:
    return getattr(settings, _FIELDS[key])


def _wrong_setting(settings: Settings, key: str, expected: str) -> InvalidInput:
    return wrong_value(key, expected, settings.sources.get(key, DEFAULT))


def _incomplete_settings(message: str, key: str) -> InvalidInput:
    return InvalidInput("settings.incomplete", message, path=key)


# Merge one file, the environment and the command line into one checked value.
#
# The command line wins over the environment, the environment over the file, the file over defaults.

CONFIG_VARIABLE: Final = "CANONRY_CONFIG"
DEBUG_VARIABLE: Final = "CANONRY_DEBUG"
LOCAL: Final = "local"
"""The moderator that needs no endpoint."""

_FOREIGN: Final = frozenset({CONFIG_VARIABLE, DEBUG_VARIABLE, *SecretVariable})

_DIMENSIONS_MAX: Final = 16_384  # bounds the size of each stored vector


def user_config() -> Path:
    """Return the default settings file, which need not exist."""
    return Path(platformdirs.user_config_dir("canonry", appauthor=False)) / "canonry.toml"


def load_settings(
    options: Mapping[str, Any] | None = None,
    *,
    config: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Return the effective settings; `options` holds the command line by `SettingRow.field`.

    Raises:
        InvalidInput: `settings.unknown`, `settings.malformed` or `settings.unreadable`; the
            message names the key, its origin and, if unknown, the nearest known one.
    """
    variables = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    named = config or (Path(variables[CONFIG_VARIABLE]) if CONFIG_VARIABLE in variables else None)
    layers = (
        _from_file(named or user_config(), required=named is not None),
        _from_environment(variables),
        _from_options(options or {}),
    )
    for layer in layers:
        for key, (value, source) in layer.items():
            values[key] = value
            sources[key] = source
    policy = values.pop(POLICY, Policy())
    settings = replace(
        Settings(policy=policy, sources=sources),
        **{_FIELDS[key]: value for key, value in values.items()},
    )
    if settings.records_shards and settings.postgres_url is None:
        settings = replace(settings, postgres_url=settings.records_shards[0])
    _check_settings(settings)
    return settings


SettingsLayer = dict[str, tuple[Any, str]]


def _from_file(path: Path, *, required: bool) -> SettingsLayer:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if not required:
            return {}
        message = f"There is no settings file {path}. Create it, or leave out --config."
        raise InvalidInput("settings.unreadable", message, path=str(path)) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        message = f"The settings file {path} cannot be read: {error}"
        raise InvalidInput("settings.unreadable", message, path=str(path)) from error
    where = f"settings file {path}"
    policy = content.pop(POLICY, None)
    layer: SettingsLayer = {}
    if policy is not None:
        layer[POLICY] = (policy_from(policy, where), where)
    rows = {row.key: row for row in SETTINGS}
    tables = {row.key.partition(".")[0] for row in SETTINGS if "." in row.key}
    for key, value in _flatten_tables(content, tables):
        row = rows.get(key)
        if row is None:
            raise unknown_setting(key, [*rows, POLICY], where)
        layer[key] = (_read_value(row.kind.of_toml, value, row.key, row.kind, where), where)
    return layer


def _flatten_tables(content: Mapping[str, Any], tables: set[str]) -> Iterator[tuple[str, Any]]:
    for key, value in content.items():
        if key in tables and isinstance(value, dict):
            yield from ((f"{key}.{inner}", inner_value) for inner, inner_value in value.items())
        else:
            yield key, value


def _from_environment(variables: Mapping[str, str]) -> SettingsLayer:
    rows = {row.variable: row for row in SETTINGS}
    layer: SettingsLayer = {}
    for name in sorted(name for name in variables if name.startswith("CANONRY_")):
        row = rows.get(name)
        if row is None:
            if name in _FOREIGN or name.startswith(("CANONRY_BENCH_", "CANONRY_REQUIRE_")):
                continue
            raise unknown_setting(name, rows, "environment")
        text = variables[name]
        if text or row.kind.flag:
            value = _read_value(row.kind.of_text, text, name, row.kind, "environment")
            layer[row.key] = value, name
    return layer


def _from_options(options: Mapping[str, Any]) -> SettingsLayer:
    layer: SettingsLayer = {}
    for row in SETTINGS:
        given = options.get(row.field)
        if given is None:
            continue
        value = given
        if isinstance(given, str):
            value = _read_value(row.kind.of_text, given, row.option, row.kind, "command line")
        layer[row.key] = (value, row.option)
    return layer


def _read_value(read: Any, value: Any, name: str, kind: SettingKind, where: str) -> Any:
    try:
        return read(value)
    except ValueError:
        raise wrong_value(name, kind.expected, where) from None


def _check_settings(settings: Settings) -> None:
    if settings.http is not None:
        parse_address(settings.http)
    named = (
        ("user", (settings.user,)),
        ("world", (settings.world,)),
        ("spaces", settings.spaces or ()),
        ("auth.default_spaces", set(settings.auth_default_spaces) - {EVERY_SPACE}),
    )
    for key, values in named:
        if any(value is not None and not is_uuid(value) for value in values):
            raise _wrong_setting(settings, key, "UUIDs")
    if not all(map(_is_network, settings.http_trusted_proxies)):
        raise _wrong_setting(
            settings, "http_trusted_proxies", "addresses or networks, as 10.0.0.0/8"
        )
    for package, brings in PACKAGES.items():  # a setting whose package is not installed
        for key in brings.settings:
            if key in settings.sources and _value_of(settings, key):
                require_package(package, key)
    if not settings.toolsets:
        raise _wrong_setting(settings, "toolsets", "at least one name")
    _check_models(settings)
    _check_store(settings)
    _check_auth(settings)


def _check_auth(settings: Settings) -> None:
    if settings.auth_issuer is None:
        if alone := [key for key in _FIELDS if key.startswith("auth.") and key in settings.sources]:
            raise _incomplete_settings(
                f"{alone[0]} has no effect without auth.issuer. Set both.", "auth.issuer"
            )
        return
    if settings.auth_audience is None:
        message = (
            "auth.issuer needs auth.audience. Set it to the audience in the tokens for this server."
        )
        raise _incomplete_settings(message, "auth.audience")
    if (settings.auth_jwks_url is None) == (settings.auth_key_file is None):
        message = "auth.issuer needs auth.jwks_url or auth.key_file. Set exactly one of them."
        raise _incomplete_settings(message, "auth.jwks_url")


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


def _check_models(settings: Settings) -> None:
    """Refuse a model at an endpoint or a hub with missing settings."""
    chosen = {
        ("recall.embedder", "openai"): ("recall.url", "recall.model", "recall.dimensions"),
        ("recall.embedder", "hub"): ("recall.model", "recall.dimensions"),
        ("recall.reranker", "cohere"): ("recall.rerank_url",),
        ("recall.reranker", "tei"): ("recall.rerank_url",),
        ("truth.interpreter", "openai"): ("truth.url", "truth.model"),
        ("truth.interpreter", "anthropic"): ("truth.url", "truth.model"),
    }
    for (key, choice), needed in chosen.items():
        for each in needed if _value_of(settings, key) == choice else ():
            if _value_of(settings, each) is None:
                raise _incomplete_settings(f"{key} {choice} needs {each}: set both", each)
    size = settings.recall_dimensions
    if size is not None and not (size.is_integer() and size <= _DIMENSIONS_MAX):
        raise _wrong_setting(
            settings, "recall.dimensions", f"a whole number up to {_DIMENSIONS_MAX}"
        )
    for key in ("recall.url", "recall.rerank_url", "truth.url", "truth.public_url", "dialogue.url"):
        address = _value_of(settings, key)
        if address is not None and not _is_address(address):
            expected = "an http or https address without a password"
            if key.startswith("recall."):
                expected += ", such as http://127.0.0.1:80/v1"
            raise _wrong_setting(settings, key, expected)
    moderator = settings.dialogue_moderator
    remote = moderator if moderator != LOCAL else None
    asked = settings.dialogue_model or remote or settings.dialogue_intents
    if (settings.dialogue_url is None) != (asked is None):
        message = (
            "dialogue.url needs dialogue.model, dialogue.moderator or dialogue.intents, and each "
            "of them needs dialogue.url. Set both."
        )
        raise _incomplete_settings(message, "dialogue.url")


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        whole = bool(parts.hostname) and parts.port != 0 and parts.username is None
    except ValueError:  # an unclosed bracket, or a malformed port
        return False
    return whole and parts.scheme in {"http", "https"}
