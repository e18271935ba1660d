"""Features attribute x configuration: a row of weights for every attribute."""
