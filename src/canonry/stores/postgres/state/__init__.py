"""The graph in PostgreSQL: what is asked of it, and the rows that answer."""
