"""Reading tables in machine code."""
