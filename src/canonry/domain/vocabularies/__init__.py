"""Vocabularies: the words a toolset allows and what they imply, as data; one file a vocabulary."""
