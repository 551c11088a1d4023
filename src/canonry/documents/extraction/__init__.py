"""Extraction: from what a reader found to typed entities, by rules that are the same everywhere.

A rule never guesses: what could be read in two ways is left unread, with the reason.
"""

from typing import Final

RULES_VERSION: Final = "7"
"""Rises whenever the same file may give another outcome, so that a run says what it followed."""
