"""Who bears a text: many texts, exact and longer ones, by one statement."""

from collections.abc import Mapping
from typing import Any, Final

from canonry.log.encoding import decode_thing
from canonry.readmodels.ports.pages import Page
from canonry.readmodels.ports.state import IdentifierQuery
from canonry.stores.neo4j.database import Neo4jDatabase

_OF: Final = (
    "($spaces IS NULL OR {i}.space IN $spaces)"
    " AND ($entity_type IS NULL OR {i}.entity_type = $entity_type)"
)
_I: Final = _OF.format(i="i")
_LONGER: Final = f"""
    UNION ALL
    MATCH (i:_Text) WHERE i.store = $store AND i.text STARTS WITH key AND i.text <> key AND {_I}
    AND NOT EXISTS {{
      MATCH (j:_Text) WHERE j.store = $store AND j.text = key AND j.root = i.root
      AND {_OF.format(i="j")}
    }}
    RETURN i.root AS root, 1 AS longer, 0 AS born, min(i.text) AS place
"""
_SELECT: Final = """
UNWIND $keys AS key
CALL (key) {{
    MATCH (i:_Text) WHERE i.store = $store AND i.text = key AND {of}
    RETURN i.root AS root, 0 AS longer, min(i.born) AS born, '' AS place
    {longer}
}}
WITH key, root, longer, born, place ORDER BY key, longer, born, place, root
WITH key, collect(root) AS roots
CALL (roots) {{
    UNWIND roots[0..$limit] AS root OPTIONAL MATCH (t:Thing {{store: $store, id: root}})
    RETURN collect([t.kind, t.body]) AS shown
}}
RETURN key, size(roots), shown
"""


async def select_identified(
    database: Neo4jDatabase, query: IdentifierQuery, part: type | None = None
) -> Mapping[str, Page[Any]]:
    """The entities that bear each of the keys, or a `part` of each."""
    keys = list(dict.fromkeys(query.keys))
    values = {
        "keys": keys,
        "spaces": None if query.spaces is None else list(query.spaces),
        "entity_type": query.entity_type,
        "limit": query.limit,
    }
    statement = _SELECT.format(of=_I, longer=_LONGER if query.begins else "")
    found: dict[str, Page[Any]] = {}
    for key, total, shown in await database.rows(statement, values):
        items = [
            decode_thing(kind, body.encode(), part=part) for kind, body in shown if body is not None
        ]
        found[key] = Page(items=items, total=total)
    return {key: found[key] for key in keys if key in found}
