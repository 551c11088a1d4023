"""Reading of sentences: words, clauses and phrases, without knowledge of the canon."""
