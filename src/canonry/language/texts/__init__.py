"""Texts by their form: sentences, words, stems and pieces."""
