"""Files: read and written with messages that name them, whole or not at all."""
