"""What comes with policies of one's own: files, processes, beginnings of new ones."""
