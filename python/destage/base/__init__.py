"""The ground floor: errors, and files."""
