"""What tokens are verified with."""
