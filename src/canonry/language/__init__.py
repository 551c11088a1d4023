"""How sentences are read: words, clauses and phrases, without any knowledge of the canon."""
