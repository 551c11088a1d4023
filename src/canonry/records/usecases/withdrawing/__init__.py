"""Withdrawing: what a source said is taken back, by its user or by a rule of retention."""
