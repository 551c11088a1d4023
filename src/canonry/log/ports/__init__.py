"""What the log asks of an engine: the ledger, blobs, sealing, time and ids."""
