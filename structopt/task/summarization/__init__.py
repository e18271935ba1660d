"""The task summarization: texts, their bigrams, and the best extract that their references
allow.
"""
