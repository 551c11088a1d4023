"""The settings of the store: where records, views and files are kept."""

from dataclasses import dataclass
from pathlib import Path

import platformdirs

from canonry.app.setting_kinds import FLAG, NAMES, NUMBER, PATH, STORE, TEXT, one_of, setting


def user_data() -> Path:
    """Where the store lies unless somebody says otherwise."""
    return Path(platformdirs.user_data_dir("canonry", appauthor=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """What an operator may decide of the store."""

    data: Path = setting(
        PATH,
        "Folder of the store; made when missing.",
        factory=user_data,
        told="the user's data folder",
        group=STORE,
    )
    durability: str = setting(
        one_of("full", "normal"),
        "full: an acknowledged write survives power loss; normal: it survives kill -9.",
        default="full",
        group=STORE,
    )
    postgres_url: str | None = setting(
        TEXT,
        (
            "Keep the store in this PostgreSQL database, which many servers may share; "
            "its password is PGPASSWORD."
        ),
        metavar="URL",
        told="the data folder holds it",
        group=STORE,
    )
    records_shards: tuple[str, ...] = setting(
        NAMES,
        (
            "Divide the spaces between these PostgreSQL databases, of which the first one is "
            "postgres.url; their passwords are PGPASSWORD, or in libpq's password file."
        ),
        default=(),
        metavar="URL,...",
        told="one database has all spaces",
        group=STORE,
    )
    postgres_schema: str = setting(
        TEXT, "The schema of the database that holds the store.", default="canonry", group=STORE
    )
    postgres_connections: float = setting(
        NUMBER, "The most connections of one server to the database.", default=16, group=STORE
    )
    postgres_copy: bool = setting(
        FLAG,
        "Answer from a copy of the log in the data folder of this machine, which follows it.",
        default=False,
        group=STORE,
    )
    mongodb_url: str | None = setting(
        TEXT,
        (
            "Keep records and documents in this MongoDB deployment, which many machines may share; "
            "its password is CANONRY_MONGODB_PASSWORD."
        ),
        metavar="URL",
        told="the data folder holds them",
        group=STORE,
    )
    mongodb_database: str = setting(
        TEXT, "The database of the deployment.", default="canonry", group=STORE
    )
    neo4j_url: str | None = setting(
        TEXT,
        (
            "Show the state of a store in MongoDB as a graph in this Neo4j server, such as "
            "bolt://neo4j@host; its password is CANONRY_NEO4J_PASSWORD."
        ),
        metavar="URL",
        told="there is no graph",
        group=STORE,
    )
    opensearch_url: str | None = setting(
        TEXT,
        (
            "Keep the index of words of a store in MongoDB in this OpenSearch server, such as "
            "https://canonry@host:9200; its password is CANONRY_OPENSEARCH_PASSWORD."
        ),
        metavar="URL",
        told="the copy on each machine",
        group=STORE,
    )
    qdrant_url: str | None = setting(
        TEXT,
        (
            "Keep the index of meaning of a store in MongoDB in this Qdrant server; its key is "
            "CANONRY_QDRANT_KEY."
        ),
        metavar="URL",
        told="the data folder of each machine",
        group=STORE,
    )
    files_url: str | None = setting(
        TEXT,
        (
            "Keep the files of a store on servers in this object store, s3://BUCKET/PREFIX; "
            "its keys are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY."
        ),
        metavar="URL",
        told="PostgreSQL holds them; beside MongoDB the data folder",
        group=STORE,
    )
    files_endpoint: str | None = setting(
        TEXT,
        "Where the object store of files.url is, if not at Amazon.",
        metavar="URL",
        group=STORE,
    )
