"""A canon of separate engines: views are brought to where the log is, and waited for."""
