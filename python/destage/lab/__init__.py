"""Traces, devices, policies and options: what a run is made of."""
