"""The values of pages, made by use cases within one user's rights."""
