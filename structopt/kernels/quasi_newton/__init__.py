"""Steps on all weights at once, from the changes of gradients."""
