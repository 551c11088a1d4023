"""Extraction: deterministic rules that find typed entities in the reading of a file.

A rule never guesses. An ambiguous value is left unread, with the reason.
"""

from typing import Final

RULES_VERSION: Final = "10"
"""Increases whenever a file may give another result. Runs record it."""
