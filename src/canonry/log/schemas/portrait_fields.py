"""Which fields of an entity say what: the table that a portrait is made by, for every toolset."""

from typing import Final

NAMES: Final = ("name", "title")
"""What an entity is called; the first that it has is its name."""

OTHER_NAMES: Final = ("aliases", "alias", "also_known_as")
"""What else it is called: one name, or a list of them."""

PROSE: Final = ("description", "summary", "text", "content")
"""What is written about it in sentences, in the order in which it is told."""

SILENT: Final = frozenset(
    {
        "checksum",
        "createdAt",
        "embeddings",
        "hash",
        "hidden",
        "schema_version",
        "slug",
        "updatedAt",
        "version",
    }
)
"""What nobody looks for; names that begin with an underscore are silent as well."""

LORE_TYPES: Final = frozenset({"lore", "lore_fact"})
"""The types of entities that tell of the world rather than being somebody in it."""
