"""Messages of JSON-RPC as they come in: lines of standard input, and batches."""
