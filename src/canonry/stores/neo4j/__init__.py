"""The graph in Neo4j: a view that people can walk through in the server's own browser."""

from canonry.stores.neo4j.database import Neo4jDatabase
from canonry.stores.neo4j.emptying import empty
from canonry.stores.neo4j.mending import Neo4jMending
from canonry.stores.neo4j.state.state import Neo4jState

__all__ = ["Neo4jDatabase", "Neo4jMending", "Neo4jState", "empty"]
