"""What is known of weights beside their values: their names, and what they cost."""
