"""Gold outputs of instances in memory."""
