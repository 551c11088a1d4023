"""Built-in schemas, identity keys and identifiers, which determine what the fold stores."""
