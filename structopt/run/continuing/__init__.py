"""Runs that go on from the state of an earlier one."""
