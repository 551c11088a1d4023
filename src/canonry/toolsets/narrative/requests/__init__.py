"""What the narrative tools are asked: arguments read into values of the domain."""
