"""What each property is, in a few words, put into schemas as they are listed.

A toolset says it once for each name; a schema that has words of its own keeps them.
"""

from collections.abc import Mapping

from canonry.gateway.tool import Schema

Words = Mapping[str, str]


def described(schema: Schema, words: Words) -> Schema:
    """The schema with a description for each property that `words` knows and that has none."""
    if not words:
        return schema
    told = dict(schema)
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        told["properties"] = {
            name: _with_words(each, words.get(name), words) for name, each in properties.items()
        }
    if isinstance(parts := schema.get("$defs"), Mapping):
        told["$defs"] = {name: described(each, words) for name, each in parts.items()}
    for key in ("items", "additionalProperties"):
        if isinstance(inner := schema.get(key), Mapping):
            told[key] = described(inner, words)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            told[key] = [described(each, words) for each in schema[key]]
    return told


def _with_words(schema: Schema, word: str | None, words: Words) -> Schema:
    inner = described(schema, words)
    if word is None or "description" in inner:
        return inner
    return {"description": word, **inner}
