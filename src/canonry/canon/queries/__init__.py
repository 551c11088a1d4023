"""Read queries of the canon: listings, names, changes, timelines and explanations."""
