"""What comes back: the result, its certificate, and what is inferred from released numbers."""
