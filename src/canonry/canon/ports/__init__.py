"""What the canon asks of readers of documents."""
