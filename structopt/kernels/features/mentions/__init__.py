"""Features of mentions and of their antecedents: hashed, and computed where they are needed."""
