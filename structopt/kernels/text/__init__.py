"""Large texts read in one call: the strings of their fields as numbers."""
