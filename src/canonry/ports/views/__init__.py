"""Views may be lost at any time: they are folded from the records again."""
