"""Where all kinds of component meet: a corpus, P and its gradient, certificates, shards,
decoding.
"""
