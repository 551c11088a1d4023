"""Arcs: quests planned from the world's own places, people and lore."""
