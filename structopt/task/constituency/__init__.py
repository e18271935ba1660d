"""The task of constituency: its trees as arrays, and its lexicon."""
