"""Built-in schemas, identity keys and identifiers: they decide what the fold stores."""
