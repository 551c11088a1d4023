"""What a world asks of moderators and of rules of play."""
