"""Support for user policies: files, processes, templates of new ones."""
