"""Who is who: finding by keys, who may be one, merging, and the names that somebody goes by."""
