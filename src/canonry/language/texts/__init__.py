"""Texts: how they are cut into sentences, words, stems and pieces; no meaning, only form."""
