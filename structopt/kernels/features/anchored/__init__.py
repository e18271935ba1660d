"""Features of anchored rules, anchored steps and tags: templates hashed to weights, computed where
they are needed.
"""
