"""One call on the canon: the caller, staging, looking up, committing."""
