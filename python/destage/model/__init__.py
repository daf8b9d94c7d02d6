"""Results of runs as rows of numbers with units, and the words for those numbers."""
