"""Curves over cache sizes: drawn, sampled, and the finalists of a sample."""
