"""Features for batch work: scores of all instances, and the gradient of all their residuals."""
