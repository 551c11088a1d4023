"""What records ask of interpreters and of hosts of files."""
