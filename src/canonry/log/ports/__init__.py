"""Ports of the log: ledger, blobs, sealing, time and ids."""
