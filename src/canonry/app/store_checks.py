"""What the settings of a store need of each other: servers, databases and where files lie."""

import re
from typing import Final
from urllib.parse import urlsplit

from canonry.app.secret_variables import MONGODB_PASSWORD_VARIABLE
from canonry.app.setting_kinds import wrong_value
from canonry.app.setting_table import DEFAULT, Settings
from canonry.values.errors import InvalidInput

_CONNECTIONS_MAX: Final = 1_000
_SCHEMA: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")


def check_store(settings: Settings) -> None:
    """Refuse settings of a store that lack or exclude each other.

    Raises:
        InvalidInput: `settings.incomplete` or `settings.malformed`.
    """
    _check_postgres(settings)
    _check_mongodb(settings)
    _check_files(settings)


def _check_files(settings: Settings) -> None:
    if settings.files_url is not None and settings.postgres_url is settings.mongodb_url is None:
        message = "files.url has no effect without postgres.url or mongodb.url: set both"
        raise InvalidInput("settings.incomplete", message, path="postgres.url")
    if settings.files_endpoint is not None and settings.files_url is None:
        message = "files.endpoint has no effect without files.url: set both"
        raise InvalidInput("settings.incomplete", message, path="files.url")


def _check_mongodb(settings: Settings) -> None:
    url, name = settings.mongodb_url, settings.mongodb_database
    if not _SCHEMA.fullmatch(name):
        expected = "up to 40 small letters, digits and underscores, the first one a letter"
        raise wrong_value(
            "mongodb.database", expected, settings.sources.get("mongodb.database", "")
        )
    for key, given, schemes in (
        ("neo4j.url", settings.neo4j_url, ("bolt", "neo4j")),
        ("opensearch.url", settings.opensearch_url, ("http",)),
        ("qdrant.url", settings.qdrant_url, ("http",)),
    ):
        if given is None:
            continue
        if not given.startswith(schemes) or ("@" in given and ":" in given.split("@")[0][8:]):
            expected = f"an address like {schemes[0]}://host, without a password"
            raise wrong_value(key, expected, settings.sources.get(key, DEFAULT))
        if url is None:
            message = f"{key} has no effect without mongodb.url: set both"
            raise InvalidInput("settings.incomplete", message, path="mongodb.url")
    if url is None:
        return
    try:
        parts = urlsplit(url)
        known = parts.scheme in {"mongodb", "mongodb+srv"} and parts.password is None
    except ValueError:
        known = False
    if not known or parts.hostname is None:
        expected = f"like mongodb://user@host; the password goes into {MONGODB_PASSWORD_VARIABLE}"
        raise wrong_value("mongodb.url", expected, settings.sources.get("mongodb.url", DEFAULT))
    if settings.memory or settings.postgres_url is not None:
        message = "mongodb.url, postgres.url and memory exclude each other: leave only one of them"
        raise InvalidInput("settings.incomplete", message, path="mongodb.url")


def _check_postgres(settings: Settings) -> None:
    url, schema, most = (
        settings.postgres_url,
        settings.postgres_schema,
        settings.postgres_connections,
    )
    shards = settings.records_shards
    if settings.postgres_copy and url is None:
        message = "postgres.copy has no effect without postgres.url: set both"
        raise InvalidInput("settings.incomplete", message, path="postgres.url")
    if settings.postgres_copy and shards:
        message = "postgres.copy follows one database, not records.shards: leave one of them out"
        raise InvalidInput("settings.incomplete", message, path="postgres.copy")
    for key, address in (("postgres.url", url), *(("records.shards", each) for each in shards)):
        if address is not None and not _is_database(address):
            expected = "like postgresql://user@host/database; the password goes into PGPASSWORD"
            raise wrong_value(key, expected, settings.sources.get(key, DEFAULT))
    if shards and url != shards[0]:
        message = "postgres.url is the first server of records.shards: leave it out, or name it so"
        raise InvalidInput("settings.incomplete", message, path="records.shards")
    if url is not None and settings.memory:
        message = "memory and postgres.url exclude each other: leave one of them out"
        raise InvalidInput("settings.incomplete", message, path="postgres.url")
    if not _SCHEMA.fullmatch(schema):
        expected = "up to 40 small letters, digits and underscores, the first one a letter"
        raise wrong_value("postgres.schema", expected, settings.sources.get("postgres.schema", ""))
    if not float(most).is_integer() or most > _CONNECTIONS_MAX:
        expected = f"a whole number up to {_CONNECTIONS_MAX}"
        raise wrong_value(
            "postgres.connections", expected, settings.sources.get("postgres.connections", "")
        )


def _is_database(text: str) -> bool:
    try:
        parts = urlsplit(text)
        named = parts.scheme in {"postgres", "postgresql"} and parts.password is None
    except ValueError:
        return False
    return named and "password" not in parts.query
