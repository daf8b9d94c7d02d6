"""Runs as tables, charts and pages."""
