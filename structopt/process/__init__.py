"""The process that works: signals that end it, locks of the folders that it works in, limits of
time.
"""
