"""The calls that answer: each is a question put to an experiment."""
