"""Destage's policies inside other systems, a module each."""
