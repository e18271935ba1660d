"""A trained model: weights, vocabularies and config; saved, loaded, applied."""
