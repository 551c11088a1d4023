"""What the narrative tools answer with: values as JSON, and the schemas of it."""
