"""The inspector: pages of the canon for a browser, through the gateway like every other caller."""
