"""The inspector: the canon as pages for a browser, through the gateway like every other caller."""
