"""Numbers as text: tables and sentences, for terminals, notebooks and Markdown."""
