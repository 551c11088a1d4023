"""Views of a world beside its contexts: of one who is in it, of a way through it, of a while."""
