"""Where arrays as long as a corpus are kept: in memory, or in files that are mapped into it."""
