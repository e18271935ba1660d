"""Factor graphs of any shape: kinds of factors, messages, bounds."""
