"""One store on several servers: each space is on one server, which a directory names."""
