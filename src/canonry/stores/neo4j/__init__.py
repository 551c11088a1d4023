"""The graph in Neo4j: a view for people to explore in the server's own browser."""

from canonry.stores.neo4j.graph import Neo4jDatabase as Neo4jDatabase
from canonry.stores.neo4j.graph import Neo4jGraph as Neo4jGraph
