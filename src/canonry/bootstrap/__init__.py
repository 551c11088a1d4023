"""The only reader of settings and the only namer of concrete classes."""
