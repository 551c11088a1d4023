"""Formulas of recall: questions and the content of contexts."""
