"""Commands that carry a store, or a part of it, to another place."""
