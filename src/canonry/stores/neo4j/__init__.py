"""The graph in Neo4j: a view for people to explore in the server's own browser."""

from canonry.stores.neo4j.graph import Neo4jDatabase, Neo4jGraph

__all__ = ["Neo4jDatabase", "Neo4jGraph"]
