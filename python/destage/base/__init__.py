"""What everything else rests on: errors, and files."""
