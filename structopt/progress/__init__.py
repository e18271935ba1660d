"""What a command shows while it works, and what it keeps from a terminal."""
