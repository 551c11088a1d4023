"""Files become interpretations: parsers, readers, extraction."""
