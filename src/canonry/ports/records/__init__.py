"""Records may never be wrong and cannot be rebuilt: the log and the blobs."""
