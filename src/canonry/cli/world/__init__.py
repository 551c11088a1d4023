"""The `world` command: worlds as files, as drawings, and what is wrong with them."""
