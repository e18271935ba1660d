"""Where arrays as long as a corpus are kept, in memory or in mapped files; and how tasks learn of
data that come in blocks.
"""
