"""Stories, scenes and turns; the toolset `narrative`."""
