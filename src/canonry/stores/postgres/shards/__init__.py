"""One store on several servers: each space lives on one of them, and a directory says on which."""
