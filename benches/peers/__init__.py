"""Other simulators on the requests that we replay: what they are given, and what they answer.

Nothing of theirs is here. Their programs are found by environment variables (../README.md).
"""
