"""The graph in Neo4j: what is asked of it, and the nodes that answer."""
