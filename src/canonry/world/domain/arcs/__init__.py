"""Arcs: quests of a few beats, made of what a world has, the same for the same seed."""
