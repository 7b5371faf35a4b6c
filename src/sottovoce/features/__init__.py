"""What a row becomes: curves of numbers, placed by released marginals."""
