"""The graph in Neo4j: a view that people can walk through in the server's own browser."""

from canonry.adapters.neo4j.database import Neo4jDatabase
from canonry.adapters.neo4j.emptying import empty
from canonry.adapters.neo4j.mending import Neo4jMending
from canonry.adapters.neo4j.state.state import Neo4jState

__all__ = ["Neo4jDatabase", "Neo4jMending", "Neo4jState", "empty"]
