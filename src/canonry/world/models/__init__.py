"""What a world asks of language models, and how each use is recorded."""
