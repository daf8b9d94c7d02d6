"""Advice: the smallest cache and the policy near the best for a trace, and what to type.

The calls are `destage.advise` and `destage.Advice`.
"""
