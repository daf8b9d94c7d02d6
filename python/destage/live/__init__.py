"""Destage on a running machine: recording, serving, hosts."""
