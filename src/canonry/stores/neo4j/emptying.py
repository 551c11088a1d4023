"""Emptying: a store leaves the graph, node by node, so that the records can fill it anew."""

from typing import Final

from canonry.stores.neo4j.database import Neo4jDatabase
from canonry.stores.neo4j.preparing import LABELS

_EMPTY: Final = """
MATCH (n:{label}) WHERE n.store = $store
CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS OF 2000 ROWS
"""


async def empty(database: Neo4jDatabase) -> None:
    """Take everything of the store out of the graph; other stores stay.

    The cursors go first: whoever applies meanwhile begins anew, and nothing is taken for shown.
    """
    for label in sorted(LABELS, key=lambda each: each != "_Cursor"):
        await database.rows(_EMPTY.format(label=label))
